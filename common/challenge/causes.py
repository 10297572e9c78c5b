"""What goes wrong in ports, as changes to the NumPy module that make it go wrong in the same way.

Each cause takes a module with the contract's functions and returns one that makes the mistake, so
that causes can be stacked.
"""

import importlib
import types
from collections import namedtuple

import numpy as np

from common.host import modules
from common.proof import contract

# The reference's own layers; by name, because nothing in common/ imports a framework. Loading a
# module first settles which array library they are imported with.
modules.load("numpy")
layers = importlib.import_module("frameworks.numpy.layers")

Cause = namedtuple("Cause", "says make")
Cause.__doc__ = """A mistake that may be what an answer shows.

says: what it is, and who makes it.
make: takes a right module and returns one that makes this mistake.
"""


def replaced(module, **functions):
    """``module`` with some functions replaced; ``rule``, if it has one, is its optimiser's."""
    kept = list(contract.SIGNATURES) + (["rule"] if hasattr(module, "rule") else [])
    return types.SimpleNamespace(
        **dict({name: getattr(module, name) for name in kept}, **functions)
    )


def plain(description, module):
    """``module`` with a network of a layer for each step, which the CNN's own fuses for speed."""
    if description.name != "cnn":
        return module

    def symbol(settings, hp):
        random = np.random.RandomState(settings["seed"])
        drop1, drop2, drop3 = (layers.Dropout(settings, rate, random) for rate in hp.dropout)
        return [
            layers.Convolution(settings, "conv1", padding=1, input_gradient=False),
            layers.ReLU(settings),
            layers.Convolution(settings, "conv2", padding=1),
            layers.MaxPool(settings),
            layers.ReLU(settings),
            drop1,
            layers.Convolution(settings, "conv3", padding=1),
            layers.ReLU(settings),
            layers.Convolution(settings, "conv4", padding=1),
            layers.MaxPool(settings),
            layers.ReLU(settings),
            drop2,
            layers.Flatten(settings),
            layers.Dense(settings, "dense1"),
            layers.ReLU(settings),
            drop3,
            layers.Dense(settings, "dense2"),
        ]

    return replaced(module, symbol=symbol)


# images


def with_images(change):
    """A cause's ``make``: the images (n, channels, height, width) are changed."""

    def make(module):
        def load(images, labels, settings):
            x, y = module.load(images, labels, settings)
            return np.ascontiguousarray(change(x)), y

        return replaced(module, load=load)

    return make


MEAN, DEVIATION = (
    np.reshape(values, (1, 3, 1, 1)) for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
)


def images(description):
    """Causes in the images."""
    found = [
        Cause(
            "height and width of the images are exchanged (axes 1 and 3 swapped for NHWC)",
            with_images(lambda x: x.swapaxes(2, 3)),
        ),
        Cause("the images are 0 to 255, not 0 to 1", with_images(lambda x: x * 255)),
        Cause("the images are divided by 255 twice", with_images(lambda x: x / 255)),
        Cause("the images are put between -1 and 1", with_images(lambda x: 2 * x - 1)),
    ]
    if description.observation[0] == 3:
        channels_last = with_images(
            lambda x: x.reshape(len(x), *x.shape[2:], 3).transpose(0, 3, 1, 2)
        )
        found += [
            Cause("the images' memory is read as NHWC, without transposing", channels_last),
            Cause("the images are BGR, not RGB (OpenCV)", with_images(lambda x: x[:, ::-1])),
            Cause(
                "the images are standardised with ImageNet's mean and deviation",
                with_images(lambda x: (x - MEAN) / DEVIATION),
            ),
        ]
    return found


def with_labels(change):
    """A cause's ``make``: the labels (n,) are changed; used in training alone."""

    def make(module):
        def load(images, labels, settings):
            x, y = module.load(images, labels, settings)
            return x, change(y)

        return replaced(module, load=load)

    return make


# weights


def with_weights(put, take):
    """A cause's ``make``: weights are changed on the way in, and back on the way out."""

    def make(module):
        def loss(network, settings, hp, weights):
            return module.loss(network, settings, hp, {n: put(n, w) for n, w in weights.items()})

        def weights(model):
            return {n: take(n, w) for n, w in module.weights(model).items()}

        return replaced(module, loss=loss, weights=weights)

    return make


def only(chosen, change):
    """``change`` for the tensors that are ``chosen``."""

    def changed(name, w):
        return np.ascontiguousarray(change(w)) if chosen(name, w) else w

    return changed


def both_ways(chosen, change):
    """``with_weights`` of a change that undoes itself."""
    return with_weights(only(chosen, change), only(chosen, change))


def kernel(name, w):
    """Whether a tensor is a convolution's kernel."""
    return w.ndim == 4


def weights(description, module):
    """Causes in the weights on their way into the port."""
    found = []
    shapes = description.shapes
    if "convolution" in description.traits:
        found += [
            Cause(
                "kernels are flipped: true convolution (Theano's filter_flip=True)",
                both_ways(kernel, lambda w: w[:, :, ::-1, ::-1]),
            ),
            Cause(
                "height and width of the kernels are exchanged",
                both_ways(kernel, lambda w: w.swapaxes(2, 3)),
            ),
            Cause(
                "kernels are reshaped to (height, width, in, out), where they must be transposed",
                with_weights(only(kernel, _hwio), only(kernel, _back_from_hwio)),
            ),
        ]
    for name, shape in shapes.items():
        if len(shape) == 2:
            found.append(
                Cause(
                    "%s is reshaped to (in, out), where it must be transposed" % name,
                    with_weights(
                        only(_is(name), lambda w: w.reshape(w.shape[::-1]).T),
                        only(_is(name), lambda w: w.T.reshape(w.shape)),
                    ),
                )
            )
        if len(shape) > 1 and shape[0] == shape[1]:
            what = "in and out of %s are exchanged" % name
            found.append(Cause(what, both_ways(_is(name), lambda w: w.swapaxes(0, 1))))
        if len(shape) == 1:
            found.append(Cause("%s is left out, or not put in" % name, _without_bias(_is(name))))
    every_bias = [name for name in shapes if name.endswith(".bias")]
    found.append(Cause("no layer has a bias", _without_bias(lambda name, w: name in every_bias)))
    return found + _flattened(description, module)


def _is(name):
    return lambda other, w: other == name


def _hwio(w):
    out, inside, height, width = w.shape
    return w.reshape(height, width, inside, out).transpose(3, 2, 0, 1)


def _back_from_hwio(w):
    return w.transpose(2, 3, 1, 0).reshape(w.shape)


def _without_bias(chosen):
    return with_weights(only(chosen, np.zeros_like), lambda name, w: w)


def _flattened(description, module):
    """Causes in the order of the features before the first dense layer."""
    settings = dict(module.configure("same", 1, 0), precision="float64")
    network = module.symbol(settings, description.hp)
    module.loss(network, settings, description.hp, description.initialize(description.shapes, 0))
    x, name, shape = np.zeros((1,) + description.observation), "", ()
    for layer in network:
        if isinstance(layer, layers.Flatten):
            shape = x.shape[1:]
        elif shape and not name:
            name = layer.name
        x = layer.forward(x, training=False)
    found = []
    for letters, axes in (("H, W, C", (1, 2, 0)), ("W, H, C", (2, 1, 0)), ("C, W, H", (0, 2, 1))):
        if len(shape) == 3 and max(shape) > 1:
            found.append(_flatten(name + ".weight", letters, shape, axes))
    return found


def _flatten(name, letters, shape, axes):
    features = np.arange(np.prod(shape)).reshape(shape).transpose(axes).ravel()
    # The port's k-th feature, in its own order, meets the weight of the canonical k-th.
    back = np.argsort(features)
    return Cause(
        "the layer of %s sees its features in the order %s, not C, H, W (channels-last flatten)"
        % (name, letters),
        with_weights(
            only(_is(name), lambda w: w[:, back]), only(_is(name), lambda w: w[:, features])
        ),
    )


# network


class Pointwise(layers.Layer):
    """An activation that the reference does not have."""

    def __init__(self, settings, function, slope):
        super().__init__(settings)
        self.function, self.slope = function, slope

    def forward(self, x, training):
        self.x = x
        return self.function(x)

    def backward(self, g):
        return g * self.slope(self.x)


def softmax(scores):
    """Probabilities (n, classes)."""
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def back_through_softmax(p, g):
    """The gradient of the scores, of that of their probabilities."""
    return p * (g - (g * p).sum(1, keepdims=True))


class Softmax(layers.Layer):
    """Of scores."""

    def forward(self, x, training):
        self.out = softmax(x)
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
    """Windows of 3 with a stride of 2, padded by 1 in front."""

    def __init__(self, settings):
        super().__init__(settings, size=3)

    def forward(self, x, training):
        pad = ((0, 0), (0, 0), (1, 1), (1, 1))
        return super().forward(np.pad(x, pad, "constant", constant_values=-np.inf), training)

    def backward(self, g):
        return super().backward(g)[:, :, 1:-1, 1:-1]


class OneSided(layers.Convolution):
    """All of the padding at the end, or in front."""

    def __init__(self, right, settings, end):
        super().__init__(
            settings, right.name, stride=right.stride, input_gradient=right.input_gradient
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


def with_network(change):
    """A cause's ``make``: ``change(settings, layers)`` gives the layers that are used instead."""

    def make(module):
        def symbol(settings, hp):
            return change(settings, module.symbol(settings, hp))

        return replaced(module, symbol=symbol)

    return make


def _each(kind, new):
    """``with_network`` of a change to every layer of a kind."""
    return with_network(
        lambda settings, network: [
            new(layer, settings) if isinstance(layer, kind) else layer for layer in network
        ]
    )


def network(description, module):
    """Causes in the layers."""
    built = module.symbol(module.configure("same", 1, 0), description.hp)
    activation = layers.Sigmoid if "sigmoid" in description.traits else layers.ReLU
    own = activation.__name__.lower()
    found, behind = [], ""
    for place, layer in enumerate(built):
        behind = layer.name or behind
        if isinstance(layer, activation):
            found.append(
                Cause(
                    "there is no activation behind %s" % behind,
                    with_network(lambda settings, network, at=place: _cut(network, at)),
                )
            )
    for name, (function, slope) in ACTIVATIONS.items():
        if name.lower() != own:
            make = _each(activation, lambda _, s, f=function, d=slope: Pointwise(s, f, d))
            found.append(Cause("the activation is %s" % name, make))
    for what, kind in (("an activation", activation), ("a softmax", Softmax)):
        make = with_network(lambda settings, network, kind=kind: network + [kind(settings)])
        found.append(Cause("there is %s behind the last layer" % what, make))
    if "pool" in description.traits:
        found += [
            Cause(
                "pools take the mean, not the maximum",
                _each(layers.MaxPool, lambda _, settings: MeanPool(settings)),
            ),
            Cause(
                "pools overlap: windows of 3 with a stride of 2",
                _each(layers.MaxPool, lambda _, settings: OverlappingPool(settings)),
            ),
        ]
    if any(getattr(layer, "padding", 0) for layer in built):
        for end, where in ((True, "at the end"), (False, "in front")):
            make = _each(layers.Convolution, lambda one, s, end=end: OneSided(one, s, end))
            found.append(Cause("convolutions are padded %s only" % where, make))
    return found


def _cut(network, place):
    return network[:place] + network[place + 1 :]


def forward(description, module):
    """What may change the scores."""
    return images(description) + weights(description, module) + network(description, module)
