"""Recording a pass, or a step of training, of any Keras 3 model as it is.

Idiom: while a pass runs eagerly, ``Layer.__call__`` keeps what each layer returns: of functional
    models, of subclassed ones, and of layers inside layers. For a step, the model trains itself
    with ``train_on_batch``, eagerly, and its optimiser is asked for gradients. What the network
    itself returns is ``output``, unless a layer has returned it.
Surprise: a layer with ``activation=`` gives only the activation's result. The trainers of
    TensorFlow and PyTorch call the optimiser's ``apply``, that of JAX its ``stateless_apply``.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Mapping

import keras
import numpy as np

# On a CPU, TensorFlow's convolutions in float64 are only of channels-last images.
EXACT_LACKS = "channels first" if keras.backend.backend() == "tensorflow" else None


@contextlib.contextmanager
def _full_precision():
    """No TF32: on a GPU, its error would be taken for float32's own."""
    if keras.backend.backend() == "tensorflow":
        from frameworks.tensorflow.record import full_precision
    elif keras.backend.backend() == "torch":
        from frameworks.pytorch.record import full_precision
    elif keras.backend.backend() == "jax":
        from frameworks.jax.record import full_precision
    else:
        full_precision = contextlib.nullcontext
    with full_precision():
        yield


@_full_precision()
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

    Of the network itself, which has no name, all results that no layer has returned. Not what is
    only a layer's shape, or a place in a loop that is being compiled.
    """
    tensors = [t for t in keras.tree.flatten(result) if keras.ops.is_tensor(t)]
    if not tensors or not all(map(_has_numbers, tensors)):
        return
    own = not name
    chosen = [t for t in tensors[1:] if own or _alike(tensors[0], t)]
    for n, tensor in enumerate(tensors[:1] + chosen, 1):
        array = _array(tensor)
        if own and any(np.array_equal(array, known) for known in found.values()):
            continue
        full = (name or "output") + (", result %d" % n if n > 1 else "")
        found[_free(found, full, "call ")] = array


def _free(found, name, word=""):
    """The name, or if it is taken, the first free one with a number."""
    free, n = name, 2
    while free in found:
        free, n = "%s, %s%d" % (name, word, n), n + 1
    return free


def _has_numbers(tensor):
    """Whether a tensor is computed, and not a symbol in a graph or a loop of the backend's."""
    if keras.backend.backend() == "jax":
        import jax

        return not isinstance(tensor, (keras.KerasTensor, jax.core.Tracer))
    symbol = keras.backend.backend() == "tensorflow" and not hasattr(tensor, "numpy")
    return not (symbol or isinstance(tensor, keras.KerasTensor))


def _alike(a, b):
    """Whether two tensors have rows of equal width for each token of each observation."""
    a, b = a.shape, b.shape
    return len(a) == len(b) > 2 and (a[0], a[-1]) == (b[0], b[-1])


@_full_precision()
def record_step(network, x, y, steps=1):
    """The same, and the loss, the gradients and the weights before and after each step.

    The model must be compiled. Its weights move, and dropout is on.
    """
    found = record(network, x)
    variables = network.trainable_variables
    running = [v for v in network.non_trainable_variables if "float" in v.dtype]
    moving = _named([*variables, *running])
    found.update(("step0 " + name, _array(v)) for name, v in moving.items())
    eager, network.run_eagerly = network.run_eagerly, True
    network.train_function = None  # that of an earlier training is compiled
    try:
        for step in range(1, steps + 1):
            with _kept(network.optimizer) as gradients:
                losses = np.array(network.train_on_batch(x, y))  # and metrics
            found["loss%d" % step] = losses.reshape(-1)[:1]
            pairs = zip(moving, gradients)
            found.update(("grad%d %s" % (step, name), g) for name, g in pairs if g is not None)
            found.update(("step%d %s" % (step, name), _array(v)) for name, v in moving.items())
    finally:
        network.run_eagerly, network.train_function = eager, None
    return found


def _named(variables):
    """{path: variable}; a path that two layers have is numbered."""
    found = OrderedDict()
    for variable in variables:
        found[_free(found, variable.path)] = variable
    return found


@contextlib.contextmanager
def _kept(optimizer):
    """A list that gets the gradients which the optimiser is given."""
    gradients = []
    apply, stateless_apply = optimizer.apply, optimizer.stateless_apply

    def keep(given):
        scale = getattr(optimizer, "dynamic_scale", None)  # of the loss, in half precision
        scale = 1 if scale is None else float(_array(scale))
        scale *= getattr(optimizer, "loss_scale_factor", None) or 1
        if not gradients:
            arrays = [None if g is None else _array(g) for g in given]
            gradients.extend(None if a is None else a / a.dtype.type(scale) for a in arrays)

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
    return OrderedDict(x=np.asarray(x))
