"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "clipped_relu": "ReLU6",
    "loss_not_reduced": "sum over the batch",
    "first_class_ignored": "class 0 have no loss",
    "weight_decay_hook": "weight decay of .* of all tensors",
    "gradient_clipping_hook": "clipped at a norm",
    "nesterov_optimiser": "Nesterov",
    "cleargrads_forgotten": "never reset",
    "no_backprop_in_training": "nothing is trained",
    "train_mode_off_in_training": "drops nothing in training",
    "ideeps_dropout": "has the same mask",
    "train_mode_left_on_in_prediction": "prediction differs from the network without dropout",
}
