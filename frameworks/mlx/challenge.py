"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "dropout_key_not_among_the_compiled_state": "same mask",
    "train_forgotten": "drops nothing in training",
    "eval_forgotten": "prediction differs from the network without dropout",
    "dropout_takes_the_fraction_kept": "fraction to drop for the fraction to keep",
    "flattened_with_channels_last": "H, W, C",
    "dampening": "dampening",
    "optimiser_made_in_each_pass": "state is lost between passes",
}
