"""Running means and variances of a batch norm, after the first batch."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.layers import docs as pages
from common.compare.layers.layer import Case, full, number, size

DOCS = pages.RUNNING
LEAST = 2  # channels
NEAR = 3  # earlier arrays that are tried


def cases(layer):
    """A vector, and the nearest earlier batches with one channel for each of its values."""
    y = layer.output
    if len(y.shape) != 1 or y.size < LEAST or not y.spread:
        return
    for x in itertools.islice(layer.earlier(), NEAR):
        for axis in {1, len(x.shape) - 1} if len(x.shape) > 1 else ():
            if x.shape[axis] == y.size:
                columns = np.moveaxis(full(x), axis, 0).reshape(y.size, -1).astype(np.float64)
                batch = dict(mean=columns.mean(1), variance=columns.var(1), count=columns.shape[1])
                yield Case(layer, [x], y=full(y).astype(np.float64), **batch)


def options(case):
    """For the mean and both variances, the share of the new batch that fits best."""
    unbiased = ["unbiased variance"] if case.count > 1 else []
    for kind in ["mean", "variance"] + unbiased:
        begin, new = _values(case, kind)
        step = new - begin
        share = (step * (case.y - begin)).sum() / max((step**2).sum(), 1e-300)
        near = float("%.3g" % share)
        yield OrderedDict(kind=kind, share=near if abs(near - share) < 1e-5 else float(share))


def _values(case, kind):
    if kind == "mean":
        return 0.0, case.mean
    unbiased = case.count / (case.count - 1.0) if kind.startswith("unbiased") else 1.0
    return 1.0, case.variance * unbiased


def off(case, constants):
    """The distance; infinite if the share cannot be that of a running average."""
    if not 0 < constants["share"] <= 1.001:
        return np.inf
    begin, new = _values(case, constants["kind"])
    return size(begin + constants["share"] * (new - begin) - case.y)


def words(constants):
    """The statistic and its momentum."""
    says = "the running %s of a BatchNorm, share of the new batch (momentum or 1 - momentum) %s"
    return says % (constants["kind"], number(constants["share"]))


def is_convention(a, b):
    """Whether two fits differ only in the divisor of the variance, as right ports may."""
    kinds = {a.constants["kind"], b.constants["kind"]}
    return kinds == {"variance", "unbiased variance"} and (
        abs(a.constants["share"] - b.constants["share"]) < 1e-4
    )
