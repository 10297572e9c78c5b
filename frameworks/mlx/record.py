"""Recording a pass through an MLX network.

Idiom: there are no hooks; ``update_modules`` puts another module in the place of each layer, and
    puts the layer back.
Surprise: an activation is a function, not a layer, and no module sees its result. It is what the
    next layer takes.
"""

from collections import OrderedDict

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_map_with_path


class Probe(nn.Module):
    """A layer that shows what it takes and gives."""

    def __init__(self, name, layer, show):
        super().__init__()
        self.name, self.layer, self.show = name, layer, show

    def __call__(self, *inputs, **named):
        result = self.layer(*inputs, **named)
        self.show(self.name, inputs[0], result[0] if isinstance(result, tuple) else result)
        return result

    def as_linear(self, x):
        """An embedding's table as the last dense layer's weights."""
        result = self.layer.as_linear(x)
        self.show(self.name, x, result)
        return result


def record(network, x):
    """{name: array} of the images, and what each layer takes and gives, in the order of a pass."""
    found = OrderedDict(x=x)

    def show(name, taken, given):
        place = "%s, %d" % (name, len(found))
        found["into " + place], found[place] = np.array(taken), np.array(given)

    layers = network.leaf_modules()
    probes = tree_map_with_path(
        lambda name, layer: Probe(name, layer, show), layers, is_leaf=nn.Module.is_module
    )
    network.update_modules(probes)
    training = network.training
    network.eval()  # dropout off
    try:
        network(mx.array(x))
    finally:
        network.update_modules(layers)
        network.train(training)
    return found
