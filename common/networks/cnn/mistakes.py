"""Mistakes to plant in the CNN only."""

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_weights


@mistake("forward", "cnn")
def biases_swapped(module):
    """Two biases of the same size are exchanged."""

    def swap(weights):
        first, second = weights["conv1.bias"], weights["conv2.bias"]
        return dict(weights, **{"conv1.bias": second, "conv2.bias": first})

    return with_weights(module, swap, swap)


@mistake("forward", "cnn")
def channels_last_flatten(module):
    """Dense weights for the order C, H, W follow a flatten in the order H, W, C."""

    def put(weights):
        dense = weights["dense1.weight"].reshape(512, 8, 8, 100).transpose(0, 3, 1, 2)
        return dict(weights, **{"dense1.weight": dense.reshape(512, 6400).copy()})

    def take(weights):
        dense = weights["dense1.weight"].reshape(512, 100, 8, 8).transpose(0, 2, 3, 1)
        return dict(weights, **{"dense1.weight": dense.reshape(512, 6400).copy()})

    return with_weights(module, put, take)
