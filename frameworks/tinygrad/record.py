"""Recording a pass through a tinygrad network.

Idiom: there are no modules and no hooks; every operation is a method of ``Tensor``, so the methods
    of layers are wrapped for one pass.
Surprise: a result that is not realized has no values yet. To realize each one ends the fusion of
    operations, which may change a last digit.
"""

from collections import OrderedDict

from tinygrad import Tensor

METHODS = [
    "conv2d",
    "linear",
    "batchnorm",
    "relu",
    "sigmoid",
    "tanh",
    "max_pool2d",
    "mean",
    "flatten",
]


def record(network, x):
    """{name: array} of the images and of each operation's result, in the order of computation."""
    found = OrderedDict(x=x)

    def recorded(name):
        method = getattr(Tensor, name)

        def call(self, *arguments, **options):
            result = method(self, *arguments, **options)
            found["%s %d" % (name, len(found))] = result.numpy()
            return result

        return call

    wrapped = {name: recorded(name) for name in METHODS}
    own = {name: vars(Tensor)[name] for name in METHODS if name in vars(Tensor)}
    try:
        for name, call in wrapped.items():
            setattr(Tensor, name, call)
        network(Tensor(x))  # dropout is off: Context(TRAINING=1) switches it on
    finally:
        for name in METHODS:
            delattr(Tensor, name)
        for name, method in own.items():
            setattr(Tensor, name, method)
    return found
