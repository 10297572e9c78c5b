"""The NumPy reference as an oracle: what a step must give in float64, and how far float32 strays.

Every tolerance is made here: the error that the same NumPy code makes in float32 is the unit, and
a framework may be ``MULTIPLE`` units off. A framework sums in another order than NumPy does, so
its rounding errors are of that size, not equal; the mistakes worth finding are hundreds of units.
"""

import importlib.util
import os

import numpy as np

import frameworks

MULTIPLE = 16


def _numpy_module():
    """The reference's own instance of the NumPy module, on NumPy even where CuPy is under test."""
    path = os.path.join(os.path.dirname(frameworks.__file__), "numpy", "cnn.py")
    spec = importlib.util.spec_from_file_location("common.reference_cnn", path)
    module = importlib.util.module_from_spec(spec)
    chosen = os.environ.pop("ARRAY_MODULE", None)
    try:
        spec.loader.exec_module(module)
    finally:
        if chosen is not None:
            os.environ["ARRAY_MODULE"] = chosen
    return module


class Reference:
    """The reference at one precision ("float64" or "float32")."""

    def __init__(self, precision, threads, seed=0):
        self.module = _numpy_module()
        settings = self.module.configure("same", threads, seed)
        self.settings = dict(settings, precision=precision)

    def model(self, hp, weights):
        """A model with ``weights`` put in place."""
        network = self.module.symbol(self.settings, hp)
        return self.module.loss(network, self.settings, hp, weights)

    def scores(self, hp, weights, images):
        """Scores (n, 10) of ``images`` (n, 3, 32, 32)."""
        labels = np.zeros(len(images), np.int64)
        x, _ = self.module.load(images, labels, self.settings)
        return self.module.predict(self.model(hp, weights), x)

    def steps(self, hp, weights, pairs):
        """Train on ``pairs`` of (images, labels); yield (loss, weights) after each step."""
        model = self.model(hp, weights)
        batches = (self.module.load(images, labels, self.settings) for images, labels in pairs)
        for loss in self.module.train(model, batches):
            yield float(loss), self.module.weights(model)


def distance(ours, theirs):
    """Root mean square difference of two arrays, in float64."""
    difference = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    return float(np.sqrt(np.mean(difference**2)))


def unit(exact, rounded):
    """The float32 yardstick: how far the reference's ``rounded`` result is from its ``exact`` one.

    Never less than float32's own spacing at the values' size, which no float32 result can beat.
    """
    spacing = np.finfo(np.float32).eps * float(np.sqrt(np.mean(np.square(exact, dtype=np.float64))))
    return max(distance(exact, rounded), spacing)
