"""Pools of images: the maximum or the mean of each window."""

from collections import OrderedDict

import numpy as np

from common.compare.layers import docs as pages
from common.compare.layers.convolution import case_strides
from common.compare.layers.layer import Case, images, size

DOCS = pages.PADDING
GREEDY = True
WINDOWS = (2, 3, 4, 5)
CHANNELS = 8


def cases(layer):
    """The nearest earlier images with the same number of channels."""
    for x, larger, smaller, _ in images(layer):
        if larger.shape[2] > smaller.shape[2]:
            larger, smaller = (part[:, :CHANNELS].astype(np.float64) for part in (larger, smaller))
            yield Case(layer, [x], x=larger, y=smaller)
            if larger.min() < 0 <= smaller.min():  # after a ReLU that was not recorded
                yield Case(layer, [x], x=np.maximum(larger, 0), y=smaller)


def options(case):
    """Windows, strides and paddings."""
    for stride in case_strides(case.x.shape[2], case.y.shape[2]):
        for window in WINDOWS:
            for low in range((window + 1) // 2 + 1):
                for kind in ("max", "mean", "mean with the padding"):
                    yield OrderedDict(kind=kind, window=window, stride=stride, padding=low)


def off(case, constants):
    """The distance."""
    height, width = case.y.shape[2:]
    window, stride, low = (constants[name] for name in ("window", "stride", "padding"))
    need = [(n - 1) * stride + window for n in (height, width)]
    high = [max(0, need[n] - low - case.x.shape[2 + n]) for n in (0, 1)]
    if max(high) >= window or (
        constants["kind"] == "mean with the padding" and not low + max(high)
    ):
        return np.inf
    fill = -np.inf if constants["kind"] == "max" else np.nan
    x = np.pad(
        case.x, ((0, 0), (0, 0), (low, high[0]), (low, high[1])), "constant", constant_values=fill
    )
    parts = [
        x[:, :, i : i + height * stride : stride, j : j + width * stride : stride][
            :, :, :height, :width
        ]
        for i in range(window)
        for j in range(window)
    ]
    if any(part.shape != case.y.shape for part in parts):
        return np.inf
    if constants["kind"] == "max":
        values = parts[0]
        for part in parts[1:]:
            values = np.maximum(values, part)
    else:
        there = sum((~np.isnan(part)).astype(float) for part in parts)
        total = sum(np.nan_to_num(part) for part in parts)
        values = total / (there if constants["kind"] == "mean" else window**2)
    return size(values - case.y)


def words(constants):
    """The pool in words."""
    kind = constants["kind"].split(" ")[0]
    says = "%s pool, %d x %d, " % ((kind,) + (constants["window"],) * 2)
    says += "stride %(stride)d, top and left padding %(padding)d" % constants
    return says + (", which counts" if kind != constants["kind"] else "")
