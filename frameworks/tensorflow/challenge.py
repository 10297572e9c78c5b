"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "loss_summed_in_the_tape": "sum over the batch",
    "weight_decay_in_the_update": "weight decay of",
    "update_ahead_of_the_step": "Nesterov",
    "unit_gain": "unit gain",
    "velocity_bound_anew_instead_of_assigned": "no momentum",
    "rate_taken_for_keep_in_one_layer": "fraction to drop for the fraction to keep",
    "training_flag_forgotten": "drops nothing in training",
    "mask_redrawn_on_the_way_back": "does not come back through dropout",
    "mask_drawn_while_the_graph_is_recorded": "(same|one) mask",
    "stateless_dropout_with_one_seed": "(same|one) mask|same random numbers",
}
