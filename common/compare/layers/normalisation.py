"""Normalisations: over the last axis, over groups of channels, or over the batch for each channel.

Weights and biases need not be recorded: one of each is fitted per channel.
"""

from collections import OrderedDict

import numpy as np

from common.compare.functions import bfloat16
from common.compare.layers import docs as pages
from common.compare.layers.layer import SURE, VALUES, Case, branches, full, number, rows_of, size

DOCS = pages.EPSILON
ROWS = 512  # places of an image
BFLOAT16 = 2.0**-7  # the largest relative error of two roundings
WIDEST = 2**14  # values of a row that is normalised
SOME = slice(0, 32)  # channels that show whether a norm may fit
LEAST = 8  # rows for each channel's two constants
EPSILONS = (1e-5, 1e-6, 1e-12, 1e-3, 1.001e-5, 2e-5, 1e-8, 1e-7, 1e-4, 1e-2, 2.0**-23, 0.0)
DECADES = 10.0 ** np.arange(-9, 0)
FINER = 10.0 ** np.arange(-0.75, 0.8, 0.25)
NEARLY = 0.01  # of a channel's spread
ADDED = 0.01  # of a norm's result: by how much it must vary from row to row
CENTERED = EXACT = 1e-5  # of the mean of normalised rows, and of their mean square above 1
UNIT = 0.1  # an epsilon may leave their mean square so far below 1
TINY = 1e-12  # an epsilon that has no effect
ALIKE = 5e-3  # relative: by how much the sizes of normalised rows differ
SAME = 2e-3  # relative: differences of epsilons that rounding cannot tell apart
FLAT = 0.75  # of the neighbours' distance; above this, no epsilon fits
ROUNDED = "rounded to bfloat16 before its weight"
LAYER = ("LayerNorm", "RMSNorm", "LayerNorm, unbiased", "LayerNorm, epsilon outside the root")
LAYER += tuple(kind + ", " + ROUNDED for kind in LAYER[:2])
UNUSUAL = LAYER[2:]
BATCH = ("BatchNorm", "BatchNorm, unbiased")
CHANNELS = "each channel times a number, plus another, as in a BatchNorm with its own statistics"


def cases(layer):
    """Rows for layer norms, channels for batch norms, groups of channels for group norms."""
    if not may_be(layer.output):
        return
    yield from by_row(layer)
    yield from by_place(layer)
    dimensions = len(layer.output.shape)
    for x in layer.alike():
        if x.spread and dimensions >= 3:
            for axis in (1, dimensions - 1):
                yield from _by_channel(layer, x, axis)


def may_be(y):
    """Whether an array may be the result of a norm."""
    return bool(len(y.shape) >= 2 and y.spread and not y.whole and _varies(*rows_of(y)))


def by_row(layer, values=VALUES // 2):
    """Norms over the last axis, of an earlier array or of the sum of two."""
    y = layer.output
    near = [x for x in layer.alike() + layer.merged() if x.spread]
    if not 4 <= y.shape[-1] <= WIDEST or y.size // y.shape[-1] < LEAST:
        return
    tables = rows_of(y, *near, values=values)
    for x, table in sorted(zip(near, tables[1:]), key=lambda pair: _is_normalised(pair[1])):
        yield Case(layer, [x], x=table, y=tables[0], kinds=LAYER)
    known = list(zip(near, tables[1:]))
    for (x, one), (z, other) in branches(known):
        yield Case(layer, [x, z], x=one + other, y=tables[0], kinds=LAYER)
    for (z, other), (x, one) in branches(known):
        rest = tables[0] - one
        if _varies(rest):  # else it is a bias
            yield Case(layer, [z, x], x=other, y=rest, kinds=LAYER[:2], added=True)


def centered(rows):
    """Whether rows have the mean that a LayerNorm without a bias leaves, 0."""
    return bool(np.abs(rows.mean(1)).max() <= CENTERED)


def bare(rows):
    """The kind of norm that makes such rows without a weight; None if no norm does."""
    square = (rows**2).mean(1)
    if (np.abs(square - 1) > UNIT).any() or square.max() > 1 + EXACT or np.ptp(square) > UNIT / 2:
        return None
    return "LayerNorm" if centered(rows) else "RMSNorm"


def _varies(rows):
    """Whether rows differ: a weight of 0 makes equal ones of any norm."""
    return size(rows - rows.mean(0)) > ADDED * size(rows)


def _is_normalised(rows):
    """Whether all rows have one size, as after a norm: they do not show an epsilon."""
    square = (rows**2).mean(1)
    return bool(np.ptp(square) <= ALIKE * square.max())


def by_place(layer):
    """Norms over axis 1, the channels at each place of an image."""
    y = layer.output
    if len(y.shape) == 4 and y.shape[1] >= 4:
        for x in layer.alike():
            rows = [np.moveaxis(full(z)[:1], 1, 3).reshape(-1, z.shape[1]) for z in (x, y)]
            if x.spread and len(rows[0]) >= LEAST:
                rows = [table[:ROWS].astype(np.float64) for table in rows]
                yield Case(layer, [x], x=rows[0], y=rows[1], kinds=LAYER)


def _by_channel(layer, x, axis):
    """Batch and group norms of one axis of channels."""
    tables = [np.moveaxis(full(array), axis, 1) for array in (x, layer.output)]
    batch, channels = tables[0].shape[:2]
    tables = [table.reshape(batch, channels, -1) for table in tables]
    count = batch * tables[0].shape[2]
    if count < LEAST or channels > 4096 or not _lines(*tables):
        return
    some = slice(0, max(1, VALUES * 4 // count))  # channels: each needs all its values
    columns = [
        table[:, some].transpose(0, 2, 1).reshape(count, -1).astype(np.float64) for table in tables
    ]
    kinds = BATCH if count >= LEAST * 2 else ()
    yield Case(layer, [x], x=columns[0], y=columns[1], kinds=kinds + (CHANNELS,))
    if channels >= 4 and kinds:
        some = slice(0, max(2, 2 * VALUES // tables[0][0].size))  # observations
        places = tables[0].shape[2]
        for groups in [g for g in range(1, channels + 1) if channels % g == 0]:
            kept = max(1, min(groups, 2 * VALUES * groups // tables[0][0].size))
            if kept * places * channels > 4 * VALUES * groups:
                continue
            width = kept * channels // groups  # of whole groups
            values = [table[some, :width].astype(np.float64) for table in tables]
            yield Case(
                layer, [x], x=values[0], y=values[1], kinds=("GroupNorm",), groups=groups, kept=kept
            )


def _lines(x, y):
    """Whether y is linear in x over the places of the first observations' first channels.

    Every norm of channels or groups is, whatever its constants.
    """
    one, other = (table[:2, :4].astype(np.float64) for table in (x, y))
    if one.shape[2] < LEAST:
        return True  # too few to tell
    one, other = (table - table.mean(2, keepdims=True) for table in (one, other))
    slope = (one * other).sum(2, keepdims=True) / np.maximum((one**2).sum(2, keepdims=True), 1e-300)
    return size(other - slope * one) <= NEARLY * size(other)


def options(case):
    """Each kind with each usual epsilon, then with the epsilon that fits best."""
    usual = False
    for kind in case.kinds:
        if kind == CHANNELS:
            yield OrderedDict(kind=kind)
            continue
        if kind in UNUSUAL and not usual:
            continue
        first = [off(case, _constants(case, kind, epsilon), SOME) for epsilon in (1e-6, 1e-3)]
        if not min(first) < 0.2 * case.layer.output.rms:
            continue  # no epsilon makes it that kind
        usual = usual or kind == "LayerNorm"
        offs = [off(case, _constants(case, kind, epsilon), SOME) for epsilon in DECADES]
        if _may_fit(offs, case.limit):
            for epsilon in EPSILONS:
                yield _constants(case, kind, epsilon)
            yield _constants(case, kind, _fitted(case, kind, DECADES[int(np.argmin(offs))]))


def _may_fit(offs, limit):
    """Whether an epsilon between those tried may fit.

    Near the right one, the distance grows with the error of the epsilon; elsewhere it is flat.
    """
    n = int(np.argmin(offs))
    return offs[n] <= limit or offs[n] < FLAT * max(offs[max(0, n - 1) : n + 2])


def _fitted(case, kind, best):
    """The epsilon near ``best`` that fits best, to three digits."""
    for tried in (FINER, *(1 + step * np.arange(-5, 6) for step in (0.1, 0.02, 0.002))):
        tried = best * tried
        offs = [off(case, _constants(case, kind, epsilon), SOME) for epsilon in tried]
        best = tried[int(np.argmin(offs))]
    return float("%.3g" % best)


def _constants(case, kind, epsilon):
    constants = OrderedDict(kind=kind, epsilon=float(epsilon))
    if hasattr(case, "groups"):
        constants["groups"] = case.groups
    if hasattr(case, "added"):
        constants["added"] = True
    return constants


def off(case, constants, some=slice(None)):
    """The distance after each channel's factor and shift are fitted, over some channels."""
    kind, epsilon = constants["kind"], constants.get("epsilon")
    own = [getattr(case, name, None) for name in ("groups", "added")]
    if kind not in case.kinds or [constants.get("groups"), constants.get("added")] != own:
        return np.inf
    if kind == CHANNELS:
        return affine_off(case.x, case.y)
    if kind == "GroupNorm":
        return _group_off(case, epsilon)
    if kind in BATCH:
        return _batch_off(case, kind, epsilon)
    made = normalised(case.x, kind, epsilon)
    return affine_off(made[:, some], case.y[:, some], not kind.startswith("RMSNorm"))


def normalised(x, kind, epsilon):
    """The rows, normalised."""
    if kind.endswith(ROUNDED):
        return bfloat16(normalised(x, kind[: -len(ROUNDED) - 2], epsilon)).astype(np.float64)
    if kind == "RMSNorm":
        return x / np.sqrt((x**2).mean(1, keepdims=True) + epsilon)
    x = x - x.mean(1, keepdims=True)
    variance = (x**2).mean(1, keepdims=True)
    if kind.endswith("unbiased"):
        variance = variance * x.shape[1] / max(1, x.shape[1] - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind.endswith("outside the root"):
            return x / (np.sqrt(variance) + epsilon)
        return x / np.sqrt(variance + epsilon)


def epsilons(a, b):
    """(both epsilons in words, the docs' anchor), if both have the same weights; or None.

    If all rows have nearly the same variance, another weight makes up for another epsilon. So A's
    fitted weights are tried on B: the residual shows how much larger B's epsilon is.
    """
    kind, epsilon = a.constants["kind"], a.constants.get("epsilon")
    if kind != b.constants["kind"] or kind not in LAYER[:2] or a.case.y.shape != b.case.y.shape:
        return None
    z, x = (normalised(fit.case.x, kind, epsilon) for fit in (a, b))
    slope = _slopes(a)
    shift = (a.case.y - slope * z).mean(0) if kind != "RMSNorm" else 0.0
    left = b.case.y - slope * x - shift
    center = b.case.x if kind == "RMSNorm" else b.case.x - b.case.x.mean(1, keepdims=True)
    variance = (center**2).mean(1, keepdims=True) + epsilon
    effect = -0.5 * slope * x / variance  # of an epsilon that is larger by one, for small ones
    more = (left * effect).sum() / max((effect**2).sum(), 1e-300)
    part = size(more * effect)
    if part < b.case.limit / 4 or part < SURE * size(left - more * effect):
        return None
    if abs(more) > 0.1 * variance.min():
        return None  # too large for the effect to be linear
    return "%s, %s" % (kind, epsilons_apart(more)), pages.EPSILON


def epsilons_apart(more, unsure=SAME):
    """The pair of usual epsilons with this difference, or the difference, in words.

    unsure: the relative error of the difference.
    """
    pairs = [(abs((b - a) / more - 1), a, b) for a in EPSILONS for b in EPSILONS if a != b]
    least = min(pair[0] for pair in pairs)
    close = [pair[1:] for pair in pairs if pair[0] < min(max(0.02, unsure), least + unsure)]
    if close:
        usual = min(close, key=lambda pair: sum(map(EPSILONS.index, pair)))
        return "epsilon %s in A, %s in B" % tuple(_or_less(usual, close, side) for side in (0, 1))
    return "B's epsilon is A's plus %s" % number(float("%.3g" % more))


def _or_less(usual, close, side):
    """A side's epsilon, and whether smaller ones fit as well with the other side's."""
    others = [pair[side] for pair in close if pair[1 - side] == usual[1 - side]]
    return number(usual[side]) + (" or less" if min(others) < usual[side] > TINY else "")


def weights(a, b):
    """(how B's fitted weights differ from A's, the docs' anchor); or None."""
    if a.constants["kind"] != b.constants["kind"] or a.constants["kind"] not in LAYER:
        return None
    ours, theirs = (_slopes(fit) for fit in (a, b))
    if len(ours) != len(theirs) or size(theirs - ours) < 1e-5 * size(ours):
        return None
    start = words(a.constants)
    for one, other, names in ((ours, theirs, ("A", "B")), (theirs, ours, ("B", "A"))):
        if size(one - other - 1) < 1e-5 * size(one):
            says = "%s, times 1 + w in %s, times w in %s"
            return says % ((start,) + names), pages.ONE_PLUS
        # A sum may be rounded twice: it is a bfloat16 number, but not the nearest one.
        rounded = bfloat16(other)
        if (
            size(rounded - other) < 1e-5 * size(one) < size(other - one)
            and (np.abs(other - one) <= BFLOAT16 * np.abs(one)).all()
        ):
            says = "%s, with its factor rounded to bfloat16 in %s"
            return says % (start, names[1]), pages.ONE_PLUS
    return None


def _slopes(fit):
    """Each column's factor."""
    z = normalised(fit.case.x, fit.constants["kind"], fit.constants["epsilon"])
    y = fit.case.y
    if fit.constants["kind"] != "RMSNorm":
        z, y = z - z.mean(0), y - y.mean(0)
    return (z * y).sum(0) / np.maximum((z**2).sum(0), 1e-300)


def affine_off(z, y, shifted=True):
    """The distance of y from z times a number, plus another if shifted, for each column."""
    if not np.isfinite(z).all():
        return np.inf
    if shifted:
        z, y = z - z.mean(0), y - y.mean(0)
    square = (z**2).sum(0)
    slope = (z * y).sum(0) / np.where(square, square, 1)
    return size(y - z * slope)


def _batch_off(case, kind, epsilon):
    """The distance if all weights are 1.

    With weights, any epsilon fits: a channel's factor is its weight divided by its deviation.
    """
    z = case.x - case.x.mean(0)
    count = len(z) / (len(z) - 1.0) if kind.endswith("unbiased") else 1.0
    z = z / np.sqrt((z**2).mean(0) * count + epsilon)
    return size(case.y - z)


def _group_off(case, epsilon):
    """The distance after each observation's groups are normalised, and each channel is fitted."""
    batch, channels, places = case.x.shape
    x = case.x.reshape(batch, case.kept, -1)
    z = x - x.mean(2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = z / np.sqrt((z**2).mean(2, keepdims=True) + epsilon)
    z, y = (
        t.reshape(batch, channels, places).transpose(0, 2, 1).reshape(-1, channels)
        for t in (z, case.y)
    )
    return affine_off(z, y)


def words(constants, places="places", or_less=False):
    """The kind of norm and its epsilon.

    places: what a group has its features in. or_less: whether smaller epsilons fit as well.
    """
    says = constants["kind"]
    if constants.get("groups") == 1:
        says += " of 1 group, over all %s and features of an observation" % places
    elif "groups" in constants:
        says += " of %d groups" % constants["groups"]
    if "epsilon" in constants:
        says += ", epsilon %s%s" % (number(constants["epsilon"]), " or less" if or_less else "")
    return says + (", and another array added" if "added" in constants else "")


def shown(fit):
    """A fit in words: they call the places as usual, and say if smaller epsilons fit as well."""
    places = "tokens" if len(fit.case.layer.output.shape) == 3 else "places"
    return words(fit.constants, places, _fits_without_epsilon(fit))


def _fits_without_epsilon(fit):
    """Whether a norm of rows fits as well with an epsilon of 0; it has the largest that fits."""
    epsilon = fit.constants.get("epsilon")
    if not epsilon or fit.constants["kind"] not in LAYER or epsilon <= TINY:
        return False
    none = off(fit.case, dict(fit.constants, epsilon=0.0))
    return none <= max(1.2 * fit.off, 0.02 * fit.case.limit)
