"""Recording a pass, or a step of training, of any Keras 3 model as it is.

Idiom: while a pass runs eagerly, ``Layer.__call__`` keeps what each layer returns: of functional
    models, of subclassed ones, and of layers inside layers. For a step, the model trains itself
    with ``train_on_batch``, eagerly, and its optimiser is asked for gradients.
Surprise: a layer with ``activation=`` gives only the activation's result. The trainers of
    TensorFlow and PyTorch call the optimiser's ``apply``, that of JAX its ``stateless_apply``.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Mapping

import keras
import numpy as np

# On a CPU, TensorFlow's convolutions in float64 are of channels-last images alone.
EXACT_LACKS = "channels first" if keras.backend.backend() == "tensorflow" else None


def record(network, x):
    """{name: array} of the inputs and of each layer's result, in the order of computation.

    x: an array, a list of arrays, or a dict of them, as the model takes them.
    """
    found = _inputs(x)
    with _kept_results(found):
        network(x, training=False)  # dropout off
    return found


def exact(network, x):
    """The same in float64, for ``compare --exact``."""
    layers = [network, *network._flatten_layers(include_self=False)]
    before = [layer.dtype_policy for layer in layers]
    try:
        for layer in layers:
            layer.dtype_policy = Double("float64")
        with _double():
            return record(network, keras.tree.map_structure(_as_double, x))
    finally:
        for layer, policy in zip(layers, before):
            layer.dtype_policy = policy


class Double(keras.DTypePolicy):
    """Computes in float64; a layer casts variables only to a type that is not theirs."""

    variable_dtype = "float32"


@contextlib.contextmanager
def _double():
    """JAX alone must be asked for float64."""
    if keras.backend.backend() != "jax":
        yield
        return
    import jax

    with jax.enable_x64(True):
        yield


def _as_double(array):
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


@contextlib.contextmanager
def _kept_results(found):
    """Put what each layer, and each operation of a functional model, returns into ``found``, under
    the names of the layers that it is in.
    """
    inside = []

    def kept(call):
        def recorded(self, *args, **kwargs):
            graph = getattr(inside[-1], "operations", ()) if inside else ()
            if not isinstance(self, keras.Layer) and not any(self is node for node in graph):
                return call(self, *args, **kwargs)  # made by a layer, with a name by chance
            inside.append(self)
            try:
                result = call(self, *args, **kwargs)
                _keep(found, ".".join(layer.name for layer in inside[1:]), result)
            finally:
                inside.pop()
            return result

        return recorded

    layer, operation = keras.Layer.__call__, keras.Operation.__call__
    keep_layer, keep_operation = kept(layer), kept(operation)
    keras.Layer.__call__ = keep_layer
    # A layer's own call ends with this one.
    keras.Operation.__call__ = lambda self, *args, **kwargs: (
        operation if isinstance(self, keras.Layer) else keep_operation
    )(self, *args, **kwargs)
    try:
        yield
    finally:
        keras.Layer.__call__, keras.Operation.__call__ = layer, operation


def _keep(found, name, result):
    """Add a layer's first result and its like, such as the streams of an image and of a text.

    Not those of the model itself, nor what is only a layer's shape.
    """
    tensors = [t for t in keras.tree.flatten(result) if keras.ops.is_tensor(t)]
    if not name or not tensors or isinstance(tensors[0], keras.KerasTensor):
        return
    streams = [t for t in tensors[1:] if _alike(tensors[0], t)]
    for n, tensor in enumerate(tensors[:1] + streams, 1):
        first = full = "%s, result %d" % (name, n) if n > 1 else name
        call = 2
        while full in found:
            full, call = "%s, call %d" % (first, call), call + 1
        found[full] = _array(tensor)


def _alike(a, b):
    """Whether two tensors have rows of equal width for each token of each observation."""
    a, b = a.shape, b.shape
    return len(a) == len(b) > 2 and (a[0], a[-1]) == (b[0], b[-1])


def record_step(network, x, y, steps=1):
    """The same, and the loss, the gradients and the weights before and after each step.

    The model must be compiled. Its weights move, and dropout is on.
    """
    found = record(network, x)
    variables = network.trainable_variables
    running = [v for v in network.non_trainable_variables if "float" in v.dtype]
    moving = [*variables, *running]
    found.update(("step0 " + v.path, _array(v)) for v in moving)
    eager, network.run_eagerly = network.run_eagerly, True
    try:
        for step in range(1, steps + 1):
            with _kept(network.optimizer) as gradients:
                losses = np.array(network.train_on_batch(x, y))  # and metrics
            found["loss%d" % step] = losses.reshape(-1)[:1]
            pairs = zip(variables, gradients)
            found.update(("grad%d %s" % (step, v.path), g) for v, g in pairs if g is not None)
            found.update(("step%d %s" % (step, v.path), _array(v)) for v in moving)
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
    """A copy as NumPy's; bfloat16 as float32, because files of NumPy's have no such type."""
    array = np.array(keras.ops.convert_to_numpy(tensor))
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _inputs(x):
    """The inputs under their names."""
    if isinstance(x, Mapping):
        return OrderedDict((name, np.asarray(array)) for name, array in x.items())
    if isinstance(x, (tuple, list)):
        return OrderedDict(("x%d" % n, np.asarray(array)) for n, array in enumerate(x))
    return OrderedDict(x=x)
