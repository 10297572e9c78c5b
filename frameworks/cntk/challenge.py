"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "transpose_forgotten": "reshaped|transposed|other weights",
    "log_of_softmax": "is clipped|raised to at least",
    "learning_rate_for_a_batch_of_64": "multiplied by|learning rate|divided by 64",
    "learning_rate_per_sample": "sum over the batch|multiplied by|learning rate",
    "l2_regularization": "weight decay of .* of all tensors",
    "gradient_clipping": "clipped at values",
    "nesterov_learner": "Nesterov",
    "unit_gain_by_default": "unit gain",
    "momentum_for_a_batch_of_64": "momentum is",
}
