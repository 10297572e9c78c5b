"""Recorders take models as their users have them: nested layers, functions, in float64 too."""

import numpy as np
import pytest

from common.system import modules
from tests import beside

RANDOM = np.random.RandomState(0)
X = RANDOM.standard_normal((4, 6, 16)).astype("f")


def keras(record):
    """A functional model with a layer of two results, and a layer of layers, called twice."""
    import keras

    @keras.saving.register_keras_serializable()
    class Block(keras.Layer):
        def __init__(self, **named):
            super().__init__(**named)
            self.norm = keras.layers.LayerNormalization(name="norm")
            self.dense = keras.layers.Dense(16, name="dense")
            self.dropout = keras.layers.Dropout(0.5, name="dropout")

        def build(self, shape):
            self.norm.build(shape)
            self.dense.build(shape)

        def call(self, x, training=None):
            return x + self.dropout(keras.ops.silu(self.dense(self.norm(x))), training=training)

    @keras.saving.register_keras_serializable()
    class Streams(keras.Layer):
        def call(self, x):
            return x[:, :3], x, x[:, 0]

    given = keras.Input((6, 16), name="x")
    block = Block(name="block")
    _, x, _ = Streams(name="streams")(given)
    network = keras.Model(given, keras.layers.Dense(3, name="scores")(block(block(x))))
    names = ["block.norm", "block.dense", "block.dropout", "block"]
    names += [name + ", call 2" for name in names] + ["scores"]
    names = ["x", "streams", "streams, result 2"] + names
    recorded = record.record(network, X)
    assert list(recorded) == names
    return recorded, record.exact(network, X), np.asarray(network.predict(X, verbose=0))


def pytorch(record):
    """A module of several results, and one that is used three times."""
    import torch
    from torch import nn

    class Streams(nn.Module):
        def forward(self, x):
            return None, x[:, :3], x, x[:, 0]

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.streams = Streams()
            self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
            self.relu, self.last = nn.ReLU(), nn.Linear(16, 3)

        def forward(self, x):
            _, _, x, _ = self.streams(x)
            for layer in self.layers:
                x = self.relu(layer(x))
            return self.last(x)

    network = Network()
    recorded = record.record(network, X)
    names = ["layers.0", "relu", "layers.1", "relu, call 2", "layers.2", "relu, call 3", "last"]
    assert list(recorded) == ["x", "streams", "streams, result 2"] + names
    return recorded, record.exact(network, X), network(torch.from_numpy(X)).detach().numpy()


def flax(record):
    """Attention in a module, inside a function that is compiled."""
    import jax
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.norm = nnx.LayerNorm(16, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(
                2, 16, decode=False, dropout_rate=0.5, rngs=rngs
            )
            self.last = nnx.Linear(16, 3, rngs=rngs)

        def __call__(self, x):
            return self.last(jax.jit(jax.nn.gelu)(x + self.attention(self.norm(x))))

    network = Network(nnx.Rngs(0))
    recorded = record.record(network, X)
    assert sum("dot_general" in name for name in recorded) == 7
    exact = record.exact(network, X)
    assert network.attention.deterministic is None  # the network keeps its mode
    network.eval()
    return recorded, exact, np.asarray(network(X))


def jax(record):
    """A function of weights and an input by name, compiled as a whole."""
    import jax

    @jax.jit
    def function(weights, x):
        hidden = jax.nn.relu(jax.numpy.dot(x, weights["up"]))
        return jax.numpy.dot(hidden, weights["down"])

    drawn = RANDOM.standard_normal((2, 16, 16)).astype("f")
    weights = {"up": drawn[0], "down": drawn[1]}
    recorded = record.record_function(function, weights, {"x": X})
    assert list(recorded)[0] == "x" and sum("dot_general" in name for name in recorded) >= 1
    exact = record.exact_function(function, weights, {"x": X})
    return recorded, exact, np.asarray(function(weights, X))


def tensorflow(record):
    """A function of two inputs by name, one of them of whole numbers, with a table."""
    import tensorflow as tf

    table = tf.Variable(RANDOM.standard_normal((10, 16)).astype("f"))

    @tf.function
    def network(ids, x):
        return tf.nn.softmax(tf.nn.relu(tf.gather(table, ids) + x))

    inputs = {"ids": RANDOM.randint(0, 10, (4, 6)), "x": X}
    recorded = record.record(network, inputs)
    assert list(recorded)[:2] == ["ids", "x"] and len(recorded) >= 5
    return recorded, None, network(**inputs).numpy()


def recorder(name, **models):
    """(the framework's recorder, the function that makes its model); else the test is skipped."""
    beside.need(name, "record")
    record = modules.load(name, "record")
    made = models.get(record.__name__.split(".")[-2])
    if made is None:
        pytest.skip("no such model in this framework here")
    return record, made


def test_a_user_s_own_model_is_recorded_as_it_is(name):
    runs = dict(keras=keras, pytorch=pytorch, flax=flax, jax=jax, tensorflow=tensorflow)
    record, run = recorder(name, **runs)
    recorded, exact, result = run(record)
    assert all(type(array) is np.ndarray for array in recorded.values())
    last = list(recorded.values())[-1]
    assert np.abs(last - result).max() < 1e-5 * np.abs(result).max()
    if exact is None:
        return  # this recorder has no pass in float64
    assert list(recorded) == list(exact)
    layers = [key for key in list(exact)[1:] if recorded[key].dtype == np.float32]
    assert len(layers) >= 3
    for key in layers:
        assert exact[key].dtype == np.float64
        assert np.abs(recorded[key] - exact[key]).max() < 1e-5 * np.abs(exact[key]).max() + 1e-6
    assert any((recorded[key] != exact[key]).any() for key in layers)


def half_keras():
    import keras

    dense = keras.layers.Dense(8, dtype="bfloat16")
    return keras.Sequential([keras.Input((6, 16)), dense]), X


def half_flax():
    from flax import nnx
    from jax import numpy as jnp

    return nnx.Linear(16, 8, dtype=jnp.bfloat16, rngs=nnx.Rngs(0)), X


def half_tensorflow():
    import tensorflow as tf

    weight = tf.cast(RANDOM.standard_normal((16, 8)), tf.bfloat16)
    return lambda x: tf.cast(x, tf.bfloat16) @ weight, X


def test_bfloat16_is_recorded_in_a_type_that_a_file_can_have(name, tmp_path):
    record, made = recorder(name, keras=half_keras, flax=half_flax, tensorflow=half_tensorflow)
    np.savez(tmp_path / "a.npz", **record.record(*made()))
    with np.load(tmp_path / "a.npz") as arrays:
        *_, last = (arrays[key] for key in arrays)
    assert last.dtype == np.float32 and last.shape == (4, 6, 8) and np.abs(last).max() > 0
    assert (last.view(np.uint32) & 0xFFFF == 0).all()  # it has the digits of bfloat16


def tied_pytorch(record):
    """A network that computes its result itself, writes into its input and keeps a table."""
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.dense, self.table = nn.Linear(16, 16), None

        def forward(self, x):
            x.mul_(2)
            if self.table is None:
                self.table = torch.ones(16)
            return self.dense(x * self.table) @ self.dense.weight.T, self.table

    network, given = Network(), X.copy()
    network.dense.eval()
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    recorded = record.record_step(network, given, lambda y: y[0].mean(), optimizer, steps=2)
    assert np.array_equal(given, X) and np.array_equal(recorded["x"], X)
    assert network.training is False and "output, result 2" in recorded
    with pytest.raises(TypeError, match="scripted"):
        record.record(torch.jit.trace(nn.Linear(16, 3), torch.from_numpy(X)), X)
    names = list(record.record(nn.DataParallel(nn.Sequential(nn.Linear(16, 3))), X))
    assert names == ["x", "0"]  # the network's own result is its last layer's
    w, bias = (recorded["step0 dense." + kind] for kind in ("weight", "bias"))
    return recorded["output"], (2 * X @ w.T + bias) @ w.T


def frozen_pytorch(record):
    """Gradients of weights that no optimiser clears do not add up."""
    import torch
    from torch import nn

    network = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(network[1].parameters(), 0.0)
    loss = lambda y: (y**2).mean()  # noqa: E731
    recorded = record.record_step(network, X, loss, optimizer, steps=2)
    return recorded["grad1 0.weight"], recorded["grad2 0.weight"]


def tied_keras(record):
    """A subclassed network that computes its result itself, of two networks with one name."""
    import keras

    def inner():
        return keras.Sequential([keras.Input((6, 16)), keras.layers.Dense(16, name="fc")], name="s")

    class Network(keras.Model):
        def __init__(self):
            super().__init__()
            self.parts = [inner(), inner()]

        def call(self, x):
            return 3 * self.parts[1](self.parts[0](x))

    network = Network()
    network(X)
    network.compile(optimizer="sgd", loss="mse")
    network.train_on_batch(X, X)  # compiles the step
    recorded = record.record_step(network, X, X)
    gradients = [key for key in recorded if key.startswith("grad1")]
    assert len(gradients) == 4 and sum(key.endswith(", 2") for key in gradients) == 2
    last = [array for key, array in recorded.items() if key.endswith("fc") or "call 2" in key][-1]
    return recorded["output"], 3 * last


def scaled_keras(record):
    """The gradients of a loss that is scaled, as in half precision, are recorded without it."""
    import keras

    found = []
    for factor in (None, 64.0):
        keras.utils.set_random_seed(0)
        network = keras.Sequential([keras.Input((6, 16)), keras.layers.Dense(3, name="fc")])
        optimizer = keras.optimizers.SGD(0.1, loss_scale_factor=factor)
        network.compile(optimizer=optimizer, loss="mse")
        recorded = record.record_step(network, X, np.zeros((4, 6, 3), "f"))
        found += [a for key, a in recorded.items() if key.startswith("grad1") and "kernel" in key]
    return found


def several_jax(record):
    """All results of an operation with several, such as a scan's and a split's."""
    import jax

    def function(w, x):
        carry, rows = jax.lax.scan(lambda h, row: (h + row, h * row), w, x)
        q, k, v = jax.numpy.split(x, [4, 9], axis=2)
        return carry.sum() + rows.sum() + q.sum() + k.sum() + v.sum()

    recorded = list(record.record_function(function, np.zeros((6, 16), "f"), X).values())
    assert all(any(np.array_equal(a, p) for a in recorded) for p in np.split(X, [4, 9], axis=2))
    rows = next(a for a in recorded[1:] if a.shape == X.shape)
    return rows, (np.cumsum(X, 0) - X) * X


RIGHT = {
    "tied": dict(pytorch=tied_pytorch, keras=tied_keras),
    "further": dict(pytorch=frozen_pytorch, keras=scaled_keras, jax=several_jax),
}


@pytest.mark.parametrize("case", list(RIGHT))
def test_what_is_recorded_is_what_the_network_computes(name, case):
    record, made = recorder(name, **RIGHT[case])
    got, right = made(record)
    assert got.shape == right.shape and np.abs(got - right).max() < 1e-5 * np.abs(right).max()
