"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "loss_clipped_at_64": "is clipped|raised to at least",
    "probabilities_given_to_the_loss": "is clipped|raised to at least",
    "clear_grad_forgotten": "never reset",
    "eval_forgotten": "prediction differs from the network without dropout",
    "dropout_scaled_in_prediction": "does not scale",
    "dropout_of_whole_channels": "same mask for several|one mask for several values",
    "seed_of_numpy_alone": "same seed gives other masks",
}
