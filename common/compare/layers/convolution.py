"""Convolutions whose kernel is fitted, if there are enough places."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import SHAPES
from common.compare.layers import docs as pages
from common.compare.layers.layer import Case, full, size

GREEDY = True  # the first option that fits is taken: the smallest kernel
NESTED = True  # larger kernels, and fewer groups, can do what smaller ones do
NEAR = 3  # earlier images that are tried
VALUES = 2**18  # of the images that are used
POOLS = {"max": np.max, "mean": np.mean}  # of 2 x 2 places
# What may come between the nearest image and the layer, unrecorded: activations, and then pools.
ACTIVATIONS = ("ReLU", "SiLU", "GELU (by erf)", "GELU (by tanh)", "ReLU6", "hard swish", "tanh")
BETWEEN = OrderedDict((name, SHAPES[name]) for name in ACTIVATIONS)
BETWEEN.update(
    ("leaky ReLU of slope %g" % slope, lambda x, slope=slope: np.where(x < 0, slope * x, x))
    for slope in (0.01, 0.1, 0.2, 0.3)
)
LEAST = 1.9  # times the result's height that images before a pool have
KERNELS = (1, 2, 3, 4, 5, 7)
UNKNOWNS = 640  # of a fitted kernel, for each channel of the output
DILATED, DILATIONS = (2, 3), (1, 2, 3, 4)
SPARE = 1.5  # equations for each unknown
FEWEST = 8  # rows of an image
CHANNELS = 4  # of the output that are fitted
SQUARE = 64  # channels, at most, of a square kernel that is tried transposed


def cases(layer):
    """Images, and the nearest earlier images that may be their input."""
    for x, between in inputs(layer):
        for last in (False, True):
            case = _case(layer, x, between, last)
            if case is not None:
                yield case


def inputs(layer):
    """Yield (earlier images, the constants of what comes between) if the layer makes images.

    Pools come first: a large kernel can do what a mean pool and a smaller one do.
    """
    y = layer.output
    if len(y.shape) != 4 or not y.spread or y.whole:
        return
    images = (x for x in layer.earlier() if len(x.shape) == 4 and x.shape[0] == y.shape[0])
    images = list(itertools.islice((x for x in images if x.spread), NEAR))
    signed = images and images[0].ends[0] < 0
    between = [{"after": name} for name in BETWEEN] if signed else []
    for pool in POOLS if images else ():
        yield from ((images[0], dict(each, pool=pool)) for each in [{}] + between)
    yield from ((x, {}) for x in images)
    yield from ((images[0], each) for each in between)


def _case(layer, x, between, last):
    """A case with channels on axis 1 or on the last one; None if the sizes do not fit."""
    images, target = (full(array) for array in (x, layer.output))
    if last:
        images, target = (np.moveaxis(array, 3, 1) for array in (images, target))
    down = images.shape[2] / float(target.shape[2]), images.shape[3] / float(target.shape[3])
    if not np.isclose(down[0], down[1], rtol=0.3) or not 0.12 < down[0] < 10:
        return None
    if max(images.shape[2:]) > 256 or ("pool" in between and down[0] < LEAST):
        return None
    outputs = target.shape[1]
    square = images.shape[1] == outputs <= SQUARE  # a kernel that may be transposed
    target = target if square else target[:, :CHANNELS]
    some = max(1, VALUES // images[0].size)
    images, target = (array[:some].astype(np.float64) for array in (images, target))
    data = dict(x=images, y=target, between=between)
    return Case(layer, [x], outputs=outputs, fits={}, fed={}, **data)


def fed(case, constants):
    """The images that the convolution itself gets, after an activation and a pool."""
    name, pool = constants.get("after"), constants.get("pool")
    if (name, pool) not in case.fed:
        images = BETWEEN[name](case.x) if name else case.x
        if pool:
            images = images[:, :, : images.shape[2] // 2 * 2, : images.shape[3] // 2 * 2]
            halves = images.shape[2] // 2, 2, images.shape[3] // 2, 2
            images = POOLS[pool](images.reshape(images.shape[:2] + halves), axis=(3, 5))
        case.fed[name, pool] = images
    return case.fed[name, pool]


def options(case):
    """Kernels, strides and paddings that give images of the output's size."""
    sizes = fed(case, case.between).shape[2], case.y.shape[2]
    for kind, steps in (
        ("convolution", case_strides(*sizes)),
        ("transposed", case_strides(*sizes[::-1])),
    ):
        for stride in steps:
            if kind == "transposed" and (stride == 1 or case.between):
                continue
            reach = _reach(case, kind, stride)
            for kernel, dilation, groups in _forms(case, kind, stride):
                wide = (kernel - 1) * dilation + 1
                for low in paddings(kind, wide, stride, sizes):
                    hopeless = kind == "convolution" and max(low, wide - 1 - low) <= reach
                    if case.x.shape[1] // groups * kernel**2 <= UNKNOWNS and not hopeless:
                        yield constants_of(case, kind, kernel, stride, low, dilation, groups)


def constants_of(case, kind, kernel, stride, padding, dilation=1, groups=1):
    """A convolution's constants, with those of what comes before it."""
    found = OrderedDict(kind=kind, kernel=kernel, stride=stride, padding=padding)
    found.update({"dilation": dilation} if dilation > 1 else {})
    found.update({"groups": groups} if groups > 1 else {})
    found.update(case.between)
    return found


def _forms(case, kind, stride):
    """Yield (kernel, dilation, groups), the smallest kernels and the most groups first.

    Only the usual ones after what was not recorded, which is tried in many ways.
    """
    both = case.x.shape[1], case.outputs
    usual = (both[0],) if case.between else (both[0], 32, 16, 8, 4, 2)
    divisors = [n for n in usual if not (both[0] % n or both[1] % n)]
    groups = sorted(set(divisors + [1]), reverse=True) if kind == "convolution" else [1]
    for kernel in KERNELS:
        plain = kind == "transposed" or stride > 1 or kernel not in DILATED or case.between
        for dilation in (1,) if plain else DILATIONS:
            for count in groups:
                yield kernel, dilation, count


def _reach(case, kind, stride):
    """The reach of a large kernel that does not fit, so no smaller one does; -1 if it fits."""
    for kernel in (7, 5, 3, 1):
        if SPARE * (case.x.shape[1] * kernel**2 + 1) <= min(case.y[:, 0].size, SPARE * UNKNOWNS):
            largest = constants_of(case, kind, kernel, stride, kernel // 2)
            return -1 if off(case, largest) <= case.limit else kernel // 2
    return -1


def case_strides(large, small):
    """Strides from a height of ``large`` to one of ``small``."""
    return [n for n in (1, 2, 3, 4, 8) if small and -1 <= (large - n * small) / float(n) <= 7]


def paddings(kind, kernel, stride, sizes):
    """Padding before the first place: none, half a kernel, or half of what 'same' needs."""
    if kind == "transposed":
        whole = (sizes[0] - 1) * stride + kernel
        return sorted({low for low in (0, (whole - sizes[1]) // 2, 1) if 0 <= low < kernel})
    need = max((sizes[1] - 1) * stride + kernel - sizes[0], 0)
    lows = {(kernel - 1) // 2, need // 2, 0, need - need // 2, need}
    return sorted((low for low in lows if low < kernel), key=lambda low: (low != need // 2, low))


def patches(x, constants, shape):
    """What each place of the output sees: (batch, height, width, channels * kernel * kernel)."""
    kernel, stride, low = (constants[name] for name in ("kernel", "stride", "padding"))
    step = constants.get("dilation", 1)
    if constants["kind"] == "transposed":
        batch, channels, height, width = x.shape
        wide = np.zeros((batch, channels, (height - 1) * stride + 1, (width - 1) * stride + 1))
        wide[:, :, ::stride, ::stride] = x
        x, stride, low = wide, 1, kernel - 1 - low
    need = [(shape[n] - 1) * stride + (kernel - 1) * step + 1 for n in (0, 1)]
    high = [max(0, need[n] - low - x.shape[2 + n]) for n in (0, 1)]
    x = np.pad(x, ((0, 0), (0, 0), (low, high[0]), (low, high[1])), "constant")
    parts = [
        x[:, :, i : i + shape[0] * stride : stride, j : j + shape[1] * stride : stride][
            :, :, : shape[0], : shape[1]
        ]
        for i in range(0, kernel * step, step)
        for j in range(0, kernel * step, step)
    ]
    return np.stack(parts, 2).transpose(0, 3, 4, 1, 2).reshape(x.shape[0], shape[0], shape[1], -1)


def off(case, constants):
    """The distance after the kernel and a bias are fitted."""
    return fitted(case, constants)[0]


def fitted(case, constants):
    """(distance, the kernel (channels, kernel, kernel, outputs) that fits best, or None)"""
    key = tuple(constants.items())
    if key not in case.fits:
        case.fits[key] = _fit(case, constants)
    return case.fits[key]


def _fit(case, constants):
    """As ``fitted``, computed; each group of channels is fitted by itself."""
    groups, images = constants.get("groups", 1), fed(case, constants)
    if groups == 1:
        return _fit_group(constants, images, case.y)
    if case.x.shape[1] % groups or case.outputs % groups:
        return np.inf, None
    each, made = case.x.shape[1] // groups, case.outputs // groups
    fits = []
    for n in range(min(groups, -(-CHANNELS // made))):
        x, y = images[:, n * each : (n + 1) * each], case.y[:, n * made : (n + 1) * made]
        fits.append(_fit_group(constants, x, y[:, :CHANNELS]))
        if not fits[-1][0] <= case.limit:
            break
    whole = all(fit[1] is not None for fit in fits)
    kernel = np.concatenate([fit[1] for fit in fits], 3) if whole else None
    return max(fit[0] for fit in fits), kernel


def _fit_group(constants, images, target):
    kernel = constants["kernel"]
    reach = (kernel - 1) * constants.get("dilation", 1) + 1
    unknowns = images.shape[1] * kernel**2 + 1
    places = target[:, 0].size
    count = int(SPARE * unknowns) + 64
    if unknowns > UNKNOWNS or places < SPARE * unknowns + 4 or constants["padding"] >= reach:
        return np.inf, None
    channels = images.shape[1]
    images, target = part(images, target, constants, count)
    try:
        seen = patches(images, constants, target.shape[2:])
    except ValueError:  # an image too small for this stride
        return np.inf, None
    places = target[:, 0].size
    seen, target = seen.reshape(places, -1), target.transpose(0, 2, 3, 1).reshape(places, -1)
    some = np.random.RandomState(0).permutation(places)[:count]
    seen = np.concatenate([seen[some], np.ones((len(some), 1))], 1)
    weights = _solved(seen, target[some])
    left = size(target[some] - np.dot(seen, weights)) * np.sqrt(SPARE / (SPARE - 1.0))
    return left, weights[:-1].reshape(channels, kernel, kernel, -1)  # without the bias


def part(x, y, constants, count):
    """(input, output) of the first images, or of one image's first rows, with ``count`` places.

    The input has all rows that these places see.
    """
    height, width = y.shape[2:]
    batch = -(-count // (height * width))
    rows = min(height, max(FEWEST, -(-count // width)))
    stride, kernel = constants["stride"], constants["kernel"] * constants.get("dilation", 1)
    reach = rows * stride if constants["kind"] == "convolution" else rows // stride + 1
    return x[:batch, :, : reach + kernel], y[:batch, :, :rows]


def _solved(seen, target):
    """Least squares by the normal equations: quick, and exact enough for images."""
    square = np.dot(seen.T, seen)
    square[np.diag_indices(len(square))] += 1e-13 * np.trace(square) / len(square)
    return np.linalg.solve(square, np.dot(seen.T, target))


def words(constants):
    """The convolution in words."""
    kind = "convolution" if constants["kind"] == "convolution" else "transposed convolution"
    between = [constants["after"]] if "after" in constants else []
    between += ["a 2 x 2 %s pool" % constants["pool"]] if "pool" in constants else []
    kind += " after " + " and ".join(between) if between else ""
    says = "%s, %d x %d, stride %d, " % (
        (kind,) + (constants["kernel"],) * 2 + (constants["stride"],)
    )
    if "dilation" in constants:
        says += "dilation %d, " % constants["dilation"]
    if "groups" in constants:
        says += "%d groups, " % constants["groups"]
    return says + "top and left padding %d" % constants["padding"]


def docs(a, b):
    """The page's anchor."""
    if a.get("pool") != b.get("pool"):
        return None
    return pages.PADDING if a.get("after") == b.get("after") else pages.ACTIVATION
