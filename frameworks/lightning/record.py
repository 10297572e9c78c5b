"""Recording a pass through a network in Lightning.

Idiom: a forward hook on every layer, as in PyTorch: a trainer gives the results of steps alone.
Surprise: ``trainer.predict`` would first move the network to a device and afterwards back.
"""

from collections import OrderedDict

import torch


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    arrays = OrderedDict(x=x)

    def keep(name):
        def hook(layer, inputs, output):
            arrays[name] = output.numpy(force=True).copy()

        return hook

    hooks = [layer.register_forward_hook(keep(name)) for name, layer in network.named_children()]
    network.eval()  # dropout off
    with torch.inference_mode():
        network(torch.from_numpy(x))
    for hook in hooks:
        hook.remove()
    return arrays
