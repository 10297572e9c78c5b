"""The NumPy reference: correct values in float64, and the error of float32.

All tolerances come from here. The unit is the error of the same NumPy code in float32, and a
framework may be off by ``MULTIPLE`` units. Frameworks sum in another order than NumPy, so their
rounding errors have the same size but not the same values; real mistakes are hundreds of units.
With bfloat16 products, the reference rounds the factors and results of each product and sums in
float32, as frameworks do; the unit is its distance from float64. Frameworks may round a bias too.
With TF32 products, it cuts the factors, which is the most that TF32 may be off.
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
MULTIPLES = {"float32": MULTIPLE, "bfloat16": 4, "tf32": MULTIPLE}  # by the precision of products

EXACT, ROUNDED = "float64", "float32"

Conventions = namedtuple("Conventions", "ties adam_epsilon adam_scalars running_variance variance")
Conventions.__doc__ = """Choices in which frameworks may differ; a module's settings name its own.

ties: who gets the gradient of equal maxima in a pool: "one" of them, "all" of them in full, or each
    an equal part, "shared".
adam_epsilon: epsilon is added to the root of the "corrected" or of the "uncorrected" mean square.
adam_scalars: the precision in which Adam computes 1 - beta: "float64", or float32 for the new
    gradient's share, "float32 shares", or for the bias corrections: for beta**t as a power,
    "float32 corrections", or as a product over the steps, "float32 products". In float32, 1 - 0.999
    has five correct digits.
running_variance: the divisor of the batch variance that enters the running variance: n - 1,
    "unbiased"; n, "biased"; or n - 2, "unbiased halves", for two workers with half a batch each.
variance: the formula for a batch's variance: the mean of squared "differences" from the mean, or
    the mean of "squares" minus the square of the mean, which loses digits in float32.
"""
CHOICES = Conventions(
    ("one", "all", "shared"),
    ("corrected", "uncorrected"),
    ("float64", "float32 shares", "float32 corrections", "float32 products"),
    ("unbiased", "biased", "unbiased halves"),
    ("differences", "squares"),
)


USUAL = Conventions(*(choices[0] for choices in CHOICES))


def conventions_of(settings):
    """The conventions that a module's settings name, with the usual ones as defaults."""
    return Conventions(*(settings.get(key, usual) for key, usual in USUAL._asdict().items()))


def products(settings):
    """By a module's settings: "float32", which is the default, "bfloat16" or "tf32"."""
    return settings.get("products", "float32")


def _numpy_module(model, products):
    """A separate instance of a NumPy module, which runs on NumPy even when CuPy is under test."""
    path = os.path.join(ROOT, frameworks.path(frameworks.ENVIRONMENTS["numpy"], model.file))
    spec = importlib.util.spec_from_file_location("common.proof.reference_" + model.name, path)
    module = importlib.util.module_from_spec(spec)
    loaded = [name for name in sys.modules if name.startswith("frameworks.numpy.")]
    under_test = {name: sys.modules.pop(name) for name in loaded}
    chosen = os.environ.pop("ARRAY_MODULE", None)
    try:
        spec.loader.exec_module(module)
        for lane, precision in modules.MIXED.items():
            if precision == products:
                mixed = importlib.import_module("frameworks.numpy." + lane)
                module = modules.replaced(module, **mixed.functions(module))
    finally:
        for name in [name for name in sys.modules if name.startswith("frameworks.numpy.")]:
            del sys.modules[name]
        sys.modules.update(under_test)
        if chosen is not None:
            os.environ["ARRAY_MODULE"] = chosen
    return module


class Reference:
    """The reference of one model at one precision, ``EXACT`` or ``ROUNDED``.

    conventions: the ones it follows. scalars: the precision of Adam's corrections, if
    ``adam_scalars`` names them. products: "bfloat16", "tf32", or the same as the rest.
    """

    def __init__(
        self, model, precision, threads, conventions=USUAL, scalars=EXACT, products="float32"
    ):
        self.module = _numpy_module(model, products)
        settings = self.module.configure("same", threads, 0)
        as_settings = conventions._asdict()
        self.settings = dict(settings, precision=precision, scalars=scalars, **as_settings)

    def model(self, hp, weights, before=None):
        """A model with these weights.

        before: the weights one step ago; their difference becomes the velocity.
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
        """The scores of ``images``, one row each."""
        x, _ = self.module.load(images, None, self.settings)
        return self.predict(self.model(hp, weights), x)

    def predict(self, model, x):
        """A model's prediction, as far as the observations alone decide it.

        A module that also generates has ``score`` for that.
        """
        return getattr(self.module, "score", self.module.predict)(model, x)


class GivenMask:
    """A random source with which a ``Dropout`` layer applies a given mask, booleans (n, ...).

    first: the network's first layer, which converts images from NCHW to its own layout.
    """

    def __init__(self, kept, first):
        self.kept, self.first = kept.astype(float), first

    def random_sample(self, shape):
        """1 for each kept value, 0 for each dropped one."""
        if self.kept.shape == shape:
            return self.kept
        return type(self.first)(self.first.settings).forward(self.kept, training=True)


def give_masks(network, masks):
    """Make the dropout layers of a reference network apply these masks, {number: kept (n, ...)}."""
    layers = [layer for layer in network if type(layer).__name__ == "Dropout"]
    for number, layer in enumerate(layers, 1):
        layer.random = GivenMask(masks[number], network[0])


def applicable(model):
    """The names of the conventions that apply to a model."""
    adam = ["adam_epsilon", "adam_scalars"] if "adam" in model.traits else []
    state = ["running_variance", "variance"] if "batchnorm" in model.traits else []
    return (["ties"] if "pool" in model.traits else []) + adam + state


def distance(ours, theirs):
    """Root mean square difference of two arrays, in float64."""
    difference = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    return float(np.sqrt(np.mean(difference**2)))


def pair(model, threads, conventions=USUAL, products="float32"):
    """The reference to compare with, and one whose distance from it is the unit.

    These are float64 and float32; or float64 and TF32, which a library may use for some products
    only; or bfloat16 and float64.
    """
    exact = Reference(model, EXACT, threads, conventions)
    rounded = Reference(model, ROUNDED, threads, conventions, products=products)
    return [rounded, exact] if products == "bfloat16" else [exact, rounded]


def unit(exact, rounded):
    """The distance of the reference's ``rounded`` result from its ``exact`` one.

    At least the spacing of float32 at the values' size, which no float32 result can beat.
    """
    size = float(np.sqrt(np.mean(np.square(exact, dtype=np.float64))))
    return max(distance(exact, rounded), float(np.finfo(np.float32).eps) * size)
