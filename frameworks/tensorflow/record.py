"""Recording a pass, or a step of training, of a TensorFlow 2 network, a ``tf.Module`` or another
callable, as it is.

Idiom: its call is traced into a graph, which is pruned to one that gives every operation's result.
Surprise: the graph of a ``tf.function`` cannot be pruned; that of ``wrap_function`` can.
"""

import contextlib
import inspect
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

NOT_COMPUTED = ("Placeholder", "Const", "ReadVariableOp", "Identity", "NoOp")
# Operations with several results that count; others' further ones are of use to gradients alone.
SEVERAL = ("Split", "SplitV", "Unpack", "While", "StatelessWhile", "If", "StatelessIf")
SEVERAL += ("PartitionedCall", "StatefulPartitionedCall")
NO_NUMBERS = (tf.resource, tf.variant, tf.string)


@contextlib.contextmanager
def full_precision():
    """No TF32: on a GPU, its error would be taken for float32's own."""
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)


@full_precision()
def record(network, x):
    """{name: array} of the inputs and of each operation's result, in the order of computation.

    x: an array; a tuple of arrays, in the order of the network's arguments; or a dict of them, by
    their names.
    """
    found = _inputs(x)

    def forward(*tensors):
        return _called(network, x, tensors)

    specs = [tf.TensorSpec(array.shape, array.dtype) for array in found.values()]
    eager = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)  # else an inner tf.function is one operation
    try:
        traced = tf.compat.v1.wrap_function(forward, specs)
    finally:
        tf.config.run_functions_eagerly(eager)
    results = [
        result
        for op in traced.graph.get_operations()
        for result in op.outputs[: None if op.type in SEVERAL else 1]
        if op.type not in NOT_COMPUTED and result.dtype not in NO_NUMBERS
    ]
    probe = traced.prune(traced.inputs[: len(specs)], results)
    arrays = probe(*(tf.constant(array) for array in found.values()))
    for result, array in zip(results, map(_numbers, arrays)):
        n = result.value_index
        if array.size:
            found[result.op.name + (", result %d" % (n + 1) if n else "")] = array
    return found


@full_precision()
def record_step(network, x, loss, optimizer, steps=1, training=False):
    """The same, and the loss, the gradients and the weights before and after each step.

    network: must have ``trainable_variables``. loss: a function of what it returns. optimizer: has
    ``apply_gradients``, as those of Keras, or ``apply(gradients, variables)``. training: is given
    to the network, if it takes that; dropout then is on, too.
    """
    found = record(network, x)
    tensors = [tf.constant(array) for array in _inputs(x).values()]
    variables = _variables(network)
    found.update(("step0 " + name, _numbers(v)) for name, v in variables.items())
    for step in range(1, steps + 1):
        with tf.GradientTape() as tape:
            value = loss(_called(network, x, tensors, training))
        trained = {name: v for name, v in variables.items() if v.trainable}
        gradients = tape.gradient(value, trained)
        gradients = {name: g for name, g in gradients.items() if g is not None}
        found["loss%d" % step] = _numbers(tf.convert_to_tensor(value))
        for name, g in gradients.items():  # an embedding's has the rows alone that were looked up
            found["grad%d %s" % (step, name)] = _numbers(tf.convert_to_tensor(g))
        pairs = [(g, trained[name]) for name, g in gradients.items()]
        if hasattr(optimizer, "apply_gradients"):
            optimizer.apply_gradients(pairs)
        else:
            optimizer.apply(*zip(*pairs))
        found.update(("step%d %s" % (step, name), _numbers(v)) for name, v in variables.items())
    return found


def _called(network, x, tensors, training=False):
    """What the network returns."""
    call = getattr(network, "call", network)  # a layer's own call hides what its __call__ takes
    takes = "training" in inspect.signature(call).parameters
    mode = {"training": training} if takes else {}
    if isinstance(x, Mapping):
        return network(**dict(zip(x, tensors)), **mode)
    return network(*tensors, **mode)


def _variables(network):
    """{name: variable} of the floats, the running statistics among them; each name once."""
    found = OrderedDict()
    moving = getattr(network, "non_trainable_variables", ())
    for variable in [*network.trainable_variables, *moving]:
        name, n = variable.name.split(":")[0], 2
        while name in found:
            name, n = "%s, %d" % (variable.name.split(":")[0], n), n + 1
        if variable.dtype.is_floating:
            found[name] = variable
    return found


def _numbers(tensor):
    """A tensor as NumPy's; bfloat16 as float32, because files of NumPy's have no such type."""
    array = np.array(tensor.numpy())
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _inputs(x):
    """The inputs under their names."""
    if isinstance(x, Mapping):
        return OrderedDict((name, np.asarray(array)) for name, array in x.items())
    if isinstance(x, (tuple, list)):
        return OrderedDict(("x%d" % n, np.asarray(array)) for n, array in enumerate(x))
    return OrderedDict(x=np.asarray(x))
