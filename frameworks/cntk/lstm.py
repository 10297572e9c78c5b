"""The LSTM in CNTK.

Idiom: ``cntk.layers``, whose ``LSTM`` is one step of a recurrence; a learner and a ``Trainer``. The
    steps are written out along a static axis: ``Recurrence`` cannot truncate; that is an
    option of the reader (``MinibatchSource(truncation_length=...)``).
Layout: the batch axis is not written, so a sequence is (T, 1).
Gates: input, cell, forget, output, side by side; one bias.
State: zeros at the start of every sequence, passed from step to step; ``stop_gradient`` after
    each chunk cuts the gradient.
Surprise: a step returns (h, c) and takes (h, c, x), the new input last.
"""

import cntk as C
import numpy as np
from cntk.layers import LSTM, Dense

from frameworks.cntk import mlp
from frameworks.cntk.cnn import wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

STEPS = 40  # in a sequence
CHUNK = 10  # steps through which the gradient flows back
GATES = [0, 2, 1, 3]  # CNTK's order of input, forget, cell, output; its own inverse


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NTC")


def load(sequences, targets, settings):
    """Float32 sequences and targets (n, T, 1), as they are."""
    return sequences, targets


def symbol(settings, hp):
    """The network, without an activation on its last layer: values ahead and free-running ones."""
    blocks = {"dense1": Dense(5), "lstm": LSTM(5), "dense2": Dense(1)}
    x = C.input_variable((STEPS, 1), name="x")  # needs_gradient is False: none is computed for x
    h = c = C.constant(0, 5)
    values = []
    for t in range(STEPS):
        step = C.reshape(x[t], 1)
        h, c = blocks["lstm"](h, c, blocks["dense1"](step)).outputs  # (5,) each
        values.append(blocks["dense2"](h))  # (1,)
        if (t + 1) % CHUNK == 0:
            h, c = C.stop_gradient(h), C.stop_gradient(c)
    ahead = C.reshape(C.splice(*values, axis=0), (STEPS, 1))
    for _ in range(STEPS):
        h, c = blocks["lstm"](h, c, blocks["dense1"](values[-1])).outputs
        values.append(blocks["dense2"](h))
    return ahead, C.reshape(C.splice(*values, axis=0), (2 * STEPS, 1)), blocks


def parameters(blocks):
    """{canonical name: parameter}; CNTK's matrices are (in, out)."""
    return {
        "dense1.weight": blocks["dense1"].W,
        "dense1.bias": blocks["dense1"].b,
        "lstm.input.weight": blocks["lstm"].W,
        "lstm.recurrent.weight": blocks["lstm"].H,
        "lstm.bias": blocks["lstm"].b,
        "dense2.weight": blocks["dense2"].W,
        "dense2.bias": blocks["dense2"].b,
    }


def reordered(name, w):
    """From the canonical order of gates to CNTK's, or back."""
    if not name.startswith("lstm."):
        return w
    return w.reshape((4, 5) + w.shape[1:])[GATES].reshape(w.shape)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    ahead, _, blocks = network
    for name, parameter in parameters(blocks).items():
        parameter.value = np.ascontiguousarray(reordered(name, weights[name]).T)
    y = C.input_variable((STEPS, 1), name="y")
    criterion = C.reduce_mean(C.square(ahead - y))  # over a sequence's steps
    learner = C.adam(
        ahead.parameters,
        lr=C.learning_parameter_schedule(hp.learning_rate),
        momentum=C.momentum_schedule(hp.beta1),
        unit_gain=True,  # the default, and right here: Adam weighs a new gradient by 1 - beta1
        variance_momentum=C.momentum_schedule(hp.beta2),  # the default is one per sample
        epsilon=hp.epsilon,
        minibatch_size=C.learners.IGNORE,  # the mean gradient of a batch, not the sum
    )
    return network, y, C.Trainer(ahead, criterion, learner)


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    (ahead, _, _), y_variable, trainer = model
    (x_variable,) = ahead.arguments
    for x, y in batches:
        trainer.train_minibatch({x_variable: x, y_variable: y})  # (N, T, 1) each
        yield trainer.previous_minibatch_loss_average


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running on its own output."""
    _, values, _ = model[0]
    return values.eval({values.arguments[0]: x})


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(np.sqrt(np.mean((values - targets) ** 2)))


def weights(model):
    """Every weight under its canonical name and in its canonical order of gates."""
    _, _, blocks = model[0]
    return {
        name: np.array(reordered(name, parameter.value.T), order="C")
        for name, parameter in parameters(blocks).items()
    }
