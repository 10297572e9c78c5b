"""Recording a pass through a PyTorch network.

Idiom: a forward hook on every module without modules inside it.
Surprise: ``nn.ReLU(inplace=True)`` writes over the tensor that an earlier hook was given, so each
    is copied.
"""

from collections import OrderedDict

import torch


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    found = OrderedDict(x=x)

    def keep(name):
        def hook(module, inputs, output):
            values = output[0] if isinstance(output, tuple) else output  # an LSTM's, no state
            again = "%s, once more" % name if name in found else name
            found[again] = values.numpy(force=True).copy()

        return hook

    hooks = [
        module.register_forward_hook(keep(name))
        for name, module in network.named_modules()
        if not list(module.children())
    ]
    network.eval()  # dropout off
    device = next(network.parameters()).device
    try:
        with torch.inference_mode():
            network(torch.from_numpy(x).to(device))
    finally:
        for hook in hooks:
            hook.remove()
    return found
