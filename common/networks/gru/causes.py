"""Causes for the GRU, as changes to the NumPy module."""

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
from common.challenge.networks import of_kind, softmax_causes
from common.challenge.updates import adam, changed, with_rule
from common.networks.gru import GRU

GATES = ("reset", "update", "new")
GATED, ORDER = "GRU", "gates"  # rows of the page


def _gru(name, w):
    return name.startswith("gru.")


def _orders():
    """Gates in another order, or interleaved."""
    yield from in_other_orders("the gates have the order %s", GATES, _gru, 3, -1)
    yield Cause(
        "the gates are interleaved: unit by unit, not gate by gate",
        with_weights(only(_gru, interleaved(-1, 3)), only(_gru, interleaved(3, -1))),
    )


class ResetBefore(layers.GRU):
    """The reset gate multiplies the state before the product."""

    def forward(self, x, training):
        weight, recurrent, bias, recurrent_bias = self.parameters
        self.x, self.steps, hs = x, [], []
        from_input = layers.product(x, weight.T) + bias
        units = recurrent.shape[1]
        gates, new = recurrent[: 2 * units], recurrent[2 * units :]
        h = np.zeros((len(x), units), self.dtype)
        for t in range(x.shape[1]):
            both = np.matmul(h, gates.T) + recurrent_bias[: 2 * units]
            xr, xz, xn = np.split(from_input[:, t], 3, 1)
            r, z = layers.sigmoid(xr + both[:, :units]), layers.sigmoid(xz + both[:, units:])
            n = np.tanh(xn + np.matmul(r * h, new.T) + recurrent_bias[2 * units :])
            self.steps.append((h, r, z, n))
            h = (1 - z) * n + z * h
            hs.append(h)
        return np.stack(hs, 1)

    def backward(self, upper):
        weight, recurrent, _, _ = self.parameters
        by_weight, by_recurrent, by_bias, by_recurrent_bias = self.gradients
        by_recurrent[:] = by_recurrent_bias[:] = 0
        units = recurrent.shape[1]
        inputs, dh = [], 0
        for t in reversed(range(len(self.steps))):
            h, r, z, n = self.steps[t]
            dh = dh + upper[:, t]
            dn = dh * (1 - z) * (1 - n**2)
            back = np.matmul(dn, recurrent[2 * units :])  # of r * h
            dz = dh * (h - n) * z * (1 - z)
            dr = back * h * r * (1 - r)
            both = np.concatenate([dr, dz], 1)
            by_recurrent[: 2 * units] += np.matmul(both.T, h)
            by_recurrent[2 * units :] += np.matmul(dn.T, r * h)
            inputs.append(np.concatenate([dr, dz, dn], 1))
            by_recurrent_bias += inputs[-1].sum(0)
            dh = dh * z + back * r + np.matmul(both, recurrent[: 2 * units])
        inputs = np.stack(inputs[::-1], 1)
        layers.product_gradient(inputs, self.x, by_weight)
        by_bias[:] = inputs.sum((0, 1))
        return layers.product(inputs, weight)


def _negated(w):
    thirds = w.reshape((3, -1) + w.shape[1:]).copy()
    thirds[GATES.index("update")] *= -1
    return thirds.reshape(w.shape)


class Mean(layers.LastStep):
    """The mean of all steps."""

    def forward(self, x, training):
        self.shape = x.shape
        return x.mean(1)

    def backward(self, g):
        steps = self.shape[1]
        return np.repeat(g[:, None] / steps, steps, 1)


class First(layers.LastStep):
    """The first step."""

    def forward(self, x, training):
        self.shape = x.shape
        return x[:, 0]

    def backward(self, g):
        dx = np.zeros(self.shape, self.dtype)
        dx[:, 0] = g
        return dx


class Reversed(layers.Layer):
    """The words in the opposite order."""

    def forward(self, x, training):
        return x[:, ::-1]

    def backward(self, g):
        return None


class Skipping(layers.GRU):
    """Padding, which comes first, leaves the state as it is: zeros."""

    def forward(self, x, training):
        counted_words = (self.words.tokens != 0)[..., None].astype(self.dtype)
        weight, recurrent, bias, recurrent_bias = self.parameters
        self.x, self.steps, hs = x, [], []
        from_input = layers.product(x, weight.T) + bias
        h = np.zeros((len(x), recurrent.shape[1]), self.dtype)
        for t in range(x.shape[1]):
            from_state = np.matmul(h, recurrent.T) + recurrent_bias
            xr, xz, xn = np.split(from_input[:, t], 3, 1)
            hr, hz, hn = np.split(from_state, 3, 1)
            r, z = layers.sigmoid(xr + hr), layers.sigmoid(xz + hz)
            counted = counted_words[:, t]
            z = 1 - counted + counted * z  # an update gate of 1 keeps the state
            n = np.tanh(xn + r * hn)
            self.steps.append((h, r, z, n, hn))
            h = (1 - z) * n + z * h
            hs.append(h)
        return np.stack(hs, 1)


def _skipping(settings, network):
    words, gru, *others = network
    gru.__class__, gru.words = Skipping, words
    return [words, gru] + others


def network():
    """Causes that change the forward pass."""
    recurrent = only(
        lambda name, w: name == "gru.recurrent.weight", parted(lambda w: w.swapaxes(1, 2), 3, -1)
    )
    negated = only(_gru, _negated)
    causes = under(ORDER, _orders())
    causes += under(
        GATED,
        [
            Cause(
                "the reset gate acts before the recurrent product, not after",
                of_kind(layers.GRU, ResetBefore),
            ),
            Cause(
                "the update gate is the share of the new state, not of the old",
                with_weights(negated, negated),
            ),
            Cause("each gate's recurrent matrix is transposed", with_weights(recurrent, recurrent)),
            Cause("padding is skipped", with_network(_skipping)),
        ],
    )
    backwards = with_network(lambda settings, network: [Reversed(settings)] + network)
    causes += under(
        "last state",
        [
            Cause(
                "the mean of all states is taken, not the last state",
                of_kind(layers.LastStep, Mean),
            ),
            Cause("the first state is taken, not the last", of_kind(layers.LastStep, First)),
            Cause("the words are read in the opposite order", backwards),
        ],
    )
    return causes + softmax_causes(GRU)


def _padding(hp, weights, gradients, own):
    """The row of padding has no gradient."""
    words = gradients["words.weight"].copy()
    words[0] = 0
    return dict(gradients, **{"words.weight": words})


def training(rule=None):
    """Causes that change updates."""
    return [
        Cause(
            "the row of padding is not trained (a padding index)",
            with_rule(changed(rule or adam, _padding)),
            concept="embedding",
        )
    ]
