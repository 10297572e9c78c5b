"""Recording a pass through a Gluon network.

Idiom: a forward hook on every block of the network.
Surprise: a hybridized network runs as one graph and calls no hook of the blocks inside it; this
    switches that off, and ``hybridize`` switches it on again.
"""

from collections import Counter, OrderedDict

from mxnet import nd


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    found, calls = OrderedDict(x=x), Counter()

    def keep(block, inputs, output):
        calls[block.name] += 1
        again = ", call %d" % calls[block.name] if calls[block.name] > 1 else ""
        found[block.name + again] = output.asnumpy()

    network.hybridize(False)
    hooks = [block.register_forward_hook(keep) for block in network]
    device = network[-1].weight.list_ctx()[0]
    try:
        network(nd.array(x, device))  # no dropout outside autograd.record()
    finally:
        for hook in hooks:
            hook.detach()
    return found
