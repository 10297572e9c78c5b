"""The relation between two arrays that differ: a factor, an activation, a mask, a rounding.

A relation is named only if it maps all values of one array to the other's within rounding, and if
there are too many values for that to be chance.
"""

import itertools
import math
from collections import namedtuple

import numpy as np

from common.compare import noise
from common.compare.arrays import (
    COUNTED,
    ROUNDINGS,
    Array,
    allowed,
    apart,
    correlation,
    factor,
    mean_product,
    proven,
    rms,
    rounding,
    shown,
)
from common.compare.functions import ACTIVATIONS, PRECISIONS, log_softmax, softmax
from common.compare.layouts import agreement, correlations, transposes

SHOWN = 8  # values of an array that are printed
FEW = 2  # bits in a value; with fewer, too many values agree by chance
LESS = 10  # a relation must make the difference this many times smaller
HALVINGS = 60
LEAST = 1e-3  # times the largest value, and 1 / LEAST times it: the bounds of a cap
FARTHEST = 4  # places that all values may have moved by
LARGE = 2**20  # values; of larger arrays only some are tried first
Relation = namedtuple("Relation", "says before after alike partial activates")
Relation.__doc__ = """How B's array differs from A's.

says: the relation; if none holds, a description of the difference.
before, after: the distance without and with it, relative to the spread. after is None if none
    holds; before is None if the arrays cannot be subtracted.
alike: the correlation, if no relation holds.
partial: whether it only says that some values agree.
activates: whether B's array is an activation of A's.
"""
Relation.__new__.__defaults__ = (None, None, None, False, False)


class Comparison:
    """Looks for a relation between two arrays whose values do not agree."""

    def __init__(self, a, b, tolerance, likely=(), fresh=True):
        """likely: kinds of layouts in which earlier arrays of b held a's values.

        fresh: whether no earlier pair shows that both compute in full precision.
        """
        self.a, self.b, self.tolerance, self.likely = a, b, tolerance, likely
        self.fresh = fresh

    def relation(self):
        """The first ``Relation`` that holds, simple ones first, or a description."""
        for array, other, name in ((self.b, self.a, "B"), (self.a, self.b, "A")):
            if not array.finite:
                wrong = ~np.isfinite(array.values).reshape(array.shape)
                first = tuple(int(n) for n in np.unravel_index(wrong.argmax(), array.shape))
                says = "%s has %d of %d values that are NaN or infinite, the first at %s"
                if not other.finite:
                    says += "; A has %d" % (~np.isfinite(other.values)).sum()
                return Relation(says % (name, wrong.sum(), array.size, first))
            if other.finite and array.size == other.size > 1 and array.spread == 0 < other.spread:
                return Relation("%s is %s everywhere" % (name, shown(array.mean)))
        if self.a.size != self.b.size:
            return Relation("A has %d values, B has %d" % (self.a.size, self.b.size))
        with np.errstate(all="ignore"):  # an overflow is no relation
            return self.holding()

    def holding(self):
        """The relation of finite arrays with the same number of values."""
        for look in (self.activation, self.line):
            relation = look()
            if relation is not None and telling(relation):
                return relation
        layout, alike = self.nearest()
        if layout is None:
            return Relation("no relation found; neither shape is the other's, transposed")
        moved = layout.apply(self.a.values, self.b.values.shape)
        ways = ((self.b.values, moved, "B is A"), (moved, self.b.values, "A is B"))
        looks = [
            (look, way)
            for look in (self.digits, self.clipped, self.capped, self.bent, self.masked)
            for way in ways
        ]
        looks += [
            (look, (moved, self.b.values, ""))
            for look in (self.along_an_axis, self.moved_by, self.in_part)
        ]
        for look, (values, other, words) in looks:
            # A relation that fails for some values fails for all.
            some = slice(None, None, 1 + values.size // LARGE)
            whole = (self.in_part, self.moved_by)
            large = look not in whole and values.size > LARGE
            if large and look(values[some], other[some]) is None:
                continue
            relation = look(values, other)
            if relation is not None and telling(relation):
                moves = layout.words(self.a, self.b)
                moves = moves and words == "A is B" and "where A is " + moves or moves
                return relation._replace(says=joined(words + relation.says, moves))
        before = apart(moved, self.b.values) / (self.b.spread or 1)
        return Relation(self.unknown(moved, alike, before), before, None, alike)

    def near(self, says, fitted, values, other, *, constants=1, part=1.0, lost=0.0):
        """The ``Relation`` that ``fitted``, made of ``other``, is ``values``; None if it is not.

        constants: how many numbers were fitted. part: the share of the values that was compared.
        lost: the size of the terms that cancel in it.
        """
        spread = rms(values - values.mean(dtype=np.float64))
        most = self.tolerance * spread
        most += rounding(max(rms(values), lost), self.a, self.b)
        off = apart(fitted, values)
        if off <= most and proven(self.a, self.b, most, constants, part=part):
            return Relation(says, apart(other, values) / spread, off / spread)
        return None

    def agrees(self, values, source, target, constants=0, cancelled=1.0):
        """(layout, distance) in which ``target`` holds values made of ``source``; or None."""
        made = Array(source.name, values.reshape(source.shape))
        made.epsilon = max(source.epsilon, np.finfo(np.float64).eps) * cancelled
        if not made.finite:
            return None
        most = allowed(made, target, self.tolerance)
        if not proven(made, target, most, constants):
            return None
        same = agreement(made, target, self.tolerance)
        return same and (same.layout, same.off)

    def activation(self):
        """Whether one array is an activation of the other."""
        relations = []
        for source, target, says in (
            (self.a, self.b, "B is the %s of A"),
            (self.b, self.a, "A is the %s of B"),
        ):
            for name, values in activated(source, target, self.tolerance):
                agreed = self.agrees(values, source, target)
                if agreed is not None:
                    layout, off = agreed
                    before = apart(layout.apply(source.values, target.values.shape), target.values)
                    words = joined(says % name, layout.words(source, target))
                    near = before / target.spread, off / target.spread
                    relations.append(Relation(words, *near, activates=target is self.b))
        return min(relations, key=lambda relation: relation.after) if relations else None

    def line(self):
        """Whether b is a times a number, plus another one."""
        a, b = self.a, self.b
        if not a.spread or not b.spread:
            return None
        for slope in (b.spread / a.spread, -b.spread / a.spread):
            values = (a.values - a.mean) * slope + b.mean
            lost = abs(slope) * a.rms
            agreed = self.agrees(values, a, b, 2, max(1.0, lost / b.rms))
            if agreed is None:
                continue
            moved = agreed[0].apply(a.values, b.values.shape)
            scale = mean_product(moved, b.values) / a.rms**2
            shift = b.mean - a.mean
            times = "times %s" % factor(scale)
            if 1.5 < abs(1 / scale) < 1e6 and abs(np.rint(1 / scale) * scale - 1) < self.tolerance:
                times = "divided by %d" % np.rint(1 / scale)
            both = "times %s, %s" % (factor(slope), signed(b.mean - slope * a.mean))
            fits = [
                self.near("B is A " + times, moved * scale, b.values, moved),
                self.near("B is A " + signed(shift), moved + shift, b.values, moved, lost=lost),
            ]
            values = (moved - a.mean) * slope + b.mean
            fits = [fit for fit in fits if fit is not None] or [
                Relation(
                    "B is A " + both,
                    apart(moved, b.values) / b.spread,
                    apart(values, b.values) / b.spread,
                )
            ]
            relation = min(fits, key=lambda relation: relation.after)
            return relation._replace(says=joined(relation.says, agreed[0].words(a, b)))
        return None

    def nearest(self):
        """(layout, correlation) in which the two are most alike; likely layouts come first.

        (None, 0) if there is none.
        """
        a, b = self.a, self.b
        layouts = sorted(transposes(a, b), key=lambda layout: layout.kind() not in self.likely)
        if not layouts:
            return None, 0.0
        alike = correlations(a, b, layouts)
        best = layouts[next(n for n, size in enumerate(alike) if size >= 0.99 * max(alike))]
        moved = best.apply(a.values, b.values.shape)
        return best, correlation(moved.reshape(-1), b.values.reshape(-1))

    def digits(self, values, other):
        """Whether ``values`` are ``other``, rounded."""
        for precision, rounded in PRECISIONS:
            if np.array_equal(rounded(values), values):
                says = " rounded to %s, and has its digits alone" % precision
                spread = rms(values - values.mean(dtype=np.float64))
                off, before = apart(rounded(other), values), apart(other, values)
                # A value near the middle of two steps may be rounded to the other one.
                if off <= before / 4 and proven(self.a, self.b, before):
                    return Relation(says, before / spread, off / spread)
        return None

    def clipped(self, values, other):
        """Whether ``values`` are ``other``, held between two bounds."""
        low, high = float(values.min()), float(values.max())
        part = ((other > low) & (other < high)).mean()
        says = " held between %s and %s" % (shown(low), shown(high))
        return self.near(says, np.clip(other, low, high), values, other, constants=2, part=part)

    def capped(self, values, other):
        """Whether ``values`` are ``other``, softly held below a number by a tanh."""
        most = np.abs(other).argmax()
        x, y = (abs(float(z.reshape(-1)[most])) for z in (other, values))
        if not LEAST * x < y < x:
            return None
        low, high = y, x / LEAST
        for _ in range(HALVINGS):
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (middle, high) if middle * math.tanh(x / middle) < y else (low, middle)
        says = " capped by a tanh, %s tanh(x / %s)" % ((shown(low),) * 2)
        return self.near(says, low * np.tanh(other / low), values, other)

    def bent(self, values, other):
        """Whether ``values`` are ``other``, its negative part times a number."""
        low = other < 0
        if not low.any():
            return None
        slope = mean_product(values[low], other[low]) / rms(other[low]) ** 2
        says = " with its negative part times %s, a leaky ReLU" % shown(slope)
        return self.near(says, np.where(low, slope * other, other), values, other, part=low.mean())

    def masked(self, values, other):
        """Whether ``values`` are ``other`` with some values set to 0, and the others scaled."""
        there, kept = other != 0, values != 0
        if not (there & ~kept).any() or not kept.any():
            return None
        scale = mean_product(values[kept], other[kept]) / rms(other[kept]) ** 2
        by = "" if abs(scale - 1) < 1e-4 else ", the others times %s" % shown(scale)
        share = 100 * (there & ~kept).sum() / float(there.sum())
        says = " with %.1f%% of the values that are not 0 set to 0%s: a mask" % (share, by)
        rate = 1 - 1 / scale if scale > 1 else 0.0
        if by and abs(share / 100 - rate) < 5 * np.sqrt(rate * (1 - rate) / there.sum()):
            says += ", as by dropout at a rate of %s" % shown(rate)
        return self.near(says, other * scale * kept, values, other, part=kept.mean())

    def along_an_axis(self, ours, theirs):
        """Whether b is a, shifted or scaled by its own number at each place on an axis."""
        for axis, size in enumerate(theirs.shape):
            other, values = (
                np.moveaxis(x, axis, 0).reshape(size, -1).astype(np.float64) for x in (ours, theirs)
            )
            means = [rows.mean(1, keepdims=True) for rows in (other, values)]
            shift = means[1] - means[0]
            scale = slopes(other, values)
            slope = slopes(other - means[0], values)
            fits = (
                ("plus a number", shift, other + shift, 1, self.a.rms),
                ("times a number", scale, other * scale, 1, 0.0),
                (
                    "times a number, plus another,",
                    slope,
                    (other - means[0]) * slope + means[1],
                    2,
                    rms(other * slope),
                ),
            )
            for says, numbers, fitted, constants, lost in fits:
                ends = (factor(numbers.min()), factor(numbers.max()))
                says = "B is A %s for each place on axis %d" % (says, self.b.axes[axis])
                says += ", from %s to %s" % ends
                count = constants * size
                relation = self.near(says, fitted, values, other, constants=count, lost=lost)
                if relation is not None:
                    return relation
        return None

    def moved_by(self, ours, theirs):
        """Whether b is a, moved by some places along an axis; its ends do not count."""
        for axis, size in enumerate(theirs.shape):
            one, other = (np.moveaxis(x, axis, 0) for x in (ours, theirs))
            for count in range(1, min(FARTHEST, size // 2) + 1):
                for values, moved, sign in (
                    (one[:-count], other[count:], 1),
                    (one[count:], other[:-count], -1),
                ):
                    says = "B is A, moved by %d along axis %d" % (sign * count, self.b.axes[axis])
                    part = 1 - count / float(size)
                    # The distance before the move is that of the arrays as they are.
                    found = self.near(says, values, moved, moved, part=part)
                    if found is not None:
                        before = apart(ours, theirs) / self.b.spread
                        return found._replace(before=before, partial=True)
        return None

    def in_part(self, ours, theirs):
        """Whether some of the values agree."""
        if min(self.a.entropy, self.b.entropy) < FEW:
            return None  # every second value is the same by chance
        most = allowed(self.a, self.b, self.tolerance)
        wrong = np.abs(np.subtract(theirs, ours, dtype=np.float64)) > 16 * most
        telling = (theirs != self.b.common) | (ours != self.a.common)
        share = (wrong & telling).sum() / float(max(1, telling.sum()))
        where = self.where(wrong, share)
        if where is None:
            return None
        rest = [values[telling & ~wrong] for values in (ours, theirs)]
        if not rest[0].size:
            return None
        both = [array.like(values) for array, values in zip((self.a, self.b), rest)]
        if agreement(both[0], both[1], self.tolerance) is None or not proven(*both, most=most):
            return None
        before = apart(ours, theirs) / self.b.spread
        after = apart(*rest) / self.b.spread
        return Relation("they differ %s alone" % where, before, after, partial=True)

    def where(self, wrong, share):
        """Where values are wrong, in words, if most are right or only the border is wrong."""
        narrow = []
        for axis, size in enumerate(wrong.shape):
            at = np.flatnonzero(wrong.any(tuple(n for n in range(wrong.ndim) if n != axis)))
            if 2 * len(at) <= size:
                narrow.append((len(at) / float(size), axis, at))
        if narrow and wrong.any():
            _, axis, at = min(narrow, key=lambda part: part[:2])
            run = len(at) > 2 and at[-1] - at[0] == len(at) - 1
            named = "%d to %d" % (at[0], at[-1]) if run else ", ".join(map(str, at[:8]))
            named += ", ..." if not run and len(at) > 8 else ""
            return "at %s of axis %d" % (named, self.b.axes[axis])
        for axes in itertools.combinations(range(wrong.ndim), 2):
            for width in (1, 2, 3):
                inner = [slice(None)] * wrong.ndim
                for axis in axes:
                    inner[axis] = slice(width, -width)
                inside = wrong[tuple(inner)]
                if inside.size and share > 0.02 and not inside.any():
                    return "at the border of axes %d and %d" % tuple(self.b.axes[k] for k in axes)
        return "in %d of %d values" % (wrong.sum(), wrong.size) if 0 < share <= 0.5 else None

    def unknown(self, moved, alike, off):
        """A description of arrays between which no relation holds."""
        if self.a.size == 1:
            numbers = (shown(self.a.mean), shown(self.b.mean))
            return "%s and %s: one number each shows no relation" % numbers
        if not proven(self.a, self.b, allowed(self.a, self.b, self.tolerance)):
            says = "too few different values to show a relation"
            if self.a.size <= SHOWN:
                values = (", ".join(map(shown, x.reshape(-1))) for x in (moved, self.b.values))
                says += ": %s in A, %s in B" % tuple(values)
            return says
        says = "no relation found; correlation %.6g" % alike
        if not (self.fresh and noise.looks_like_rounding(moved, self.b.values)):
            return says
        sizes = [
            (abs(np.log(off / lost)), name, lost)
            for name, rounded in PRECISIONS
            for lost in [apart(rounded(moved), moved) / (self.a.spread or 1)]
            if 0 < lost < np.inf and off
        ]
        if sizes and min(sizes)[0] < math.log(4):
            _, name, lost = min(sizes)
            says += ", noise of the size of rounding to %s (%s)" % (name, shown(lost))
        return says


def activated(source, target, tolerance):
    """Yield (name, values) of activations of ``source`` whose mean is ``target``'s."""
    slack = 2 * (
        tolerance * target.spread + ROUNDINGS * (source.epsilon + target.epsilon) * target.rms
    )
    for name, function in ACTIVATIONS:
        some = function(source.some)
        if np.array_equal(some, source.some) or abs(some.mean() - target.mean) > slack + (
            8 * some.std() / math.sqrt(some.size) if source.size > COUNTED else 0
        ):
            continue
        values = function(source.values)
        if abs(values.mean(dtype=np.float64) - target.mean) <= slack:
            yield name, values
    low, high = float(target.values.min()), float(target.values.max())
    for axis, size in enumerate(source.values.shape):
        along = "%s along axis %d"
        if low >= 0 and abs(target.mean - 1.0 / size) <= 1e-3 / size:
            yield along % ("softmax", source.axes[axis]), softmax(source.values, axis)
        if high <= 0 and abs(target.mean) >= math.log(size):
            yield along % ("log-softmax", source.axes[axis]), log_softmax(source.values, axis)


def telling(relation):
    """Whether a relation makes the difference at least ten times smaller."""
    return relation.before is None or LESS * relation.after <= relation.before


def joined(says, layout):
    """A relation and a layout in words."""
    return says + (", " + layout if layout else "")


def slopes(other, values):
    """For each row, the factor that brings ``other`` nearest to ``values``."""
    squares = (other**2).sum(1, keepdims=True)
    return (other * values).sum(1, keepdims=True) / np.where(squares, squares, 1)


def signed(value):
    """A number to be added, in words."""
    return "%s %s" % ("minus" if value < 0 else "plus", shown(abs(value)))
