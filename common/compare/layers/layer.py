"""What a layer computes, by trying: the data that all families of layers share.

A family is a module with

    cases(layer)          yields a ``Case`` for each choice of inputs that the layer may have
    options(case)         yields the constants that are tried, the usual ones first
    off(case, constants)  the RMS distance between the layer's output and what they give
    words(constants)      the function in words, with its constants
    docs(a, b)            the docs' anchor if A's and B's constants differ; or DOCS, if it is fixed

Some also have ``GREEDY`` and ``NESTED``, ``ordered(a, b, inputs)`` and ``shown(fit)``, which
``search.py`` explains where it uses them.
"""

import itertools
from collections import OrderedDict, namedtuple

import numpy as np

from common.compare.names import words as name_words

NEAR = 8  # earlier arrays that are tried as input
ROUNDINGS = 8  # of the output's type: how far off a layer's recomputed output may be
VALUES = 2**16  # that are used if rows are independent
SURE = 4  # constants differ if the other one makes the distance this many times larger

Fit = namedtuple("Fit", "family case constants off")
Fit.__doc__ = """A function that gives a layer's output, within rounding, from recorded inputs."""

Verdict = namedtuple("Verdict", "a b a_fit b_fit differs says docs")
Verdict.__doc__ = """What a pair of layers computes in A and in B, and whether that is different."""


class Case:
    """A layer's output with one choice of inputs, in the form that its family needs."""

    def __init__(self, layer, inputs, **data):
        self.layer, self.inputs = layer, inputs
        self.__dict__.update(data)

    @property
    def limit(self):
        """The largest distance that rounding explains."""
        layer = self.layer
        epsilon = max([layer.output.epsilon] + [array.epsilon for array in self.inputs])
        borrowed = any(array is other for array in self.inputs for other in layer.borrowed)
        return (ROUNDINGS * epsilon + (layer.apart if borrowed else 0)) * layer.output.rms


class Layer:
    """An array of a recording, and the arrays that were recorded before it."""

    def __init__(self, arrays, place, bank=(), in_order=None, borrowed=(), apart=0.0):
        """bank: recorded weights of either side.

        in_order: names of arrays that agree with A's in A's order of values.
        borrowed: arrays that only the other side recorded, the nearest first; they are tried
        before this side's own. apart: how far they may be from this side's, relative to their size.
        """
        self.borrowed, self.apart = borrowed, apart
        self.arrays, self.place, self.output = arrays, place, arrays[place]
        self.bank, self.in_order = bank, in_order

    def __str__(self):
        return self.output.name

    @property
    def rows(self):
        """The number of observations."""
        return self.arrays[0].shape[0] if self.arrays[0].shape else 1

    def earlier(self, floats=True):
        """Arrays computed before, the nearest first: a row for each observation, unlike weights."""
        own = self.arrays[self.place - 1 :: -1] if self.place else ()
        for array in itertools.chain(self.borrowed, own):
            has_rows = array.finite and self.rows in array.shape[:2]
            if has_rows and (not floats or array.dtype.kind == "f"):
                yield array

    def alike(self, most=NEAR):
        """The nearest earlier arrays of the output's shape, without repeated ones."""
        found = OrderedDict()
        for array in self.earlier():
            if array.shape == self.output.shape:
                found[array.mean, array.rms, array.ends] = array
                if len(found) == most:
                    break
        return list(found.values())

    def merged(self, most=4):
        """The nearest earlier arrays whose last axis holds the output's last two, such as heads."""
        shape, size = self.output.shape, self.output.size
        fit = (x for x in self.earlier() if x.size == size and x.shape[:-1] == shape[:-2])
        return list(itertools.islice(fit, most if len(shape) > 2 else 0))

    def weights(self, dimensions):
        """Recorded weights, those with the most words of the layer's name first."""
        own = set(name_words(self.output.name))
        weights = [array for array in self.bank if len(array.shape) == dimensions]
        return sorted(weights, key=lambda array: -len(own & set(name_words(array.name))))

    @property
    def biases(self):
        """Recorded vectors, and pairs of vectors, which may be biases."""
        return [array for array in self.bank if len(array.shape) in (1, 2)]


def images(layer, nearest=4):
    """Yield (x, images, output, whether channels are last) of the nearest earlier images.

    Both arrays have channels on axis 1, and the same numbers of images and channels.
    """
    if len(layer.output.shape) != 4 or not layer.output.spread:
        return
    for x in itertools.islice((x for x in layer.earlier() if len(x.shape) == 4), nearest):
        for last in (False, True):
            pair = [full(array) for array in (x, layer.output)]
            if last:
                pair = [np.moveaxis(array, 3, 1) for array in pair]
            if pair[0].shape[:2] == pair[1].shape[:2]:
                yield (x, *pair, last)


def branches(near):
    """Pairs of near arrays: a branch, one of the two nearest, and what it is added to."""
    return [pair for pair in itertools.permutations(near, 2) if any(pair[0] is x for x in near[:2])]


def full(array):
    """An array's values in its own shape."""
    return array.values.reshape(array.shape)


def marks(values):
    """Whether values are zeros and ones, some of each, as in a mask."""
    return bool(np.isin(values, (0, 1)).all() and values.any() and not values.all())


def rows_of(*arrays, values=VALUES):
    """The same rows of arrays as (rows, last axis) in float64; about as many values as needed."""
    width = arrays[0].shape[-1]
    tables = [full(array).reshape(-1, width) for array in arrays]
    count = len(tables[0])
    keep = max(16, values // width)
    if count > keep:
        chosen = np.sort(np.random.RandomState(0).choice(count, keep, replace=False))
        tables = [table[chosen] for table in tables]
    return [table.astype(np.float64) for table in tables]


def size(values):
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def number(value):
    """A constant in words."""
    return "%.6g" % value
