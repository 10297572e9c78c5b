"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "autocast_in_training": "bfloat16",
    "dampening": "dampening",
    "zero_grad_forgotten": "never reset",
    "units_share_a_mask": "same mask for several units",
    "eval_forgotten": "prediction differs from the network without dropout",
    "functional_dropout_stays_on": "prediction differs from the network without dropout",
}
