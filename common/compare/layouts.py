"""The layouts in which one array may hold another's values: transposed, flipped, reordered."""

import itertools
import math
from collections import namedtuple

import numpy as np

from common.compare.arrays import allowed, apart, correlation, proven

Agreement = namedtuple("Agreement", "layout off proof")
Agreement.__doc__ = """Two arrays with the same values: in which layout, how far apart at most.

proof: whether there are too many values to agree by chance.
"""


class Layout(namedtuple("Layout", "split axes flipped axis order")):
    """How the values of one array are arranged in another.

    The first array is reshaped to ``split``, its axes are permuted by ``axes``, some are
    ``flipped``, and the result is reshaped to the second array's shape, where the positions on one
    ``axis`` are put in an ``order``.
    """

    def apply(self, values, shape):
        """The values in the other array's arrangement."""
        values = values.reshape(self.split).transpose(self.axes)
        if self.flipped:
            values = np.flip(values, self.flipped)
        values = values.reshape(shape)
        return values if self.order is None else values.take(self.order, self.axis)

    def kind(self):
        """The part that is the same for arrays of other sizes."""
        return self[1:]

    def words(self, a, b):
        """The change of a's values in words; None if it leaves them in their order."""
        words, axes = [], self.axes
        if len(axes) > a.values.ndim and a.values.shape == b.values.shape:
            axis = next(n for n, size in enumerate(self.split) if size != a.values.shape[n])
            parts = self.split[axis : axis + len(axes) - a.values.ndim + 1]
            moved = tuple(k - axis for k in axes[axis : axis + len(parts)])
            change = (a.axes[axis], parts, moved)
            words.append("axis %d read as %s and transposed by %s" % change)
        elif axes != tuple(range(len(axes))):
            if self.split != a.values.shape:
                words.append("read as %s" % (self.split,))
            else:
                axes = with_ones(a, b, axes)
            words.append("transposed by %s" % (axes,))
        if self.flipped:
            flipped = " and ".join(str(b.axes[axis]) for axis in self.flipped)
            words.append("flipped along axis %s" % flipped)
        if self.order is not None:
            width, order = blocks(self.order)
            first = ", ".join(str(place) for place in order[:8])
            more = ", ..." if len(order) > 8 else ""
            part = " in blocks of %d," % width if width > 1 else ""
            words.append("axis %d%s in the order %s%s" % (b.axes[self.axis], part, first, more))
        return ", ".join(words) or None


def blocks(order):
    """(width, order) of the widest blocks that an order keeps whole."""
    for width in range(len(order) // 2, 1, -1):
        if len(order) % width == 0:
            table = np.array(order).reshape(-1, width)
            whole = (table - table[:, :1] == np.arange(width)).all()
            if whole and not (table[:, 0] % width).any():
                return width, tuple((table[:, 0] // width).tolist())
    return 1, order


def with_ones(a, b, axes):
    """The order of all axes of a, given the order of the axes that are longer than one."""
    moved = [a.axes[axis] for axis in axes]
    ones = [axis for axis in range(len(a.shape)) if axis not in a.axes]
    if len(a.shape) == len(b.shape) and len(a.axes) == len(b.axes):
        return tuple(ones.pop(0) if size == 1 else moved.pop(0) for size in b.shape)
    first = [axis for axis in ones if axis < min(a.axes)]
    return tuple(first + moved + ones[len(first) :])


def plain(a):
    """The layout that changes nothing."""
    return Layout(a.values.shape, tuple(range(a.values.ndim)), (), None, None)


def ends(shape):
    """The number of values in one step along each axis but the last one."""
    return set(np.cumprod(shape[::-1])[:-1].tolist()) if shape else set()


def transposes(a, b):
    """Layouts that transpose axes and merge neighbours, or split an axis as in b's shape."""
    ours, theirs = a.values.shape, b.values.shape
    if max(len(ours), len(theirs)) > 6:  # too many orders of axes to try
        if ours == theirs:
            yield plain(a)
        return
    fine = ours if len(ours) >= len(theirs) else theirs
    for axes in itertools.permutations(range(len(fine))):
        if fine is ours:
            if ends(theirs) <= ends([ours[axis] for axis in axes]):
                yield Layout(ours, axes, (), None, None)
        else:
            split = tuple(theirs[axes.index(axis)] for axis in range(len(axes)))
            if ends(ours) <= ends(split):
                yield Layout(split, axes, (), None, None)


def whole(a, b):
    """``transposes`` that keep every axis whole."""
    for layout in transposes(a, b):
        if tuple(layout.split[axis] for axis in layout.axes) == b.values.shape:
            yield layout


def flips(a, b):
    """Those of ``whole``, flipped along one axis or more."""
    for layout in whole(a, b):
        for count in range(1, min(len(layout.axes), 3) + 1):
            for axes in itertools.combinations(range(len(layout.axes)), count):
                yield layout._replace(flipped=axes)


def flattened(a, b):
    """Layouts for an axis of flattened images, such as C, H, W in a and H, W, C in b."""
    shape = a.values.shape
    if shape != b.values.shape:
        return
    for axis, size in enumerate(shape):
        small = [n for n in range(2, int(math.sqrt(size)) + 1) if size % n == 0]
        divisors = sorted({n for d in small for n in (d, size // d)})
        parts = [(n, size // n) for n in divisors]
        parts += [(n, m, size // n // m) for n in divisors for m in divisors if size % (n * m) == 0]
        for part in parts:
            if part[-1] < 2:
                continue
            for order in itertools.permutations(range(len(part))):
                if all(later != earlier + 1 for earlier, later in zip(order, order[1:])):
                    axes = tuple(range(axis)) + tuple(axis + k for k in order)
                    axes += tuple(range(axis + len(part), len(shape) + len(part) - 1))
                    split = shape[:axis] + part + shape[axis + 1 :]
                    yield Layout(split, axes, (), None, None)


def places(a, layouts):
    """The positions of a's sample in the values of each layout: (layouts, sample)."""
    positions = np.empty((len(layouts), len(a.sample)), np.int64)
    for row, layout in enumerate(layouts):
        place = np.zeros(len(a.sample), np.int64)
        index = np.unravel_index(a.sample, layout.split) if layout.split else ()
        for axis, of in enumerate(layout.axes):
            size = layout.split[of]
            at = size - 1 - index[of] if axis in layout.flipped else index[of]
            place = place * size + at
        positions[row] = place
    return positions


def correlations(a, b, layouts):
    """The correlation of a's sample with b's values in each layout, without its sign."""
    ours = a.values.reshape(-1)[a.sample].astype(np.float64)
    some = b.values.reshape(-1)[places(a, layouts)].astype(np.float64)
    return [abs(correlation(ours, theirs)) for theirs in some]


def agreement(a, b, tolerance):
    """The ``Agreement`` of two arrays with the same values; None if there is none.

    Equal values in equal positions agree even if there are too few of them to be proof.
    """
    if a.size != b.size:
        return None
    if not (a.finite and b.finite):
        return unfinished(a, b, tolerance)
    most = allowed(a, b, tolerance)
    if _surely_different(a, b, most):
        return None
    if a.values.shape == b.values.shape:
        off = apart(a.values, b.values)
        if off <= most:
            return Agreement(plain(a), off, proven(a, b, most))
    for make in (transposes, flips, flattened):
        layouts = list(make(a, b))
        if not layouts or not proven(a, b, most, choices=math.log(len(layouts), 2)):
            continue
        near = b.values.reshape(-1)[places(a, layouts)] - a.values.reshape(-1)[a.sample]
        off = np.sqrt((near.astype(np.float64) ** 2).mean(1))
        for row in np.argsort(off, kind="stable")[:4]:
            if off[row] <= 16 * most:
                whole = apart(layouts[row].apply(a.values, b.values.shape), b.values)
                if whole <= most:
                    return Agreement(layouts[row], whole, True)
    return ordered(a, b, most)


def constant(a, b, tolerance):
    """The ``Agreement`` of constants, such as zeros, whose axes are in another order; or None."""
    if a.size != b.size or not (a.finite and b.finite) or a.spread or b.spread:
        return None
    off = abs(a.mean - b.mean)
    layout = next(whole(a, b), None)
    close = layout is not None and off <= allowed(a, b, tolerance)
    return Agreement(layout, off, False) if close else None


def _surely_different(a, b, most):
    """Whether statistics that do not depend on the order rule out that two arrays agree.

    If the RMS distance of all n values is d, means differ by at most d, and single values by at
    most d times the square root of n.
    """
    slack = most + 1e-12 * max(a.rms, b.rms)
    means = ((a.mean, b.mean), (a.rms, b.rms), (a.magnitude, b.magnitude))
    return any(abs(x - y) > slack for x, y in means) or any(
        abs(x - y) > math.sqrt(a.size) * slack for x, y in zip(a.ends, b.ends)
    )


def _alike(a, b):
    """Whether two arrays hold the same values, NaN included."""
    return bool(((a == b) | (np.isnan(a) & np.isnan(b))).all())


def unfinished(a, b, tolerance):
    """The ``Agreement`` of arrays with NaN or infinity in the same places, or None."""
    if a.finite or b.finite:
        return None
    for layout in whole(a, b):
        ours = layout.apply(a.values, b.values.shape)
        there = np.isfinite(ours)
        if not _alike(ours[~there], b.values[~there]):
            continue
        if not there.any():  # such as the constant -inf of a mask; NaN is nobody's constant
            return None if np.isnan(ours).any() else Agreement(layout, 0.0, False)
        same = agreement(a.like(ours[there]), b.like(b.values[there]), tolerance)
        if same is not None:
            return Agreement(layout, same.off, same.proof)
    return None


def ordered(a, b, most):
    """The ``Agreement`` that puts the positions on one axis in another order, or None."""
    for layout in whole(a, b):
        values = layout.apply(a.values, b.values.shape)
        for axis, size in enumerate(b.values.shape):
            if not proven(a, b, most, choices=math.lgamma(size + 1) / math.log(2)):
                continue
            ours, theirs = (np.moveaxis(x, axis, 0).reshape(size, -1) for x in (values, b.values))
            # No other order brings the rows' means as close together as sorting them does.
            means = [np.sort(rows.mean(1, dtype=np.float64)) for rows in (ours, theirs)]
            if apart(*means) > most + 1e-12 * max(a.rms, b.rms):
                continue
            order = matched(ours, theirs)
            if order is None:
                continue
            off = apart(ours[list(order)], theirs)
            if off <= most:
                return Agreement(layout._replace(axis=axis, order=order), off, True)
    return None


def matched(ours, theirs):
    """For each row of ``theirs``, the nearest of ``ours``; None unless each is used once."""
    columns = np.random.RandomState(0).standard_normal((ours.shape[1], 8))
    ours, theirs = np.dot(ours, columns), np.dot(theirs, columns)
    by = np.argsort(ours[:, 0], kind="stable")
    at = np.searchsorted(ours[by, 0], theirs[:, 0])
    near = np.clip(at[:, None] + np.arange(-4, 4), 0, len(by) - 1)
    distances = ((ours[by[near]] - theirs[:, None]) ** 2).sum(-1)
    order = by[near[np.arange(len(by)), distances.argmin(1)]]
    order = tuple(order.tolist())
    return order if len(set(order)) == len(order) else None
