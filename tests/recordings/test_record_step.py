"""A recording of training holds what the optimiser did: it is named from the recording alone."""

import numpy as np
import pytest

from common.compare.arrays import Array
from common.compare.optimizers import steps, walk
from common.system import modules
from tests import beside

STEPS = 3
X = {
    side: np.random.RandomState(n).standard_normal((8, 12)).astype("f")
    for n, side in enumerate("lr")
}


def keras(record):
    """Adam in Keras, of a model with two inputs in a dict."""
    import keras

    left, right = (keras.Input((12,), name=side) for side in "lr")
    hidden = keras.layers.Dense(16, "relu")(left) + keras.layers.Dense(16)(right)
    scores = keras.layers.Dense(3)(keras.layers.LayerNormalization()(hidden))
    network = keras.Model({"l": left, "r": right}, scores)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile(keras.optimizers.Adam(1e-3), loss)
    found = record.record_step(network, X, np.arange(8) % 3, steps=STEPS)
    return found, "Adam, betas 0.9 and 0.999, epsilon 1e-07", 1e-3


def flax(record):
    """Nesterov momentum in Optax, of a model with two inputs by name."""
    import optax
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.first, self.norm = nnx.Linear(12, 16, rngs=rngs), nnx.LayerNorm(16, rngs=rngs)
            self.last = nnx.Linear(16, 3, rngs=rngs)

        def __call__(self, l, r):  # noqa: E741
            return self.last(self.norm(nnx.gelu(self.first(l) + r.mean())))

    network = Network(nnx.Rngs(0))
    optimizer = nnx.Optimizer(network, optax.sgd(0.1, 0.9, nesterov=True), wrt=nnx.Param)
    found = record.record_step(network, X, lambda y: (y**2).mean(), optimizer, STEPS)
    return found, "SGD, Nesterov momentum 0.9", 0.1


def pytorch(record):
    """Momentum in PyTorch, of a model with two inputs in order."""
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(12, 16), nn.LayerNorm(16), nn.Linear(16, 3)

        def forward(self, left, right):
            return self.last(self.norm(self.first(left) + right.mean()))

    network = Network()
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    found = record.record_step(
        network, (X["l"], X["r"]), lambda y: (y**2).mean(), optimizer, steps=STEPS
    )
    return found, "SGD, momentum 0.9", 0.1


def tensorflow(record):
    """Momentum in TensorFlow, of a ``tf.Module``, with an optimiser that has ``apply``."""
    import tensorflow as tf

    class Network(tf.Module):
        def __init__(self):
            super().__init__()
            draw = np.random.RandomState(2)
            shapes = ((12, 16), (16,), (12, 16), (16,), (16, 3), (3,))
            drawn = [draw.standard_normal(shape).astype("f") / 4 for shape in shapes]
            self.parts = [tf.Variable(array) for array in drawn]

        def __call__(self, left, right):
            w = self.parts
            hidden = tf.nn.relu(left @ w[0] + w[1] + tf.tanh(right @ w[2] + w[3]))
            return hidden @ w[4] + w[5]

    class Momentum:
        def __init__(self):
            self.velocities = {}

        def apply(self, gradients, variables):
            for g, v in zip(gradients, variables):
                old = self.velocities.get(id(v), 0.0)
                self.velocities[id(v)] = 0.9 * old + g
                v.assign_sub(0.1 * self.velocities[id(v)])

    loss = lambda y: tf.reduce_mean(y**2)  # noqa: E731
    found = record.record_step(Network(), (X["l"], X["r"]), loss, Momentum(), steps=STEPS)
    return found, "SGD, momentum 0.9", 0.1


def test_the_optimiser_is_named_from_the_recorded_steps(name):
    beside.need(name, "record")
    record = modules.load(name, "record")
    runs = {"keras": keras, "flax": flax, "pytorch": pytorch, "tensorflow": tensorflow}
    run = runs.get(record.__name__.split(".")[-2])
    if run is None or not hasattr(record, "record_step"):
        pytest.skip("this framework's recorder has no steps")
    found, words, rate = run(record)
    assert all(type(array) is np.ndarray for array in found.values())
    assert [found["loss%d" % n].size for n in range(1, STEPS + 1)] == [1] * STEPS
    tensors = steps.walks([Array(key, array) for key, array in found.items()])
    walked = walk.side(tensors)
    assert len(tensors) >= 6 and walked.rule.words.startswith(words)
    assert np.allclose(walked.rates, rate, rtol=2e-3)


def test_running_statistics_are_recorded_and_the_pass_is_of_prediction(name):
    beside.need(name, "record")
    record = modules.load(name, "record")
    if record.__name__.split(".")[-2] != "pytorch":
        pytest.skip("its names and its network are PyTorch's")
    import torch
    from torch import nn

    network = nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    loss = lambda y: (y**2).mean()  # noqa: E731
    found = record.record_step(network, X["l"], loss, optimizer, steps=2, training=True)
    assert np.allclose(found["1"], found["0"] / np.sqrt(1 + 1e-5), atol=1e-6)
    means = [found["step%d 1.running_mean" % step] for step in range(3)]
    assert not means[0].any() and np.allclose(means[1], 0.1 * found["0"].mean(0), atol=1e-6)
    assert (means[2] != means[1]).any() and "grad1 1.running_mean" not in found
