"""The LSTM in Flax NNX, on JAX, with Optax.

Idiom: a cell is a module that takes a state and an input, and ``nnx.RNN`` takes it through a
    sequence, with ``lax.scan``.
Layout: sequences (N, T, 1).
Gates: input, forget, cell, output, side by side; one bias, on the recurrent side.
State: zeros at the start of every sequence, then passed with ``initial_carry``;
    ``lax.stop_gradient`` between chunks cuts its gradient.
Surprise: the state is (c, h), the cell's first, where other libraries have (h, c).
"""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import lax

from frameworks.flax import cnn, mlp
from frameworks.flax.cnn import put, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps that the gradient goes back through
NAMES = {  # of the parameters: Flax's and the shared ones
    "dense1.kernel": "dense1.weight",
    "lstm.cell.dense_i.kernel": "lstm.input.weight",
    "lstm.cell.dense_h.kernel": "lstm.recurrent.weight",
    "lstm.cell.dense_h.bias": "lstm.bias",
    "dense2.kernel": "dense2.weight",
}


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NTC")


def load(sequences, targets, settings):
    """Sequences and targets (n, T, 1), as they are."""
    return sequences, targets


class Network(nnx.Module):
    """Dense, LSTM, dense, at every step of a sequence."""

    def __init__(self, rngs):
        self.dense1 = nnx.Linear(1, 5, rngs=rngs)
        self.lstm = nnx.RNN(nnx.OptimizedLSTMCell(5, 5, rngs=rngs), return_carry=True)
        self.dense2 = nnx.Linear(5, 1, rngs=rngs)

    def __call__(self, x, state=None):
        """Values of a batch of sequences, and the state after them."""
        state, h = self.lstm(self.dense1(x), initial_carry=state)  # (N, T, 5)
        return self.dense2(h), state  # (N, T, 1)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(nnx.Rngs(settings["seed"]))


def shared_name(name):
    """The canonical name of Flax's."""
    return NAMES.get(name, name)


def loss(network, settings, hp, weights):
    """The model: network and optimiser, with the initial weights."""
    # Flax itself would draw an orthogonal recurrent kernel.
    put(network, weights, shared_name)
    adam = optax.adam(hp.learning_rate, hp.beta1, hp.beta2, hp.epsilon)
    return network, nnx.Optimizer(network, adam, wrt=nnx.Param)


def mean_loss(network, x, y):
    """The loss of a batch."""
    state, losses = None, []
    for first in range(0, x.shape[1], CHUNK):
        values, state = network(x[:, first : first + CHUNK], state)  # (N, 10, 1)
        state = lax.stop_gradient(state)
        losses.append(optax.squared_error(values, y[:, first : first + CHUNK]).mean())
    return jnp.mean(jnp.array(losses))  # over the batch and its steps


@nnx.jit(donate_argnames=("network", "optimizer"))
def step(network, optimizer, x, y):
    """One step of training: changes the network and the optimiser, and returns the loss."""
    step_loss, gradients = nnx.value_and_grad(mean_loss)(network, x, y)
    optimizer.update(network, gradients)
    return step_loss


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, optimizer = model
    for x, y in batches:  # (N, T, 1)
        yield step(network, optimizer, x, y)


@nnx.jit
def forward(network, x, state=None):
    """Values of a batch of sequences, and the state after them."""
    return network(x, state)


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running, fed with its own."""
    network, _ = model
    value, state = forward(network, x)  # (N, T, 1)
    values = [value]
    for _ in range(x.shape[1]):
        value, state = forward(network, value[:, -1:], state)  # (N, 1, 1)
        values.append(value)
    return np.concatenate(values, 1)


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(jnp.sqrt(jnp.mean((values - targets) ** 2)))


def weights(model):
    """Every weight under its canonical name; Flax's matrices are (in, out)."""
    return {shared_name(name): np.array(w).T.copy() for name, w in cnn.arrays(model[0]).items()}
