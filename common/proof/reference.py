"""The NumPy reference as an oracle: what a step must give in float64, and how far float32 strays.

Every tolerance is made here: the error that the same NumPy code makes in float32 is the unit, and
a framework may differ by ``MULTIPLE`` units. A framework sums in another order than NumPy does, so
its rounding errors are of that size, not equal; the mistakes worth finding are hundreds of units.
Where products take bfloat16, the reference rounds what goes in and out of each, sums in float32 as
frameworks do, and the unit is how far it is from float64. Frameworks may round a bias besides.
"""

import importlib.util
import os
import sys
from collections import namedtuple

import numpy as np

import frameworks
from common.system import modules
from common.system.files import ROOT

MULTIPLE = 16
MULTIPLES = {"float32": MULTIPLE, "bfloat16": 4}  # by what products take

EXACT, ROUNDED = "float64", "float32"

Conventions = namedtuple("Conventions", "ties adam_epsilon adam_scalars running_variance variance")
Conventions.__doc__ = """In what frameworks differ by nature; a module's settings name it.

ties: who gets the gradient of a pool's equal maxima, "one" of them, "all", or in equal parts
    "shared".
adam_epsilon: what epsilon is added to: the root of the "corrected" square, or of the "uncorrected".
adam_scalars: what Adam computes 1 - beta in: "float64", or float32 for the new gradient's "float32
    shares" or for the "float32 corrections". Of 1 - 0.999 float32 keeps five digits.
running_variance: what a batch's variance is divided by before batch normalisation keeps some of
    it: n - 1, "unbiased", n, "biased", or n - 2, where two workers keep it as "unbiased halves".
variance: what a batch's variance is computed from: the mean of the squared "differences" from the
    mean, or the mean of the "squares" less that of the mean, which costs float32 some digits.
"""
CHOICES = Conventions(
    ("one", "all", "shared"),
    ("corrected", "uncorrected"),
    ("float64", "float32 shares", "float32 corrections"),
    ("unbiased", "biased", "unbiased halves"),
    ("differences", "squares"),
)


USUAL = Conventions(*(choices[0] for choices in CHOICES))


def conventions_of(settings):
    """What a module's settings name; the usual choice where they are silent."""
    return Conventions(*(settings.get(key, usual) for key, usual in USUAL._asdict().items()))


def products(settings):
    """What products take, by a module's settings: "float32" if they are silent, or "bfloat16"."""
    return settings.get("products", "float32")


def _numpy_module(model, products):
    """The reference's own instance of a NumPy module, on NumPy even where CuPy is under test."""
    path = os.path.join(ROOT, frameworks.path(frameworks.ENVIRONMENTS["numpy"], model.file))
    spec = importlib.util.spec_from_file_location("common.proof.reference_" + model.name, path)
    module = importlib.util.module_from_spec(spec)
    loaded = [name for name in sys.modules if name.startswith("frameworks.numpy.")]
    under_test = {name: sys.modules.pop(name) for name in loaded}
    chosen = os.environ.pop("ARRAY_MODULE", None)
    try:
        spec.loader.exec_module(module)
        if products == "bfloat16":
            mixed = importlib.import_module("frameworks.numpy.bf16")
            module = modules.replaced(module, **mixed.functions(module))
    finally:
        for name in [name for name in sys.modules if name.startswith("frameworks.numpy.")]:
            del sys.modules[name]
        sys.modules.update(under_test)
        if chosen is not None:
            os.environ["ARRAY_MODULE"] = chosen
    return module


class Reference:
    """The reference of one model at one precision, ``EXACT`` or ``ROUNDED``, as ``Conventions``.

    scalars: the precision of Adam's corrections, where they are named "float32 corrections".
    products: what products take, "bfloat16" or the same as the rest.
    """

    def __init__(
        self, model, precision, threads, conventions=USUAL, scalars=EXACT, products="float32"
    ):
        self.module = _numpy_module(model, products)
        settings = self.module.configure("same", threads, 0)
        as_settings = conventions._asdict()
        self.settings = dict(settings, precision=precision, scalars=scalars, **as_settings)

    def model(self, hp, weights, before=None):
        """A model with ``weights`` put in place.

        With ``before``, the weights a step ago, its velocity is the way that they have come since.
        """
        model = self._build(hp, weights)
        if before is not None:
            moved = {name: np.subtract(w, before[name], dtype=float) for name, w in weights.items()}
            _, _, optimizer = model
            optimizer.velocity = self._build(hp, moved)[2].parameters
        return model

    def _build(self, hp, weights):
        network = self.module.symbol(self.settings, hp)
        return self.module.loss(network, self.settings, hp, weights)

    def scores(self, hp, weights, images):
        """Scores of ``images``, a row for each."""
        x, _ = self.module.load(images, None, self.settings)
        return self.module.predict(self.model(hp, weights), x)


class GivenMask:
    """The random source of a ``Dropout`` layer that is given its mask, as booleans (n, ...).

    first: the network's first layer, which lays images out, where their layout is not NCHW.
    """

    def __init__(self, kept, first):
        self.kept, self.first = kept.astype(float), first

    def random_sample(self, shape):
        """1 for what is kept, or 0."""
        if self.kept.shape == shape:
            return self.kept
        return type(self.first)(self.first.settings).forward(self.kept, training=True)


def give_masks(network, masks):
    """Let the dropout layers of a reference network apply these masks, {number: kept (n, ...)}."""
    layers = [layer for layer in network if type(layer).__name__ == "Dropout"]
    for number, layer in enumerate(layers, 1):
        layer.random = GivenMask(masks[number], network[0])


def applicable(model):
    """The names of the ``Conventions`` that concern a model."""
    adam = ["adam_epsilon", "adam_scalars"] if "adam" in model.traits else []
    state = ["running_variance", "variance"] if "batchnorm" in model.traits else []
    return (["ties"] if "pool" in model.traits else []) + adam + state


def distance(ours, theirs):
    """Root mean square difference of two arrays, in float64."""
    difference = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    return float(np.sqrt(np.mean(difference**2)))


def pair(model, threads, conventions=USUAL, products="float32"):
    """The reference that a framework is compared with, and one whose distance from it is the unit.

    That in float64 and that in float32; or that with products of bfloat16 and that in float64.
    """
    exact = Reference(model, EXACT, threads, conventions)
    rounded = Reference(model, ROUNDED, threads, conventions, products=products)
    return [exact, rounded] if products == "float32" else [rounded, exact]


def unit(exact, rounded):
    """The float32 yardstick: how far the reference's ``rounded`` result is from its ``exact`` one.

    Never less than float32's own spacing at the values' size, which no float32 result can beat.
    """
    size = float(np.sqrt(np.mean(np.square(exact, dtype=np.float64))))
    return max(distance(exact, rounded), float(np.finfo(np.float32).eps) * size)
