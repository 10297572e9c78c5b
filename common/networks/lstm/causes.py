"""Causes for the LSTM, as changes to the NumPy module."""

import numpy as np

from common.challenge.causes import (
    Cause,
    in_other_orders,
    interleaved,
    layers,
    only,
    parted,
    under,
    with_network,
    with_weights,
)
from common.challenge.updates import above, adam, with_rule
from common.system.modules import replaced

GATES = ("input", "forget", "cell", "output")


class StateCarriedOver(layers.LSTM):
    """A sequence begins with the state left by the last batch of the same size."""

    def forward(self, x, training, state=None):
        last = getattr(self, "state", None)
        if state is None and last is not None and len(last[0]) == len(x):
            state = last
        return super().forward(x, training, state)


class StateResetPerChunk(layers.LSTM):
    """A chunk of a training sequence begins with zeros."""

    def forward(self, x, training, state=None):
        if not training:
            return super().forward(x, training, state)
        outputs, self.chunks = [], []
        for first in range(0, x.shape[1], self.chunk):
            outputs.append(super().forward(x[:, first : first + self.chunk], training))
            self.chunks.append((self.steps, self.state))
        return np.concatenate(outputs, 1)

    def backward(self, upper):
        gradients, sums = [], [np.zeros_like(g) for g in self.gradients]
        for number, chunk in enumerate(self.chunks):
            self.steps, self.state = chunk
            first = number * self.chunk
            gradients.append(super().backward(upper[:, first : first + self.chunk]))
            sums = [total + g for total, g in zip(sums, self.gradients)]
        for g, total in zip(self.gradients, sums):
            g[:] = total
        return np.concatenate(gradients, 1)


def _made(kind):
    """``with_network`` of an LSTM of another kind."""

    def changed(settings, network):
        return [
            kind(settings, layer.name, layer.chunk) if isinstance(layer, layers.LSTM) else layer
            for layer in network
        ]

    return with_network(changed)


def _lstm(name, w):
    return name.startswith("lstm.")


def _orders():
    """Gates in another order, or interleaved."""
    yield from in_other_orders("the gates have the order %s", GATES, _lstm, 4, -1)
    yield Cause(
        "the gates stand between one another: unit by unit, not gate by gate (Chainer)",
        with_weights(only(_lstm, interleaved(-1, 4)), only(_lstm, interleaved(4, -1))),
    )


def _bias(name, w):
    return name == "lstm.bias"


def _forget(change):
    def changed(w):
        quarters = w.reshape(4, -1).copy()
        quarters[GATES.index("forget")] += np.float32(change)
        return quarters.reshape(w.shape)

    return only(_bias, changed)


def _running(change):
    """A cause's ``make``: ``change(network, last, steps)`` gives the free-running values.

    last: the predicted values (n, 1, 1) after the last input.
    """

    def make(module):
        def predict(model, x):
            values, steps = module.predict(model, x)[:, : x.shape[1]], x.shape[1]
            return np.concatenate([values, change(model[0], values[:, -1:], steps)], 1)

        return replaced(module, predict=predict)

    return make


def _state_lost(network, last, steps):
    """Free-running begins from zeros."""
    dense1, lstm, dense2 = network
    values, state = [], None
    for _ in range(steps):
        h = lstm.forward(dense1.forward(last, training=False), training=False, state=state)
        last, state = dense2.forward(h, training=False), lstm.state
        values.append(last)
    return np.concatenate(values, 1)


def _held(network, last, steps):
    """The last value is repeated."""
    return np.repeat(last, steps, 1)


def network():
    """Causes that change the forward pass."""
    recurrent = only(
        lambda name, w: name == "lstm.recurrent.weight", parted(lambda w: w.swapaxes(1, 2), 4, -1)
    )
    causes = under("order of the gates", _orders())
    causes += under(
        "LSTM",
        [
            Cause("each gate's recurrent matrix is transposed", with_weights(recurrent, recurrent)),
            Cause(
                "the LSTM's bias is halved: of two biases that are added one was left at 0",
                with_weights(only(_bias, lambda w: w / 2), lambda name, w: w),
            ),
            Cause(
                "the LSTM's bias counts twice: it was put into both of two that are added",
                with_weights(only(_bias, lambda w: 2 * w), only(_bias, lambda w: w / 2)),
            ),
            Cause(
                "1 is added to the forget gate's bias (the initial one of Keras and TensorFlow)",
                with_weights(_forget(1), lambda name, w: w),
            ),
            Cause(
                "1 is added to the forget gate's bias in each pass (TensorFlow 1's forget_bias)",
                with_weights(_forget(1), _forget(-1)),
            ),
        ],
    )
    return causes + under(
        "free-running",
        [
            Cause("the state is lost before running free", _running(_state_lost)),
            Cause("running free repeats the last value", _running(_held)),
        ],
    )


@above
def _twice(rule):
    """``rule``, but with twice the update of the LSTM's bias."""

    def other(hp, step, weights, gradients, state):
        update = rule(hp, step, weights, gradients, state)
        return dict(update, **{"lstm.bias": 2 * update["lstm.bias"]})

    return other


def _whole(settings, network):
    for layer in network:
        if isinstance(layer, layers.LSTM):
            layer.chunk = 10**6
    return network


def training(rule=None):
    """Causes that change updates."""
    return [
        Cause(
            "the gradient is not truncated: it goes back over all steps",
            with_network(_whole),
            concept="gradient truncated",
        ),
        Cause(
            "in training each chunk of a sequence begins with zeros",
            _made(StateResetPerChunk),
            concept="state carried",
        ),
        Cause(
            "a sequence begins with the state that the last batch left",
            _made(StateCarriedOver),
            concept="state carried",
        ),
        Cause(
            "two biases are trained, which are added: their sum moves twice as far",
            with_rule(_twice(rule or adam)),
            concept="LSTM",
        ),
    ]
