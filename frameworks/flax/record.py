"""Recording a pass, or a step of training, of a Flax network.

Idiom: ``nnx.split`` makes the network a function of its state, which JAX traces into a jaxpr; one
    is made whose results are those of all its equations.
Surprise: ``nnx.capture`` with ``method_outputs`` sees modules alone. A ReLU or a pool is a function
    here, not a module, and so is not recorded.
"""

from collections import OrderedDict
from collections.abc import Mapping

import jax
import numpy as np
from flax import nnx
from jax.extend import core


def record(network, x):
    """{name: array} of the inputs and of each equation's result, in the order of computation.

    x: an array; a tuple of arrays, in the order of the model's arguments; or a dict of them, by
    their names.
    """
    network.eval()  # dropout off
    graph, state = nnx.split(network)
    traced = jax.make_jaxpr(lambda state, x: _called(nnx.merge(graph, state), x))(state, x)
    equations = traced.jaxpr.eqns
    results = [equation.outvars[0] for equation in equations]
    probe = core.ClosedJaxpr(traced.jaxpr.replace(outvars=results), traced.consts)
    arrays = core.jaxpr_as_fun(probe)(*jax.tree.leaves((state, x)))
    found = _inputs(x)
    for n, (equation, array) in enumerate(zip(equations, arrays), 1):
        name = equation.params.get("name", equation.primitive.name)
        found["%s %d" % (name, n)] = np.array(array)
    return found


def record_step(network, x, loss, optimizer, steps=1):
    """The same, and the loss, the gradients and the weights before and after each step.

    loss: a function of what the model returns. optimizer: an ``nnx.Optimizer`` of this network.
    """
    found = record(network, x)
    network.train()
    found.update(_named("step0", nnx.state(network, nnx.Param)))
    for step in range(1, steps + 1):
        value, gradients = nnx.value_and_grad(lambda net: loss(_called(net, x)))(network)
        found["loss%d" % step] = np.array(value)
        found.update(_named("grad%d" % step, gradients))
        optimizer.update(network, gradients)
        found.update(_named("step%d" % step, nnx.state(network, nnx.Param)))
    return found


def _called(network, x):
    """What the model returns."""
    if isinstance(x, Mapping):
        return network(**x)
    return network(*x) if isinstance(x, (tuple, list)) else network(x)


def _inputs(x):
    """The inputs under their names."""
    if isinstance(x, Mapping):
        return OrderedDict((name, np.asarray(array)) for name, array in x.items())
    if isinstance(x, (tuple, list)):
        return OrderedDict(("x%d" % n, np.asarray(array)) for n, array in enumerate(x))
    return OrderedDict(x=x)


def _named(what, state):
    """{name: array} of a state's leaves, by their places in the network."""
    return OrderedDict(
        ("%s %s" % (what, ".".join(map(str, path))), np.array(variable.get_value()))
        for path, variable in nnx.to_flat_state(state)
    )
