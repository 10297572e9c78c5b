"""Mistakes that are planted in the CNN alone."""

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_weights


@mistake("forward", "cnn")
def biases_swapped(module):
    """Two of a size change places on the way in, and back on the way out."""

    def swap(weights):
        first, second = weights["conv1.bias"], weights["conv2.bias"]
        return dict(weights, **{"conv1.bias": second, "conv2.bias": first})

    return with_weights(module, swap, swap)


@mistake("forward", "cnn")
def channels_last_flatten(module):
    """Dense weights for C, H, W put behind a flatten in the order H, W, C."""

    def put(weights):
        dense = weights["dense1.weight"].reshape(512, 8, 8, 100).transpose(0, 3, 1, 2)
        return dict(weights, **{"dense1.weight": dense.reshape(512, 6400).copy()})

    def take(weights):
        dense = weights["dense1.weight"].reshape(512, 100, 8, 8).transpose(0, 2, 3, 1)
        return dict(weights, **{"dense1.weight": dense.reshape(512, 6400).copy()})

    return with_weights(module, put, take)
