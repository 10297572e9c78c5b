"""Recording a pass through a Paddle network.

Idiom: a forward post-hook on every layer without layers inside it.
Surprise: a network that ``to_static`` has compiled calls no hook of its layers; here that is off,
    for all networks, until the pass is over.
"""

from collections import Counter, OrderedDict

import paddle


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    arrays, calls = OrderedDict(x=x), Counter()

    def keep(name):
        def hook(layer, inputs, output):
            calls[name] += 1
            again = ", call %d" % calls[name] if calls[name] > 1 else ""
            arrays[name + again] = output.numpy()

        return hook

    hooks = [
        layer.register_forward_post_hook(keep(name))
        for name, layer in network.named_sublayers()
        if not list(layer.children())
    ]
    modes = [(layer, layer.training) for layer in network.sublayers(include_self=True)]
    network.eval()  # dropout off
    paddle.jit.enable_to_static(False)
    try:
        with paddle.no_grad():
            network(paddle.to_tensor(x))
    finally:
        paddle.jit.enable_to_static(True)
        for hook in hooks:
            hook.remove()
        for layer, training in modes:
            layer.training = training
    return arrays
