"""Mistakes of ports, as changes to the NumPy module that reproduce them.

Each cause takes a module with the contract's functions and returns one with the mistake, so causes
can be stacked.
"""

import importlib
import itertools
from collections import OrderedDict, namedtuple

import numpy as np

from common.system import modules
from common.system.modules import replaced

# The reference's layers; by name, because nothing in common/ imports a framework. Loading a module
# first determines the array library of these imports.
modules.load("numpy")
layers = importlib.import_module("frameworks.numpy.layers")
strips = importlib.import_module("frameworks.numpy.strips")
transformer = importlib.import_module("frameworks.numpy.transformer")

LAYOUT, PUT_IN = "weight layout", "initial weights put in"  # concepts of the phrase book

Cause = namedtuple("Cause", "says make leaves concept bounds_loss convention")
Cause.__new__.__defaults__ = (0.0, None, False, None)
Cause.__doc__ = """A mistake that may explain an answer.

says: the mistake in words, with the frameworks whose default it is.
make: takes a correct module, returns one with the mistake.
leaves: the share of the error that may remain, if the port's mistake may differ slightly.
concept: the phrase or the row of the page with each framework's correct line, or None.
bounds_loss: whether the mistake bounds the loss; a bound is then no sign of another mistake.
convention: (name, choice) if it is no mistake but another convention, as ``--named`` takes it.
"""


def under(concept, causes):
    """The causes with this concept of the page."""
    return [cause._replace(concept=concept) for cause in causes]


def plain(description, module):
    """``module`` with a layer for each operation; the CNN's own layers are fused for speed."""
    if description.name != "cnn":
        return module

    def symbol(settings, hp):
        return list(strips.unfused(settings, module.symbol(settings, hp)))

    return replaced(module, symbol=symbol)


# images


def with_images(change):
    """A cause's ``make`` that changes the images (n, channels, height, width)."""

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
    causes = [
        Cause(
            "height and width of the images are exchanged (axes 1 and 3 swapped for NHWC)",
            with_images(lambda x: x.swapaxes(2, 3)),
        ),
        Cause("the images are 0 to 255, not 0 to 1", with_images(lambda x: x * 255)),
        Cause("the images are divided by 255 twice", with_images(lambda x: x / 255)),
        Cause("the images are scaled to -1 to 1", with_images(lambda x: 2 * x - 1)),
    ]
    if description.observation[0] == 3:
        channels_last = with_images(
            lambda x: x.reshape(len(x), *x.shape[2:], 3).transpose(0, 3, 1, 2)
        )
        causes += [
            Cause("the images' memory is read as NHWC, without transposing", channels_last),
            Cause("the images are BGR, not RGB (OpenCV)", with_images(lambda x: x[:, ::-1])),
            Cause(
                "the images are standardised with ImageNet's mean and deviation",
                with_images(lambda x: (x - MEAN) / DEVIATION),
            ),
        ]
    return under("layout of images", causes)


def with_targets(change):
    """A cause's ``make`` that changes the targets, which only training uses."""

    def make(module):
        def load(observations, targets, settings):
            x, y = module.load(observations, targets, settings)
            return x, change(y)

        return replaced(module, load=load)

    return make


# weights


def with_weights(put, take):
    """A cause's ``make`` that changes weights on the way in, and back on the way out."""

    def make(module):
        def loss(network, settings, hp, weights):
            return module.loss(network, settings, hp, {n: put(n, w) for n, w in weights.items()})

        def weights(model):
            return {n: take(n, w) for n, w in module.weights(model).items()}

        return replaced(module, loss=loss, weights=weights)

    return make


def only(chosen, change):
    """``change``, but only of tensors for which ``chosen(name, w)`` is true."""

    def changed(name, w):
        return np.array(change(w), order="C") if chosen(name, w) else w

    return changed


def parted(change, *parts):
    """A change of weights whose first axis is split into ``parts``, for ``only``."""
    return lambda w: change(w.reshape(parts + w.shape[1:])).reshape(w.shape)


def interleaved(*parts):
    """A change that exchanges the first two of these parts."""
    return parted(lambda w: w.swapaxes(0, 1), *parts)


def in_other_orders(says, names, chosen, *parts):
    """A cause for each wrong order of the named parts of the ``chosen`` weights' first axis."""
    right = tuple(range(len(names)))
    for order in itertools.permutations(right):
        if order != right:
            there, back = (
                only(chosen, parted(lambda w, places=list(places): w[places], *parts))
                for places in (order, np.argsort(order))
            )
            yield Cause(says % ", ".join(names[part] for part in order), with_weights(back, there))


def both_ways(chosen, change):
    """``with_weights`` with a change that is its own inverse."""
    return with_weights(only(chosen, change), only(chosen, change))


def kernel(name, w):
    """Whether a tensor is a convolution's kernel."""
    return w.ndim == 4


def weights(description, module):
    """Causes in the weights on their way into the port."""
    causes, shapes = [], description.shapes
    if "convolution" in description.traits:
        causes += [
            Cause(
                "kernels are flipped: true convolution (Theano's filter_flip=True)",
                both_ways(kernel, lambda w: w[:, :, ::-1, ::-1]),
                concept=LAYOUT,
            ),
            Cause(
                "height and width of the kernels are exchanged",
                both_ways(kernel, lambda w: w.swapaxes(2, 3)),
                concept=LAYOUT,
            ),
            Cause(
                "kernels are reshaped to (height, width, in, out), where they must be transposed",
                with_weights(only(kernel, _hwio), only(kernel, _back_from_hwio)),
                concept=LAYOUT,
            ),
        ]
    for name, shape in shapes.items():
        if len(shape) == 2 and 1 not in shape:
            says = "%s is reshaped to (in, out), where it must be transposed" % name
            make = with_weights(
                only(_is(name), lambda w: w.reshape(w.shape[::-1]).T),
                only(_is(name), lambda w: w.T.reshape(w.shape)),
            )
            causes.append(Cause(says, make, concept=LAYOUT))
        if len(shape) > 1 and shape[0] == shape[1]:
            says = "in and out of %s are exchanged" % name
            make = both_ways(_is(name), lambda w: w.swapaxes(0, 1))
            causes.append(Cause(says, make, concept=LAYOUT))
        if len(shape) == 1 and name.rsplit(".", 1)[0] + ".variance" not in shapes:
            says = "%s is left out, or not put in" % name
            causes.append(Cause(says, _without_bias(_is(name)), concept=PUT_IN))
    make = _without_bias(lambda name, w: name.endswith(".bias"))
    causes.append(Cause("no layer has a bias", make, concept=PUT_IN))
    if "batchnorm" not in description.traits:  # a residual net has too many tensors of one shape
        causes += _exchanged(shapes)
    return causes + _flattened(description, module)


def _exchanged(shapes):
    """Causes in which two tensors of the same shape are swapped."""

    def make(first, second):
        def change(weights):
            return dict(weights, **{first: weights[second], second: weights[first]})

        def swapped(module):
            def loss(network, settings, hp, weights):
                return module.loss(network, settings, hp, change(weights))

            return replaced(module, loss=loss, weights=lambda model: change(module.weights(model)))

        return swapped

    before = {}
    for name, shape in shapes.items():
        if shape in before:
            pair = before[shape], name
            yield Cause("%s and %s are exchanged" % pair, make(*pair), concept=PUT_IN)
        before[shape] = name


def came_back(given, back):
    """Causes that show in the weights that come back before any step; both are {tensor: array}.

    [] if all changed tensors came back as zeros: another cause says that they are left out.
    """
    changed = OrderedDict()
    for name, w in given.items():
        if name in back and not np.array_equal(w, back[name]):
            changed[name] = np.float64(back[name]) - w
    if not any(back[name].any() for name in changed):
        return []
    added = {name: float(difference.mean()) for name, difference in changed.items()}
    constants = set("%.3g" % value for value in added.values())
    even = all(np.ptp(changed[n]) <= 1e-3 * abs(value) for n, value in added.items())
    if even and len(constants) == 1:
        says = "%s begin%s %s too high" % (_listed(changed), "s" * (len(changed) == 1), *constants)
        put = only(lambda n, w: n in changed, lambda w: w + np.float32(next(iter(added.values()))))
        return [Cause(says, with_weights(put, lambda name, w: w), concept=PUT_IN)]

    def put_back(name, w):
        return back[name] if name in changed and np.array_equal(w, given[name]) else w

    says = "other weights than those given are in %s" % _listed(changed)
    return [Cause(says, with_weights(put_back, lambda name, w: w), concept=PUT_IN)]


def _listed(names):
    names = list(names)
    return ", ".join(names[:3]) + (" and %d more" % (len(names) - 3) if len(names) > 3 else "")


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
    """Causes in the order of the features before the first dense layer, if there is a Flatten."""
    if len(description.observation) == 1:  # numbers of words or characters
        return []
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
    causes = []
    for letters, axes in (("H, W, C", (1, 2, 0)), ("W, H, C", (2, 1, 0)), ("C, W, H", (0, 2, 1))):
        if len(shape) == 3 and max(shape) > 1:
            causes.append(_flatten(name + ".weight", letters, shape, axes))
    return causes


def _flatten(name, letters, shape, axes):
    features = np.arange(np.prod(shape)).reshape(shape).transpose(axes).ravel()
    # The port's k-th feature, in its own order, is multiplied by the canonical k-th weight.
    back = np.argsort(features)
    return Cause(
        "the layer of %s sees its features in the order %s, not C, H, W (channels-last flatten)"
        % (name, letters),
        with_weights(
            only(_is(name), lambda w: w[:, back]), only(_is(name), lambda w: w[:, features])
        ),
        concept="flatten order",
    )


# network


def with_network(change):
    """A cause's ``make`` that replaces the layers by ``change(settings, layers)``."""

    def make(module):
        def symbol(settings, hp):
            return change(settings, module.symbol(settings, hp))

        return replaced(module, symbol=symbol)

    return make
