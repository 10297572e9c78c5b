"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "initial_weights_left_in_place": "other weights|left out, or not put in",
    "kernels_not_turned": "kernels are flipped",
    "flatten_moves_channels_last": "features in the order",
    "keras_own_loss_clips": "is clipped|raised to at least",
    "from_probabilities": "is clipped|raised to at least|softmax",
    "decay_of_the_learning_rate": "learning rate",
    "kernel_regularizer": "weight decay of|decays",
    "layers_seeds_relied_upon": "draw the same random numbers|same seed gives other masks",
    "seeds_unsaid": "same seed gives other masks",
    "learning_phase_in_prediction": "prediction differs from the network without dropout",
    "slow_decay_of_the_learning_rate": None,
}
