"""Recording a pass, or a step of training, of any function of weights and inputs in JAX.

Idiom: the function is traced into a jaxpr, whose equations are computed one by one, those of
    compiled functions inside as well.
Surprise: an equation knows the primitive, the name of a function that was compiled inside and the
    scope, such as a Linen module's name; the names of Python's variables are lost.
"""

from collections import OrderedDict
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")  # where equations hold a function's own
CALLS = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "remat")


def full_precision():
    """No TF32: on a GPU, its error would be taken for float32's own."""
    return jax.default_matmul_precision("highest")


def record(model, x):
    """{name: array} of the images and of each equation's result, in the order of computation."""
    state = model["state"]
    trees = [state[kind] for kind in ("params", "running") if kind in state]
    forward = model["forward"].__wrapped__  # no key: no dropout
    return record_function(lambda weights, x: forward(*weights, x), trees, x)


def record_function(function, weights, x):
    """The same of ``function(weights, x)``, such as the ``apply`` of a Linen module.

    weights: any tree of arrays. x: an array; a tuple of arrays, in the order of the arguments after
    the weights; or a dict of them, by name. Dropout must be off.
    """
    found, kept = _inputs(x), []
    with full_precision():
        traced = jax.make_jaxpr(lambda weights, x: _called(function, weights, x))(weights, x)
        _run(traced.jaxpr, traced.consts, jax.tree.leaves((weights, x)), kept)
    for n, (name, array) in enumerate(kept, 1):
        found["%s %d" % (name, n)] = numbers(array)
    return found


def exact_function(function, weights, x):
    """The same in float64, for ``compare --exact``."""
    with jax.enable_x64(True):
        return record_function(function, *jax.tree.map(_double, (weights, x)))


def record_step(function, weights, x, loss, optimizer, steps=1):
    """The same, and the loss, the gradients and the weights before and after each step.

    weights: those that are trained, without running statistics. loss: a function of what
    ``function`` returns. optimizer: one of Optax, or another with its ``init`` and ``update``.
    """
    found = record_function(function, weights, x)
    found.update(named("step0", weights))
    state = optimizer.init(weights)
    for step in range(1, steps + 1):
        with full_precision():
            value, gradients = jax.value_and_grad(lambda w: loss(_called(function, w, x)))(weights)
        found["loss%d" % step] = numbers(value)
        found.update(named("grad%d" % step, gradients))
        updates, state = optimizer.update(gradients, state, weights)
        weights = jax.tree.map(lambda w, u: (w + u).astype(w.dtype), weights, updates)
        found.update(named("step%d" % step, weights))
    return found


def named(what, tree):
    """{name: array} of a tree's leaves, by their places in it."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    places = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    return OrderedDict(
        ("%s %s" % (what, place), numbers(leaf)) for place, (_, leaf) in zip(places, leaves)
    )


def numbers(array):
    """A copy as NumPy's; bfloat16 as float32, because files of NumPy's have no such type."""
    array = np.array(array)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _called(function, weights, x):
    """What the function returns."""
    if isinstance(x, Mapping):
        return function(weights, **x)
    return function(weights, *x) if isinstance(x, (tuple, list)) else function(weights, x)


def _inputs(x):
    """The inputs under their names."""
    if isinstance(x, Mapping):
        return OrderedDict((name, np.asarray(array)) for name, array in x.items())
    if isinstance(x, (tuple, list)):
        return OrderedDict(("x%d" % n, np.asarray(array)) for n, array in enumerate(x))
    return OrderedDict(x=np.asarray(x))


def _double(leaf):
    """An array in float64, if it has floats."""
    leaf = jnp.asarray(leaf)
    return leaf.astype(jnp.float64) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf


def _run(jaxpr, constants, arguments, kept):
    """The results of a jaxpr. kept: gets (name, array) of each equation's results."""
    values = dict(zip(jaxpr.constvars, constants))
    values.update(zip(jaxpr.invars, arguments))
    for equation in jaxpr.eqns:
        given = [v.val if isinstance(v, core.Literal) else values[v] for v in equation.invars]
        inner = _inner(equation)
        if inner is None:
            results = _computed(jaxpr, equation, given)
        else:
            results = _run(*inner, given, kept)
        _keep(equation, results, kept)
        values.update(zip(equation.outvars, results))
    return [v.val if isinstance(v, core.Literal) else values[v] for v in jaxpr.outvars]


def _computed(jaxpr, equation, given):
    """The results of one equation: a jaxpr of this equation alone is a function."""
    pairs = zip(equation.invars, given)
    pairs = [pair for pair in pairs if not isinstance(pair[0], core.Literal)]
    ends = {"invars": [v for v, _ in pairs], "outvars": equation.outvars}
    alone = jaxpr.replace(constvars=[], eqns=[equation], debug_info=None, **ends)
    return core.jaxpr_as_fun(core.ClosedJaxpr(alone, []))(*(value for _, value in pairs))


def _inner(equation):
    """(jaxpr, constants) of a function that an equation calls; None if it calls none."""
    if equation.primitive.name.rstrip("0123456789") not in CALLS:
        return None
    inner = next(equation.params[key] for key in INNER if key in equation.params)
    return (inner.jaxpr, inner.consts) if isinstance(inner, core.ClosedJaxpr) else (inner, ())


def _keep(equation, results, kept):
    """Add an equation's results; the first of a function is its last equation's, renamed."""
    scope = str(equation.source_info.name_stack)
    name = equation.params.get("name", equation.primitive.name)
    name = "%s/%s" % (scope, name) if scope else name
    for n, result in enumerate(results, 1):
        if jnp.issubdtype(result.dtype, jax.dtypes.extended) or not np.size(result):
            continue  # a random key is no array
        if n == 1 and kept and kept[-1][1] is result:
            kept.pop()
        elif n > 1 and any(array is result for _, array in kept):
            continue  # an equation inside has returned it
        kept.append(("%s, result %d" % (name, n) if n > 1 else name, result))
