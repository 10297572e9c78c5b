"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "eval_forgotten": "prediction differs from the network without dropout",
    "layers_with_streams_of_their_own": "draw the same random numbers",
    "mask_shared_by_the_pixels": "one mask for several values|same mask for several",
    "rate_taken_for_keep_in_one_layer": "fraction to drop for the fraction to keep",
    "one_layer_in_bfloat16": "bfloat16",
    "nesterov": "Nesterov",
    "momentum_as_an_average": "unit gain|multiplied by",
    "optimiser_made_again_in_each_pass": "state is lost between passes",
    "gradient_not_truncated": "gradient is not truncated",
    "state_not_carried": "begins with zeros",
    "kept_part_by_default": "of their value in a step",
    "all_parameters_decay": "biases and batch normalisation decay",
    "decay_beside_the_velocity": "beside the gradient",
}
