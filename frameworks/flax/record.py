"""Recording a pass, or a step of training, of any Flax NNX network as it is.

Idiom: ``nnx.split`` makes the network a function of its state, whose equations JAX's recorder
    computes one by one.
Surprise: ``nnx.capture`` with ``method_outputs`` sees modules alone. A ReLU or a pool is a function
    here, not a module.
"""

from collections import OrderedDict
from collections.abc import Mapping

from flax import nnx

from frameworks.jax import record as functions


def record(network, x):
    """{name: array} of the inputs and of each equation's result, in the order of computation.

    x: an array; a tuple of arrays, in the order of the model's arguments; or a dict of them, by
    their names.
    """
    return functions.record_function(*_split(network), x)


def exact(network, x):
    """The same in float64, for ``compare --exact``."""
    return functions.exact_function(*_split(network), x)


def record_step(network, x, loss, optimizer, steps=1, training=False):
    """The same, and the loss, the gradients and the weights before and after each step.

    loss: a function of what the model returns. optimizer: an ``nnx.Optimizer`` of this network.
    training: whether batch norms use this batch in the steps, and move their running statistics;
    dropout then is on, too.
    """
    found = record(network, x)
    network.train() if training else network.eval()
    moving = nnx.Any(nnx.Param, nnx.BatchStat)
    found.update(_named("step0", nnx.state(network, moving)))
    for step in range(1, steps + 1):
        with functions.full_precision():
            value, gradients = nnx.value_and_grad(lambda net: loss(_called(net, x)))(network)
        found["loss%d" % step] = functions.numbers(value)
        found.update(_named("grad%d" % step, gradients))
        optimizer.update(network, gradients)
        found.update(_named("step%d" % step, nnx.state(network, moving)))
    return found


def _split(network):
    """(a function of the state and the inputs, the state)"""
    graph, state = nnx.split(network)

    def called(*given, **named):  # the state has no name here: an input may be called so
        copy = nnx.merge(graph, given[0])
        copy.eval()  # dropout off; the network itself keeps its mode
        return copy(*given[1:], **named)

    return called, state


def _called(network, x):
    """What the model returns."""
    if isinstance(x, Mapping):
        return network(**x)
    return network(*x) if isinstance(x, (tuple, list)) else network(x)


def _named(what, state):
    """{name: array} of a state's leaves, by their places in the network."""
    return OrderedDict(
        ("%s %s" % (what, ".".join(map(str, path))), functions.numbers(variable.get_value()))
        for path, variable in nnx.to_flat_state(state)
    )
