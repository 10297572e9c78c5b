"""Recording a pass through a JAX network.

Idiom: the network is traced into a jaxpr, and one is made whose results are those of all its
    equations.
Surprise: an equation knows the primitive, or the name of a function that was compiled inside; the
    names of Python's variables are lost.
"""

from collections import OrderedDict

import jax
import numpy as np
from jax.extend import core


def record(model, x):
    """{name: array} of the images and of each equation's result, in the order of computation."""
    state = model["state"]
    trees = [state[kind] for kind in ("params", "running") if kind in state]
    traced = jax.make_jaxpr(model["forward"].__wrapped__)(*trees, x)  # no key: no dropout
    equations = traced.jaxpr.eqns
    results = [equation.outvars[0] for equation in equations]
    probe = core.ClosedJaxpr(traced.jaxpr.replace(outvars=results), traced.consts)
    arrays = core.jaxpr_as_fun(probe)(*jax.tree.leaves((trees, x)))
    found = OrderedDict(x=x)
    for n, (equation, array) in enumerate(zip(equations, arrays), 1):
        name = equation.params.get("name", equation.primitive.name)
        found["%s %d" % (name, n)] = np.array(array)
    return found
