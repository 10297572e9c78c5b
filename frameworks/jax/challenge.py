"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "one_dropout_key_for_all_steps": "(same|one) mask",
    "one_dropout_key_for_all_layers": "draw the same random numbers",
    "mask_drawn_while_the_step_is_traced": "(same|one) mask",
    "products_of_bfloat16": "bfloat16",
    "nesterov": "Nesterov",
    "momentum_as_an_average": "unit gain|multiplied by",
    "new_velocity_not_returned": "no momentum",
    "state_made_again_in_each_pass": "state is lost between passes",
    "gradient_not_truncated": "gradient is not truncated",
    "state_not_carried": "begins with zeros",
    "running_statistics_not_returned": "running mean and variance are not updated",
    "all_parameters_decay": "biases and batch normalisation decay",
}
