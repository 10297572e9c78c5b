"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "flatten_taken_for_channels_first": "features in the order",
    "softmax_on_the_last_layer": "softmax after the last layer",
    "one_layer_in_mixed_bfloat16": "bfloat16",
    "kernel_regularised": "weight decay of|decays",
    "global_clipnorm": "gradient is clipped at a norm of 5",
    "compiled_anew_in_each_pass": "state is lost between passes",
    "gradients_accumulated": "every second step",
    "mask_drawn_while_the_step_is_traced": "(same|one) mask",
    "seeds_written_in": "same mask with another seed",
    "gaussian_dropout": "dropout . ",
    "weights_replaced_by_their_average": None,
}
