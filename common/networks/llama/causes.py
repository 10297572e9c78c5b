"""Causes for the Llama, as changes to the NumPy module."""

import numpy as np

from common.challenge.causes import Cause, layers, only, transformer, under, with_weights
from common.challenge.networks import each
from common.compare.functions import bfloat16, gelu
from common.networks.gpt import causes as shared
from common.networks.llama import HEADS, KEY_HEADS, SHAPES
from common.system.modules import replaced

# Rotary positions.


class Turned:
    """Mixed into an attention layer: ``turn(cosines, sines)`` replaces both."""

    def angles(self, x):
        return self.turn(*super().angles(x))


class Backwards(Turned):
    """The angles have the wrong sign."""

    def turn(self, cosines, sines):
        return cosines, -sines


class Exchanged(Turned):
    """Sines for cosines."""

    def turn(self, cosines, sines):
        return sines, cosines


class Unturned(Turned):
    """Nothing is rotated."""

    def turn(self, cosines, sines):
        return np.ones_like(cosines), np.zeros_like(sines)


def frequencies(width, base=10000.0):
    """How fast each pair of features turns."""
    return base ** -(np.arange(0, width, 2) / float(width))


class Angled:
    """Mixed into an attention layer: other angles."""

    def angles(self, x):
        first = self.past.length
        places = np.arange(first, first + x.shape[2], dtype=np.float64)
        angles = np.float64(self.angled(places, x.shape[-1]))
        return np.cos(angles).astype(self.dtype), np.sin(angles).astype(self.dtype)


class RoundedAngles(Angled):
    """The angles are bfloat16."""

    def angled(self, places, width):
        return bfloat16(np.multiply.outer(places, frequencies(width)))


class RoundedFactors(Angled):
    """Places and frequencies are bfloat16, and so is their product."""

    def angled(self, places, width):
        return bfloat16(np.multiply.outer(bfloat16(places), bfloat16(frequencies(width))))


def stretched(factor):
    """A mixin whose places are divided by ``factor``, as a linear ``rope_scaling`` does."""

    class Stretched(Angled):
        def angled(self, places, width):
            return np.multiply.outer(places / factor, frequencies(width))

    return Stretched


class OneTooFew(Angled):
    """The exponent is divided by d / 2 - 1, not by d / 2."""

    def angled(self, places, width):
        half = width // 2
        return np.multiply.outer(places, 10000.0 ** -(np.arange(half) / (half - 1.0)))


def based(base):
    """A mixin with another base of the angles."""

    class Based(Angled):
        def angled(self, places, width):
            return np.multiply.outer(places, frequencies(width, base))

    return Based


def _rotated(name, w):
    return name.endswith(("attention.q.weight", "attention.k.weight"))


def _pairs(neighbours):
    """A change of each head's features: halves become neighbours, or neighbours halves."""

    def change(w):
        half = w.shape[1] // HEADS // 2
        pair = (half, 2) if neighbours else (2, half)
        return w.reshape((-1,) + pair + w.shape[1:]).swapaxes(1, 2).reshape(w.shape)

    return change


def rotary():
    """Causes of wrong scores in rotary positions."""
    made = [
        Cause(
            "neighbouring features are rotated, not halves (or the weights are not permuted)",
            with_weights(only(_rotated, _pairs(True)), only(_rotated, _pairs(False))),
        ),
        Cause("queries and keys are rotated backwards", shared.mixed(Backwards)),
        Cause("sines and cosines of the rotation are exchanged", shared.mixed(Exchanged)),
        Cause("queries and keys are not rotated", shared.mixed(Unturned)),
        Cause("the angles of the rotation are rounded to bfloat16", shared.mixed(RoundedAngles)),
        Cause(
            "places, frequencies and angles of the rotation are rounded to bfloat16",
            shared.mixed(RoundedFactors),
        ),
        Cause(
            "the exponents of the rotation are divided by d / 2 - 1, not by d / 2",
            shared.mixed(OneTooFew),
        ),
    ]
    for base in (500000, 1000000, 100000, 5000):
        says = "the base of the rotation is %d, not 10000" % base
        made.append(Cause(says, shared.mixed(based(float(base)))))
    for factor in (2, 4, 8):
        says = "the places of the rotation are divided by %d (linear scaling)" % factor
        made.append(Cause(says, shared.mixed(stretched(factor))))
    return under("rotary positions", made)


# Heads, normalisations, MLP.


def _tiled(weights_of_heads):
    """Query heads in the order in which tiled keys would find them, and back: its own inverse."""
    group = HEADS // KEY_HEADS
    order = np.arange(HEADS).reshape(KEY_HEADS, group).T.ravel()
    return weights_of_heads.reshape((HEADS, -1) + weights_of_heads.shape[1:])[order].reshape(
        weights_of_heads.shape
    )


def _tile(name, w):
    if name.endswith("attention.q.weight"):
        return np.ascontiguousarray(_tiled(w))
    if name.endswith("attention.out.weight"):
        return np.ascontiguousarray(_tiled(w.T).T)
    return w


class Centred:
    """Mixed into RMS normalisation: the mean is subtracted first, as in layer normalisation."""

    def forward(self, x, training):
        return super().forward(x - x.mean(-1, keepdims=True), training)

    def backward(self, g):
        g = super().backward(g)
        return g - g.mean(-1, keepdims=True)


def _norm(name, w):
    return "norm" in name


class GatedBy(transformer.SwiGLU):
    """The gate has another activation."""

    def forward(self, x, training):
        gate, up, down = self.parameters
        self.x, self.gate = x, transformer.product(x, gate.T)
        self.up = transformer.product(x, up.T)
        self.opened = self.function(self.gate).astype(self.dtype, copy=False)
        self.hidden = self.opened * self.up
        return transformer.product(self.hidden, down.T)

    def backward(self, g):
        gate, up, down = self.parameters
        hidden = transformer.product(g, down)
        slope = self.slope(self.gate).astype(self.dtype, copy=False)
        by_gate, by_up = hidden * self.up * slope, hidden * self.opened
        pairs = ((by_gate, self.x), (by_up, self.x), (g, self.hidden))
        for gradient, (left, right) in zip(self.gradients, pairs):
            transformer.product_gradient(left, right, gradient)
        return transformer.product(by_gate, gate) + transformer.product(by_up, up)


def _gelu_slope(x):
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    tanh = np.tanh(inner)
    by_inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return ((1 + tanh) + x * (1 - tanh**2) * by_inner) / 2


def gated_by(function, slope):
    """``with_network`` with another activation of the gate."""

    def changed(layer, settings):
        layer.__class__ = GatedBy
        layer.function, layer.slope = function, slope
        return layer

    return each(transformer.SwiGLU, changed)


def _sigmoid_slope(x):
    return layers.sigmoid(x) * (1 - layers.sigmoid(x))


GATES = (
    ("the exact GELU, by erf", *shared.GELUS[0][1:]),
    ("the GELU by a tanh", gelu, _gelu_slope),
    ("ReLU", *shared.GELUS[3][1:]),
    ("a sigmoid", layers.sigmoid, _sigmoid_slope),
)


def _gate_and_up(weights):
    swapped = dict(weights)
    for name in weights:
        if name.endswith("mlp.gate.weight"):
            up = name.replace("gate", "up")
            swapped[name], swapped[up] = weights[up], weights[name]
    return swapped


def _exchanged(module):
    """A cause's ``make``: the SiLU is on the other of the two products."""

    def loss(network, settings, hp, weights):
        return module.loss(network, settings, hp, _gate_and_up(weights))

    def weights(model):
        return _gate_and_up(module.weights(model))

    return replaced(module, loss=loss, weights=weights)


def network():
    """Causes that change the forward pass."""
    tiled = with_weights(_tile, _tile)
    says = "key and value heads are tiled (0 1 0 1), not repeated (0 0 1 1)"
    causes = [Cause(says, tiled, concept="queries, keys, values")]
    causes += rotary() + shared.attention()
    norms = "RMS normalisation"
    one_more = with_weights(
        only(_norm, lambda w: np.float32(w + 1)), only(_norm, lambda w: np.asarray(w - 1, w.dtype))
    )
    causes += shared.normalisations(transformer.RMSNorm, norms) + under(
        norms,
        [
            Cause("the normalisations multiply by 1 + weight", one_more),
            Cause(
                "the normalisations subtract the mean (layer normalisation)",
                shared.mixed(Centred, transformer.RMSNorm),
            ),
        ],
    )
    gates = [
        Cause("the gate's activation is %s, not SiLU" % n, gated_by(*made)) for n, *made in GATES
    ]
    gates.append(Cause("gate and up of every block are exchanged", _exchanged))
    causes += under("SwiGLU", gates) + shared.embedding() + shared.of_every_block(SHAPES)
    return causes + shared.rounded_matrices()


def training(rule=None):
    """Causes that change updates: none but those of every network."""
    return []


class Restarted:
    """Mixed into an attention layer: the first of some new tokens is at place 0."""

    def angles(self, x):
        kept, self.past = self.past, transformer.Past()
        try:
            return super().angles(x)
        finally:
            self.past = kept


def generation():
    """Causes of wrong generated tokens."""
    says = (
        "the rotation of generated tokens begins at place 0: it is not offset by the cache's length"
    )
    made = Cause(says, shared.mixed(Restarted), concept="cache of keys and values")
    return shared.generating() + [made]
