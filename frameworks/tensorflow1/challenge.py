"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "a_variable_not_put_in": "left out, or not put in|other weights",
    "weights_put_in_before_the_initialiser": "other weights",
    "prediction_has_its_own_variables": "scores do not follow|initial",
    "loss_summed_by_reduction": "sum over the batch",
    "probability_clipped_below_its_logarithm": "is clipped|raised to at least",
    "penalty_on_the_weights": "weight decay of",
    "optimiser_without_momentum": "no momentum",
    "loss_read_after_the_update": "after its update",
    "fraction_dropped_given_as_fraction_kept": "fraction to drop for the fraction to keep",
    "layers_dropout_without_training": "drops nothing in training",
    "mask_drawn_while_the_graph_is_built": "(same|one) mask",
    "seed_set_behind_the_graph": "same seed gives other masks",
}
