"""Mistakes in a network's layers, as changes to the layers of the NumPy module."""

import numpy as np

from common.challenge.causes import Cause, layers, only, with_network, with_weights
from common.compare.functions import bfloat16, float16, softmax, tf32
from common.networks.model import CLASSES
from common.system.modules import replaced

# Concepts of the phrase book.
LOSS, RUNNING = "loss and its reduction", "running mean and variance"


class Pointwise(layers.Layer):
    """An activation by its function and slope."""

    def __init__(self, settings, function, slope):
        super().__init__(settings)
        self.function, self.slope = function, slope

    def forward(self, x, training):
        self.x = x
        return self.function(x)

    def backward(self, g):
        return g * self.slope(self.x)


def back_through_softmax(p, g):
    """The gradient of the scores, from the gradient ``g`` of their probabilities ``p``."""
    return p * (g - (g * p).sum(-1, keepdims=True))


class Softmax(layers.Layer):
    """The softmax of scores."""

    def forward(self, x, training):
        self.out = softmax(x, -1)
        return self.out

    def backward(self, g):
        return back_through_softmax(self.out, g)


class MeanPool(layers.MaxPool):
    """The mean of each window."""

    def forward(self, x, training):
        self.x = x
        return sum(layers.views(x, self.size, self.stride)) / (self.size[0] * self.size[1])

    def backward(self, g):
        dx = np.zeros_like(self.x)
        for target in layers.views(dx, self.size, self.stride):
            target += g / (self.size[0] * self.size[1])
        return dx


class OverlappingPool(layers.MaxPool):
    """Windows of 3 with a stride of 2, padded by 1."""

    def __init__(self, settings):
        super().__init__(settings, size=3)

    def forward(self, x, training):
        pad = ((0, 0), (0, 0), (1, 1), (1, 1))
        return super().forward(np.pad(x, pad, "constant", constant_values=-np.inf), training)

    def backward(self, g):
        return super().backward(g)[:, :, 1:-1, 1:-1]


class OneSided(layers.Convolution):
    """A convolution with all of its padding at the end, or at the start."""

    def __init__(self, right, settings, end):
        super().__init__(
            settings,
            right.name,
            stride=right.stride,
            bias="bias" in right.kinds,
            input_gradient=right.input_gradient,
        )
        self.sides = (0, 2 * right.padding) if end else (2 * right.padding, 0)

    def forward(self, x, training):
        return super().forward(np.pad(x, ((0, 0), (0, 0), self.sides, self.sides)), training)

    def backward(self, g):
        dx = super().backward(g)
        first, last = self.sides
        return None if dx is None else dx[:, :, first : -last or None, first : -last or None]


def _leaky(slope):
    return (lambda x: np.where(x > 0, x, slope * x), lambda x: np.where(x > 0, 1.0, slope))


ACTIVATIONS = {
    "ReLU": (lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
    "ReLU6": (lambda x: np.clip(x, 0, 6), lambda x: 1.0 * ((x > 0) & (x < 6))),
    "leaky ReLU of slope 0.01": _leaky(0.01),
    "leaky ReLU of slope 0.2": _leaky(0.2),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "sigmoid": (layers.sigmoid, lambda x: layers.sigmoid(x) * layers.sigmoid(-x)),
    "SiLU": (
        lambda x: x * layers.sigmoid(x),
        lambda x: layers.sigmoid(x) * (1 + x * layers.sigmoid(-x)),
    ),
}


# batch normalisation


class DividedByLess(layers.BatchNorm):
    """The variance that normalises a batch is divided by n - 1, not by n."""

    def forward(self, x, training):
        if not training:
            return super().forward(x, training)
        n = x.size // x.shape[1]
        kept = self.epsilon
        # (n / (n - 1)) v + e = (n / (n - 1)) (v + e (n - 1) / n)
        self.epsilon = kept * (n - 1) / n
        super().forward(x, training)
        self.epsilon = kept
        self.scale = self.scale * np.sqrt((n - 1) / float(n))
        weight, bias = (w[:, None, None] for w in self.parameters)
        self.normal = self.normal * np.sqrt((n - 1) / float(n))
        return self.normal * weight + bias

    def backward(self, g):
        weight, bias = self.gradients
        weight[:], bias[:] = (g * self.normal).sum((0, 2, 3)), g.sum((0, 2, 3))
        n = g.size // g.shape[1]
        through = bias[:, None, None] / n + self.normal * weight[:, None, None] / (n - 1)
        return self.parameters[0][:, None, None] * self.scale * (g - through)


class NotFollowed(layers.BatchNorm):
    """The running mean and variance never change."""

    def forward(self, x, training):
        before = [w.copy() for w in self.running]
        out = super().forward(x, training)
        for w, kept in zip(self.running, before):
            w[:] = kept
        return out


def _normalising(**values):
    """``with_network`` that gives batch normalisation other constants."""

    def changed(layer, settings):
        for key, value in values.items():
            setattr(layer, key, value)
        return layer

    return each(layers.BatchNorm, changed)


def batchnorm(description):
    """Causes of wrong scores in batch normalisation."""
    causes = [
        Cause(
            "batch normalisation's epsilon is %g (%s)" % (epsilon, whose),
            _normalising(epsilon=epsilon),
            concept="batch normalisation",
        )
        for epsilon, whose in (
            (1e-3, "Keras's and TensorFlow's default"),
            (2e-5, "Chainer's default"),
            (1e-4, "Theano's and Lasagne's default"),
            (1e-8, "next to none"),
        )
    ]
    norms = {name[: -len(".mean")] for name in description.shapes if name.endswith(".mean")}
    for kind, what, value in (
        ("weight", "weights (gamma) of batch normalisation", 1),
        ("bias", "biases (beta) of batch normalisation", 0),
        ("mean", "running means", 0),
        ("variance", "running variances", 1),
    ):
        names = {"%s.%s" % (norm, kind) for norm in norms}
        make = with_weights(
            only(lambda name, w, n=names: name in n, lambda w, v=value: 0 * w + np.float32(v)),
            lambda name, w: w,
        )
        concept = "batch normalisation" if kind in ("weight", "bias") else RUNNING
        causes.append(Cause("the %s are not put in" % what, make, concept=concept))
    return causes


def following():
    """Causes of wrong batch normalisation in a training step."""
    causes = [
        Cause(
            "the running mean and variance keep %g of their value in a step, not 0.9 (%s)"
            % (kept, whose),
            _normalising(kept=kept),
            concept=RUNNING,
        )
        for kept, whose in (
            (0.1, "momentum taken for 1 - momentum"),
            (0.99, "Keras's and TensorFlow's default"),
            (0.999, "a default of TensorFlow 1"),
        )
    ]
    still, less = (of_kind(layers.BatchNorm, kind) for kind in (NotFollowed, DividedByLess))
    says = "the variance that normalises is divided by n - 1"
    return causes + [
        Cause("the running mean and variance are not updated", still, concept=RUNNING),
        Cause(says, less, concept="batch normalisation"),
    ]


# lower precision


def _rounding(layer, rounded, outputs, prediction):
    """Make ``layer`` round the numbers that it multiplies and, if ``outputs``, its results.

    prediction: whether it does so in prediction too.
    """
    forward, backward = layer.forward, layer.backward

    def at(x):
        return None if x is None else np.asarray(rounded(x), layer.dtype)

    def through(function, x, *arguments):
        exact = layer.parameters
        layer.parameters = [at(w) if outputs or not n else w for n, w in enumerate(exact)]
        try:
            out = function(at(x), *arguments)
        finally:
            layer.parameters = exact
        return at(out) if outputs else out

    def back(g):
        out = through(backward, g)
        for gradient in layer.gradients if outputs else ():
            gradient[:] = at(gradient)
        return out

    def ahead(x, training):
        return through(forward, x, training) if training or prediction else forward(x, training)

    layer.forward = ahead
    layer.backward = back
    return layer


def precision(prediction=True):
    """Causes that compute in lower precision; without ``prediction``, only in training.

    A value halfway between two numbers may be rounded either way, so a fiftieth of the error may
    remain; a tenth, if later results are rounded again.
    """
    where = "" if prediction else "in training alone, "
    kinds = (layers.Dense, layers.Convolution)
    causes = []
    for name, rounded in (("bfloat16", bfloat16), ("TF32", tf32), ("float16", float16)):
        for what, outputs in (
            ("products take numbers that are rounded to %s" % name, False),
            ("layers compute in %s (autocast, mixed precision)" % name, True),
        ):
            if name == "TF32" and outputs:
                continue  # TF32 is a format for products only
            make = each(
                kinds, lambda layer, _, r=rounded, o=outputs: _rounding(layer, r, o, prediction)
            )
            causes.append(Cause(where + what, make, 0.1 if outputs else 0.02, "precision"))
    return causes


def _one_in_precision(name):
    """Causes in which one layer computes in lower precision.

    If the bias is added after a further rounding, a part of the error remains.
    """
    for what, rounded in (("bfloat16", bfloat16), ("float16", float16)):

        def new(layer, settings, rounded=rounded):
            return _rounding(layer, rounded, True, True) if layer.name == name else layer

        make = each((layers.Dense, layers.Convolution), new)
        yield Cause(
            "only %s computes in %s (mixed precision)" % (name, what), make, 0.2, "precision"
        )


# all


def each(kind, new):
    """``with_network`` that replaces every layer of a kind by ``new(layer, settings)``."""

    def changed(settings, network):
        return [inner for layer in network for inner in _inside(layer, settings, kind, new)]

    return with_network(changed)


def of_kind(kind, other):
    """``with_network`` in which every layer of a kind is of another."""

    def changed(layer, settings):
        layer.__class__ = other
        return layer

    return each(kind, changed)


def _inside(layer, settings, kind, new):
    if isinstance(layer, layers.Residual):
        for part in ("body", "shortcut"):
            within = [_inside(inner, settings, kind, new) for inner in getattr(layer, part)]
            setattr(layer, part, [inner for replaced in within for inner in replaced])
        layer.inner = list(layer.body) + list(layer.shortcut)
    if isinstance(layer, kind):
        layer = new(layer, settings)
    return [] if layer is None else [layer]


def _at(number, kind, new):
    """``with_network`` that replaces layer ``number`` of a kind by ``new(layer, settings)``."""

    def make(module):
        def symbol(settings, hp):
            counted = iter(range(10**6))

            def changed(layer, settings):
                return new(layer, settings) if next(counted) == number else layer

            return each(kind, changed)(module).symbol(settings, hp)

        return replaced(module, symbol=symbol)

    return make


def network(description, module):
    """Causes of wrong scores in the layers."""
    built = module.symbol(module.configure("same", 1, 0), description.hp)
    right = layers.Sigmoid if "sigmoid" in description.traits else layers.ReLU
    others = {
        name: lambda _, settings, f=function, d=slope: Pointwise(settings, f, d)
        for name, (function, slope) in ACTIVATIONS.items()
        if name.lower() != right.__name__.lower()
    }
    one_by_one = "batchnorm" not in description.traits  # a residual network has too many layers
    causes = list(_layer_by_layer(built, right, others, one_by_one))
    causes += [
        Cause("the activation is %s" % name, each(right, new), concept="activation")
        for name, new in others.items()
    ]
    make = with_network(lambda settings, network: network + [right(settings)])
    causes.append(Cause("there is an activation after the last layer", make, concept="activation"))
    causes += softmax_causes(description)
    causes += _pools() if "pool" in description.traits else []
    causes += _paddings(built)
    if "batchnorm" in description.traits:
        causes += batchnorm(description)
        says = "the stride of a block is in its first convolution"
        causes.append(Cause(says, strided_first(), concept="padding"))
    return causes + precision()


def _layer_by_layer(built, right, others, one_by_one):
    """Causes in a single activation, pool or product.

    built: the network. right: the class of its activations. others: {name: makes another one}.
    Without ``one_by_one``, activations are only left out, and products are not tried.
    """
    pools = sum(isinstance(layer, layers.MaxPool) for layer in layers.every(built))
    previous, number, pool = "", 0, 0
    for layer in _in_order(built):
        if isinstance(layer, right):
            says = "there is no activation after %s" % previous
            make = _at(number, right, lambda layer, settings: None)
            yield Cause(says, make, concept="activation")
            for name, new in others.items() if one_by_one else ():
                says = "the activation after %s is %s" % (previous, name)
                yield Cause(says, _at(number, right, new), concept="activation")
            number += 1
        elif isinstance(layer, layers.MaxPool) and pools > 1:
            says = "the pool after %s takes the mean, not the maximum" % previous
            yield Cause(says, _at(pool, layers.MaxPool, _mean_pool), concept="pooling")
            pool += 1
        elif layer.name:
            previous = layer.name
            if one_by_one and isinstance(layer, (layers.Dense, layers.Convolution)):
                yield from _one_in_precision(layer.name)
        elif isinstance(layer, layers.Residual):
            previous = "the sum of %s" % layer.body[0].name.rsplit(".", 1)[0]


def _mean_pool(layer, settings):
    return MeanPool(settings)


def _pools():
    """Causes in all pools."""
    mean = each(layers.MaxPool, _mean_pool)
    yield Cause("pools take the mean, not the maximum", mean, concept="pooling")
    overlapping = each(layers.MaxPool, lambda _, settings: OverlappingPool(settings))
    yield Cause("pools overlap: windows of 3 with a stride of 2", overlapping, concept="pooling")


def _paddings(built):
    """Causes in the padding of convolutions."""
    padded = [layer for layer in layers.every(built) if getattr(layer, "padding", 0)]
    for end, where in ((True, "at the end"), (False, "in front")) if padded else ():
        make = each(layers.Convolution, lambda layer, s, end=end: OneSided(layer, s, end))
        yield Cause("convolutions are padded %s only" % where, make, concept="padding")
    if any(layer.stride > 1 for layer in padded):
        strided = each(
            layers.Convolution,
            lambda layer, s: OneSided(layer, s, True) if layer.stride > 1 else layer,
        )
        says = "convolutions with a stride are padded at the end only (same in TensorFlow, Keras)"
        yield Cause(says, strided, concept="padding")


def softmax_causes(description):
    """Causes that turn the scores of classes into probabilities."""
    make = with_network(lambda settings, network: network + [Softmax(settings)])
    causes = [Cause("there is a softmax after the last layer", make, concept=LOSS)]
    if description.task.name == CLASSES.name:
        says = "predictions are probabilities: a softmax after the last layer, only in prediction"
        causes.append(Cause(says, _probabilities, concept=LOSS))
    return causes


def are_probabilities(scores):
    """Whether each row of scores is positive and has the sum 1, up to float32's rounding."""
    if scores.ndim != 2 or scores.shape[1] < 2 or not np.isfinite(scores).all():
        return False
    return bool((scores >= 0).all() and (abs(scores.sum(1, dtype=float) - 1) < 1e-4).all())


def _probabilities(module):
    """A cause's ``make``: ``predict`` returns the softmax of the scores."""
    return replaced(module, predict=lambda model, x: softmax(module.predict(model, x), 1))


def _in_order(network):
    """All layers in the order of computation; a ``Residual`` comes after its inner layers."""
    for layer in network:
        yield from _in_order(layer.inner)
        yield layer


def strided_first():
    """``with_network`` that moves a bottleneck's stride to its first, 1x1 convolution."""

    def moved(layer, settings):
        first, _, _, second = layer.body[:4]
        first.stride, second.stride = second.stride, 1
        return layer

    return each(layers.Residual, moved)
