"""Recording a pass through a Flax network.

Idiom: ``nnx.split`` makes the network a function of its state, which JAX traces into a jaxpr; one
    is made whose results are those of all its equations.
Surprise: ``nnx.capture`` with ``method_outputs`` sees modules alone. A ReLU or a pool is a function
    here, not a module, and so is not recorded.
"""

from collections import OrderedDict

import jax
import numpy as np
from flax import nnx
from jax.extend import core


def record(network, x):
    """{name: array} of the images and of each equation's result, in the order of computation."""
    network.eval()  # dropout off
    graph, state = nnx.split(network)
    traced = jax.make_jaxpr(lambda state, x: nnx.merge(graph, state)(x))(state, x)
    equations = traced.jaxpr.eqns
    results = [equation.outvars[0] for equation in equations]
    probe = core.ClosedJaxpr(traced.jaxpr.replace(outvars=results), traced.consts)
    arrays = core.jaxpr_as_fun(probe)(*jax.tree.leaves((state, x)))
    found = OrderedDict(x=x)
    for n, (equation, array) in enumerate(zip(equations, arrays), 1):
        name = equation.params.get("name", equation.primitive.name)
        found["%s %d" % (name, n)] = np.array(array)
    return found
