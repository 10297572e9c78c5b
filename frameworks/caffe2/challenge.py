"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "weights_not_fed": "left out, or not put in|other weights",
    "loss_scaled_by_the_batch": "sum over the batch|divided by .* twice",
    "cross_entropy_that_clips": "is clipped|raised to at least",
    "tutorials_policy": "learning rate",
    "weight_decay_added": "weight decay of",
    "nesterov_by_default": "Nesterov",
    "test_mode_in_training": "drops nothing in training",
    "learning_rate_policy": None,
    "one_workspace": None,
    "workspace_reset_by_each_model": None,
}
