"""The LSTM in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: the functional interface: the same layers make two models, one that is trained on whole
    sequences and one that continues from a state.
Layout: sequences (N, T, 1).
Gates: input, forget, cell, output, side by side; one bias.
State: zeros at the start of every sequence, passed with ``initial_state``; ``stop_gradient``
    between chunks cuts the gradient.
Surprise: a layer made with ``stateful=True`` keeps its state from batch to batch, so that the next
    sequences begin where others ended, until ``reset_state`` is called.
"""

import keras
import numpy as np
from keras import layers, ops

from frameworks.keras import mlp
from frameworks.keras.cnn import load

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

STEPS = 40  # in a sequence in training
CHUNK = 10  # steps through which the gradient flows back


def configure(lane, threads, seed):
    """As for the MLP, except for the layout, and for XLA, which cannot compile cuDNN's LSTM."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NTC")
    settings["jit"] = keras.Sequential([layers.LSTM(5)]).jit_compile
    if settings.pop("memory_format", None):  # only PyTorch has it, and only for images
        settings["not_in_force"].remove("memory_format")
    return settings


def symbol(settings, hp):
    """The network, without an activation on its last layer: to train, and to continue a state."""
    dense1 = layers.Dense(5, name="dense1")
    lstm = layers.LSTM(5, return_sequences=True, return_state=True, name="lstm")
    dense2 = layers.Dense(1, name="dense2")
    x = keras.Input((STEPS, 1))
    values, state = [], None
    for first in range(0, STEPS, CHUNK):
        h, *state = lstm(dense1(x[:, first : first + CHUNK]), initial_state=state)  # (N, 10, 5)
        state = [ops.stop_gradient(part) for part in state]
        values.append(dense2(h))  # (N, 10, 1)
    whole = keras.Model(x, ops.concatenate(values, 1))  # (N, 40, 1)
    x, start = keras.Input((None, 1)), [keras.Input((5,)), keras.Input((5,))]
    h, *state = lstm(dense1(x), initial_state=start)
    return whole, keras.Model([x, *start], [dense2(h), *state])


def variables(network):
    """{canonical name: variable}; Keras's matrices are (in, out)."""
    dense1, lstm, dense2 = (network[0].get_layer(name) for name in ("dense1", "lstm", "dense2"))
    return {
        "dense1.weight": dense1.kernel,
        "dense1.bias": dense1.bias,
        "lstm.input.weight": lstm.cell.kernel,
        "lstm.recurrent.weight": lstm.cell.recurrent_kernel,
        "lstm.bias": lstm.cell.bias,
        "dense2.weight": dense2.kernel,
        "dense2.bias": dense2.bias,
    }


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    # Keras itself would set the forget gate's bias to 1 and draw an orthogonal recurrent kernel.
    for name, variable in variables(network).items():
        variable.assign(weights[name].T)
    network[0].compile(
        optimizer=keras.optimizers.Adam(
            hp.learning_rate, beta_1=hp.beta1, beta_2=hp.beta2, epsilon=hp.epsilon
        ),
        loss=keras.losses.MeanSquaredError(),  # over the batch and its steps
        jit_compile=settings["jit"],
    )
    return network


def train(model, batches):
    """One pass over the batches; yields the loss of each step, which Keras has waited for."""
    for x, y in batches:
        yield model[0].train_on_batch(x, y)


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running on its own output."""
    zeros = np.zeros((len(x), 5), np.float32)
    value, *state = model[1].predict_on_batch([x, zeros, zeros])  # (N, T, 1)
    values = [value]
    for _ in range(x.shape[1]):
        value, *state = model[1].predict_on_batch([value[:, -1:], *state])  # (N, 1, 1)
        values.append(value)
    return np.concatenate(values, 1)


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(ops.sqrt(ops.mean((values - targets) ** 2)))


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    return {name: ops.convert_to_numpy(w).T.copy() for name, w in variables(model).items()}


def wait(model):
    """Return when the device has finished: when the weights of the last step can be read."""
    weights(model)
