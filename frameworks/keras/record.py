"""Recording a pass, or a step of training, of any functional Keras 3 model as it is.

Idiom: a second model over the same layers, whose outputs are those of all of them. For a step, the
    model trains itself with ``train_on_batch``, eagerly, and its optimiser is asked for gradients.
Surprise: a layer with ``activation=`` gives only the activation's result. The trainers of
    TensorFlow and PyTorch call the optimiser's ``apply``, that of JAX its ``stateless_apply``.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Mapping

import keras
import numpy as np


def record(network, x):
    """{name: array} of the inputs and of each layer's result, in the order of computation.

    x: an array, a list of arrays, or a dict of them, as the model takes them.
    """
    results = _results(network)
    probe = keras.Model(network.inputs, list(results.values()))
    found = _inputs(x)
    for name, array in zip(results, probe.predict(x, verbose=0)):  # dropout off
        found.setdefault(name, np.asarray(array))
    return found


def _results(network):
    """{name: tensor} of each node of the model's own graph; a layer may have been called before."""
    graph = getattr(network, "_functional", None) or network  # of a Sequential, or itself
    found = OrderedDict()
    for depth in sorted(graph._nodes_by_depth, reverse=True):
        for node in graph._nodes_by_depth[depth]:
            name, calls = node.operation.name, 2
            while name in found:
                name, calls = "%s, call %d" % (node.operation.name, calls), calls + 1
            found[name] = node.outputs[0]
    return found


def record_step(network, x, y, steps=1):
    """The same, and the loss, the gradients and the weights before and after each step.

    The model must be compiled. Its weights move, and dropout is on.
    """
    found = record(network, x)
    variables = network.trainable_variables
    found.update(("step0 " + v.path, _array(v)) for v in variables)
    eager, network.run_eagerly = network.run_eagerly, True
    try:
        for step in range(1, steps + 1):
            with _kept(network.optimizer) as gradients:
                losses = np.array(network.train_on_batch(x, y))  # and metrics
            found["loss%d" % step] = losses.reshape(-1)[:1]
            pairs = zip(variables, gradients)
            found.update(("grad%d %s" % (step, v.path), g) for v, g in pairs if g is not None)
            found.update(("step%d %s" % (step, v.path), _array(v)) for v in variables)
    finally:
        network.run_eagerly = eager
    return found


@contextlib.contextmanager
def _kept(optimizer):
    """A list that gets the gradients which the optimiser is given."""
    gradients = []
    apply, stateless_apply = optimizer.apply, optimizer.stateless_apply

    def keep(given):
        if not gradients:
            gradients.extend(None if g is None else _array(g) for g in given)

    def kept(grads, trainable_variables=None):
        keep(grads)
        return apply(grads, trainable_variables)

    def stateless(optimizer_variables, grads, trainable_variables):
        keep(grads)
        return stateless_apply(optimizer_variables, grads, trainable_variables)

    optimizer.apply, optimizer.stateless_apply = kept, stateless
    try:
        yield gradients
    finally:
        del optimizer.apply, optimizer.stateless_apply


def _array(tensor):
    """A copy as NumPy's."""
    return np.array(keras.ops.convert_to_numpy(tensor))


def _inputs(x):
    """The inputs under their names."""
    if isinstance(x, Mapping):
        return OrderedDict((name, np.asarray(array)) for name, array in x.items())
    if isinstance(x, (tuple, list)):
        return OrderedDict(("x%d" % n, np.asarray(array)) for n, array in enumerate(x))
    return OrderedDict(x=x)
