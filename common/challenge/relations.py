"""What relation holds between two arrays: the same values laid out anew, or one made of the other.

Nothing is taken for granted: a relation holds if it brings one array to within rounding of the
other, in all values, and if there are enough values that unrelated ones would hardly do the same.
"""

import itertools
import math
from collections import namedtuple

import numpy as np

TOLERANCE = 1e-5  # of an array's spread, by default: what float32 loses in some hundred layers
ROUNDINGS = 4  # of an array's own type, which it may be off besides
CERTAIN = 20  # bits that must be left: by chance, one in a million
DIGITS = -math.log(TOLERANCE, 2)  # bits that fitting a constant may use up
SHARP = 4  # bits by which an array's spread must be above what it may be off
FEW = 2  # bits in a value of arrays of which so many agree by chance that it says nothing
LOOKED_AT = 256  # values that a layout is tried on
LARGE = 2**20  # values, of which first only some are looked at
COUNTED = 4096  # values that tell how many different ones there are

Relation = namedtuple("Relation", "says before after alike")
Relation.__doc__ = """How B's array is not A's.

says: the relation; what can be seen of the difference if none holds.
before, after: how far apart the arrays are without and with it, in parts of their spread; after is
    None if none holds, before if the arrays cannot be subtracted.
alike: their correlation where no relation holds.
"""
Relation.__new__.__defaults__ = (None, None, None)


class Array:
    """An array of a recording, and what is asked of it more than once."""

    def __init__(self, name, values):
        self.name, self.shape, self.dtype = name, values.shape, values.dtype
        self.axes = [axis for axis, size in enumerate(self.shape) if size != 1]
        values = values.reshape([self.shape[axis] for axis in self.axes])
        floating = values.dtype.kind == "f"
        self.epsilon = float(np.finfo(values.dtype).eps) if floating else 0.0
        if values.dtype.itemsize < 4 or not floating:
            values = values.astype(np.float32 if floating else np.float64)
        self.values, self.size = values, values.size
        self.finite = bool(np.isfinite(values).all())
        if not self.finite:
            return
        self.mean = float(values.mean(dtype=np.float64))
        self.rms = rms(values)
        self.spread = rms(values - self.mean)
        if self.spread <= self.size * np.finfo(np.float64).eps * self.rms:
            self.spread = 0.0  # a constant
        random = np.random.RandomState(0)
        flat = values.reshape(-1)
        # Of an array full of zeros, such as a ReLU's, those that are none tell more.
        some = random.randint(0, self.size, COUNTED) if self.size > COUNTED else slice(None)
        different, counts = np.unique(flat[some], return_counts=True)
        self.common, self.some = different[counts.argmax()], flat[some]
        counts = counts / float(counts.sum())
        self.entropy = -float((counts * np.log2(counts)).sum())  # bits in a value
        telling = np.flatnonzero(flat[: 64 * COUNTED] != self.common)
        both = [random.randint(0, self.size, LOOKED_AT)]
        if len(telling):
            both.append(telling[random.randint(0, len(telling), LOOKED_AT)])
        self.sample = np.unique(np.concatenate(both))

    def __str__(self):
        return "%s (%s)" % (self.name, ", ".join(str(size) for size in self.shape))


def rms(values):
    """Root of the mean square, whatever the values' size."""
    peak = np.float64(np.abs(values).max()) if values.size else np.float64(0)
    if not 0 < peak < np.inf:
        return peak
    flat = np.divide(values, peak, dtype=np.float64).reshape(-1)
    return peak * math.sqrt(np.dot(flat, flat) / flat.size)


def apart(a, b):
    """Root mean square of the difference of two NumPy arrays."""
    return rms(np.subtract(a, b, dtype=np.float64))


def shown(value):
    """A number in three digits."""
    return "%.3g" % value


def proven(a, b, most, constants=0, choices=0.0, part=1.0):
    """Whether it is no chance that two arrays are not more than ``most`` apart.

    constants: numbers that were fitted to them. choices: the logarithm, to base 2, of how many
    relations of this kind there are. part: how much of them was compared.
    """
    spread = min(a.spread, b.spread)
    if not spread:
        return False
    sharp = np.log2(spread / most) if most else np.inf
    bits = min(a.entropy, b.entropy, sharp) * part * a.size
    return bool(sharp >= SHARP and bits - DIGITS * constants - choices >= CERTAIN)


class Layout(namedtuple("Layout", "split axes flipped axis order")):
    """Where the values of an array stand in another one.

    The one's shape is taken as ``split``, its axes are put in the order of ``axes``, some are
    ``flipped``, and all of it is reshaped to the other's shape, in which the places on one ``axis``
    are put in an ``order``.
    """

    def apply(self, values, shape):
        """The values as they stand in the other array."""
        values = values.reshape(self.split).transpose(self.axes)
        if self.flipped:
            values = np.flip(values, self.flipped)
        values = values.reshape(shape)
        return values if self.order is None else values.take(self.order, self.axis)

    def kind(self):
        """What two layouts share that do the same to arrays of other sizes."""
        return self[1:]

    def told(self, a, b):
        """What it does to a's values, in words; None if it leaves them in their order."""
        words, axes = [], self.axes
        if len(axes) > a.values.ndim and a.values.shape == b.values.shape:
            axis = next(n for n, size in enumerate(self.split) if size != a.values.shape[n])
            parts = self.split[axis : axis + len(axes) - a.values.ndim + 1]
            moved = tuple(k - axis for k in axes[axis : axis + len(parts)])
            told = (a.axes[axis], parts, moved)
            words.append("axis %d read as %s and transposed by %s" % told)
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
            first = ", ".join(str(place) for place in self.order[:8])
            more = ", ..." if len(self.order) > 8 else ""
            words.append("axis %d in the order %s%s" % (b.axes[self.axis], first, more))
        return ", ".join(words) or None


def with_ones(a, b, axes):
    """The order of all axes of a, from that of those which are not of size one."""
    moved = [a.axes[axis] for axis in axes]
    ones = [axis for axis in range(len(a.shape)) if axis not in a.axes]
    if len(a.shape) == len(b.shape):
        return tuple(ones.pop(0) if size == 1 else moved.pop(0) for size in b.shape)
    first = [axis for axis in ones if axis < min(a.axes)]
    return tuple(first + moved + ones[len(first) :])


def plain(a):
    """The layout that changes nothing."""
    return Layout(a.values.shape, tuple(range(a.values.ndim)), (), None, None)


def ends(shape):
    """After how many values an axis begins anew, of each axis but the last one."""
    return set(np.cumprod(shape[::-1])[:-1].tolist()) if shape else set()


def transposes(a, b):
    """Layouts that transpose axes and merge neighbours, or take one apart as b's shape has it."""
    ours, theirs = a.values.shape, b.values.shape
    if max(len(ours), len(theirs)) > 6:
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


def flips(a, b):
    """Those of ``transposes`` that leave every axis whole, flipped along one axis or more."""
    for layout in transposes(a, b):
        if tuple(layout.split[axis] for axis in layout.axes) == b.values.shape:
            for count in range(1, min(len(layout.axes), 3) + 1):
                for axes in itertools.combinations(range(len(layout.axes)), count):
                    if all(b.values.shape[axis] > 1 for axis in axes):
                        yield layout._replace(flipped=axes)


def flattened(a, b):
    """Layouts for one axis that is a flattened image: in the order C, H, W here, H, W, C there."""
    shape = a.values.shape
    if shape != b.values.shape:
        return
    for axis, size in enumerate(shape):
        divisors = (
            [n for n in range(2, int(math.sqrt(size)) + 1) if size % n == 0] if size > 3 else []
        )
        divisors = sorted({n for d in divisors for n in (d, size // d)})
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


def places(a, b, layouts):
    """Where a's sample stands in b's values, for each layout: (layouts, sample)."""
    found = np.empty((len(layouts), len(a.sample)), np.int64)
    for row, layout in enumerate(layouts):
        place = np.zeros(len(a.sample), np.int64)
        index = np.unravel_index(a.sample, layout.split) if layout.split else ()
        for axis, of in enumerate(layout.axes):
            size = layout.split[of]
            at = size - 1 - index[of] if axis in layout.flipped else index[of]
            place = place * size + at
        found[row] = place
    return found


def allowed(a, b, tolerance):
    """How far apart two arrays may be that are said to agree, in their own unit."""
    if a.epsilon == b.epsilon == 0:
        return 0.0
    return rounding(max(a.rms, b.rms), a, b) + tolerance * min(a.spread, b.spread)


def rounding(size, a, b):
    """What the coarser one's type loses of values of this size."""
    return ROUNDINGS * max(a.epsilon, b.epsilon) * size


def agreement(a, b, tolerance):
    """(layout, distance, whether it is proof) in which b holds a's values; None if in none.

    That equal values stand in equal places is said even where it is no proof.
    """
    if a.size != b.size or not (a.finite and b.finite):
        return None
    most = allowed(a, b, tolerance)
    # What no order of the values can change differs by no more than the values themselves.
    slack = most + 1e-12 * max(a.rms, b.rms)
    if abs(a.mean - b.mean) > slack or abs(a.rms - b.rms) > slack:
        return None
    if a.values.shape == b.values.shape:
        off = apart(a.values, b.values)
        if off <= most:
            return plain(a), off, proven(a, b, most)
    for make in (transposes, flips, flattened):
        layouts = list(make(a, b))
        if not layouts or not proven(a, b, most, choices=math.log(len(layouts), 2)):
            continue
        near = b.values.reshape(-1)[places(a, b, layouts)] - a.values.reshape(-1)[a.sample]
        off = np.sqrt((near.astype(np.float64) ** 2).mean(1))
        for row in np.argsort(off, kind="stable")[:4]:
            if off[row] <= 16 * most:
                whole = apart(layouts[row].apply(a.values, b.values.shape), b.values)
                if whole <= most:
                    return layouts[row], whole, True
    return ordered(a, b, most)


def ordered(a, b, most):
    """(layout, distance, True) that puts the places on one axis in another order, or None."""
    for layout in transposes(a, b):
        if tuple(layout.split[axis] for axis in layout.axes) != b.values.shape:
            continue
        values = layout.apply(a.values, b.values.shape)
        for axis, size in enumerate(b.values.shape):
            if not proven(a, b, most, choices=math.lgamma(size + 1) / math.log(2)):
                continue
            ours, theirs = (np.moveaxis(x, axis, 0).reshape(size, -1) for x in (values, b.values))
            # Sorted, the means of what stands at each place are as near as they can be.
            means = [np.sort(rows.mean(1, dtype=np.float64)) for rows in (ours, theirs)]
            if apart(*means) > most + 1e-12 * max(a.rms, b.rms):
                continue
            order = matched(ours, theirs)
            if order is None:
                continue
            off = apart(ours[list(order)], theirs)
            if off <= most:
                return layout._replace(axis=axis, order=order), off, True
    return None


def matched(ours, theirs):
    """For each row of ``theirs`` the nearest of ``ours``; None unless each is taken once."""
    columns = np.random.RandomState(0).standard_normal((ours.shape[1], 8))
    ours, theirs = np.dot(ours, columns), np.dot(theirs, columns)
    by = np.argsort(ours[:, 0], kind="stable")
    at = np.searchsorted(ours[by, 0], theirs[:, 0])
    near = np.clip(at[:, None] + np.arange(-4, 4), 0, len(by) - 1)
    distances = ((ours[by[near]] - theirs[:, None]) ** 2).sum(-1)
    order = by[near[np.arange(len(by)), distances.argmin(1)]]
    order = tuple(order.tolist())
    return order if len(set(order)) == len(order) else None


def relu(x):
    """The larger of x and 0."""
    return np.maximum(x, 0)


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def gelu(x):
    """x times the normal distribution's probability of being below x, by its usual formula."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def elu(x):
    """x above 0, exp(x) - 1 below."""
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


ACTIVATIONS = (
    ("ReLU", relu),
    ("ReLU6", lambda x: np.clip(x, 0, 6)),
    ("sigmoid", sigmoid),
    ("tanh", np.tanh),
    ("softplus", lambda x: np.logaddexp(x, 0)),
    ("SiLU", lambda x: x * sigmoid(x)),
    ("GELU (by tanh)", gelu),
    ("ELU", elu),
    ("exponential", lambda x: np.exp(np.minimum(x, 80))),
    ("absolute value", np.abs),
    ("square", np.square),
)


def softmax(x, axis):
    """Exponentials along an axis, in parts of their sum."""
    x = np.exp(x - x.max(axis, keepdims=True))
    return x / x.sum(axis, keepdims=True)


def log_softmax(x, axis):
    """The logarithm of the softmax."""
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def bfloat16(x):
    """Rounded to 8 significant bits."""
    return _rounded(x, 16)


def tf32(x):
    """Rounded to 11 significant bits."""
    return _rounded(x, 13)


def _rounded(x, bits):
    """Float32 with its last bits rounded away, ties to even."""
    x = np.array(x, np.float32).view(np.uint32)
    x = x + (np.uint32((1 << (bits - 1)) - 1) + ((x >> np.uint32(bits)) & np.uint32(1)))
    return (x >> np.uint32(bits) << np.uint32(bits)).view(np.float32)


def float16(x):
    """Rounded to float16."""
    return x.astype(np.float16).astype(np.float32)


PRECISIONS = (("bfloat16", bfloat16), ("float16 or TF32", float16), ("TF32", tf32))


class Comparison:
    """Looks for a relation between two arrays whose values do not agree."""

    def __init__(self, a, b, tolerance, likely=()):
        """likely: kinds of layouts in which b may be expected to have a's values."""
        self.a, self.b, self.tolerance, self.likely = a, b, tolerance, likely

    def relation(self):
        """The first ``Relation`` that holds, simple ones first; what can be seen if none does."""
        for one, other, name in ((self.b, self.a, "B"), (self.a, self.b, "A")):
            if not one.finite:
                wrong = ~np.isfinite(one.values).reshape(one.shape)
                first = tuple(int(n) for n in np.unravel_index(wrong.argmax(), one.shape))
                told = (name, wrong.sum(), one.size, first)
                says = "%s has %d of %d values that are NaN or infinite, the first at %s"
                return Relation(says % told)
            if other.finite and one.size == other.size > 1 and one.spread == 0 < other.spread:
                return Relation("%s is %s everywhere" % (name, shown(one.mean)))
        if self.a.size != self.b.size:
            return Relation("they have not the same number of values")
        with np.errstate(all="ignore"):  # an overflow is no relation
            return self.holding()

    def holding(self):
        """The relation of finite arrays with the same number of values."""
        for look in (self.activation, self.line):
            found = look()
            if found is not None:
                return found
        layout, alike = self.nearest()
        if layout is None:
            return Relation("no relation found; neither shape is the other's, transposed")
        moved = layout.apply(self.a.values, self.b.values.shape)
        ways = ((self.b.values, moved, "B is A"), (moved, self.b.values, "A is B"))
        looks = [
            (look, way)
            for look in (self.digits, self.clipped, self.bent, self.masked)
            for way in ways
        ]
        looks += [(look, (moved, self.b.values, "")) for look in (self.along_an_axis, self.in_part)]
        for look, (one, other, words) in looks:
            # What does not hold for some does not hold for all.
            some = slice(None, None, 1 + one.size // LARGE)
            if look != self.in_part and one.size > LARGE and look(one[some], other[some]) is None:
                continue
            found = look(one, other)
            if found is not None:
                told = layout.told(self.a, self.b)
                told = told and words == "A is B" and "where A is " + told or told
                return found._replace(says=joined(words + found.says, told))
        before = apart(moved, self.b.values) / (self.b.spread or 1)
        return Relation(self.unknown(moved, alike, before), before, None, alike)

    def near(self, says, fitted, values, other, constants=0, part=1.0, lost=0.0):
        """The ``Relation`` that ``fitted``, made of ``other``, is ``values``; None if it is not.

        lost: the size of what cancels in it.
        """
        spread = rms(values - values.mean(dtype=np.float64))
        most = self.tolerance * spread
        most += rounding(max(rms(values), lost), self.a, self.b)
        off = apart(fitted, values)
        if off <= most and proven(self.a, self.b, most, constants, part=part):
            return Relation(says, apart(other, values) / spread, off / spread)
        return None

    def agrees(self, values, source, target, constants=0, cancelled=1.0):
        """(layout, distance) in which ``target`` has values made of ``source``; None if in none."""
        made = Array(source.name, values.reshape(source.shape))
        made.epsilon = max(source.epsilon, np.finfo(np.float64).eps) * cancelled
        if not made.finite:
            return None
        most = allowed(made, target, self.tolerance)
        if not proven(made, target, most, constants):
            return None
        found = agreement(made, target, self.tolerance)
        return found and found[:2]

    def activation(self):
        """Whether one is an activation of the other."""
        found = []
        for source, target, says in (
            (self.a, self.b, "B is the %s of A"),
            (self.b, self.a, "A is the %s of B"),
        ):
            for name, values in activated(source, target, self.tolerance):
                agreed = self.agrees(values, source, target)
                if agreed is not None:
                    layout, off = agreed
                    before = apart(layout.apply(source.values, target.values.shape), target.values)
                    words = joined(says % name, layout.told(source, target))
                    found.append(Relation(words, before / target.spread, off / target.spread))
        return min(found, key=lambda one: one.after) if found else None

    def line(self):
        """Whether b is a times a number, plus another one."""
        a, b = self.a, self.b
        if not a.spread or not b.spread:
            return None
        for factor in (b.spread / a.spread, -b.spread / a.spread):
            values = (a.values - a.mean) * factor + b.mean
            lost = abs(factor) * a.rms
            agreed = self.agrees(values, a, b, 2, max(1.0, lost / b.rms))
            if agreed is None:
                continue
            moved = agreed[0].apply(a.values, b.values.shape)
            scale = mean_product(moved, b.values) / a.rms**2
            shift = b.mean - a.mean
            times = "times %s" % shown(scale)
            if abs(1 / scale) > 1.5 and abs(np.rint(1 / scale) * scale - 1) < self.tolerance:
                times = "divided by %d" % np.rint(1 / scale)
            both = "times %s, %s" % (shown(factor), signed(b.mean - factor * a.mean))
            fits = [
                self.near("B is A " + times, moved * scale, b.values, moved, 1),
                self.near("B is A " + signed(shift), moved + shift, b.values, moved, 1, lost=lost),
            ]
            values = (moved - a.mean) * factor + b.mean
            fits = [one for one in fits if one is not None] or [
                Relation(
                    "B is A " + both,
                    apart(moved, b.values) / b.spread,
                    apart(values, b.values) / b.spread,
                )
            ]
            found = min(fits, key=lambda one: one.after)
            return found._replace(says=joined(found.says, agreed[0].told(a, b)))
        return None

    def nearest(self):
        """(layout, correlation) of the layout in which the two are most alike; a likely one first.

        (None, 0) if there is none.
        """
        a, b = self.a, self.b
        layouts = sorted(transposes(a, b), key=lambda one: one.kind() not in self.likely)
        if not layouts:
            return None, 0.0
        ours = a.values.reshape(-1)[a.sample].astype(np.float64)
        some = b.values.reshape(-1)[places(a, b, layouts)].astype(np.float64)
        alike = [abs(correlation(ours, theirs)) for theirs in some]
        best = layouts[next(n for n, one in enumerate(alike) if one >= 0.99 * max(alike))]
        moved = best.apply(a.values, b.values.shape)
        return best, correlation(moved.reshape(-1), b.values.reshape(-1))

    def digits(self, one, other):
        """Whether one is the other one, rounded."""
        for precision, rounded in PRECISIONS:
            if np.array_equal(rounded(one), one):
                says = " rounded to %s, and has its digits alone" % precision
                spread = rms(one - one.mean(dtype=np.float64))
                off, before = apart(rounded(other), one), apart(other, one)
                # What is near the middle of two steps may be rounded to the other one.
                if off <= before / 4 and proven(self.a, self.b, before):
                    return Relation(says, before / spread, off / spread)
        return None

    def clipped(self, one, other):
        """Whether one is the other one, held between two bounds."""
        low, high = float(one.min()), float(one.max())
        part = ((other > low) & (other < high)).mean()
        says = " held between %s and %s" % (shown(low), shown(high))
        return self.near(says, np.clip(other, low, high), one, other, 2, part)

    def bent(self, one, other):
        """Whether one is the other one, its negative part times a number."""
        low = other < 0
        if not low.any():
            return None
        slope = mean_product(one[low], other[low]) / rms(other[low]) ** 2
        says = " with its negative part times %s, a leaky ReLU" % shown(slope)
        return self.near(says, np.where(low, slope * other, other), one, other, 1, low.mean())

    def masked(self, one, other):
        """Whether one is the other one with some values set to 0, and the others scaled."""
        there, kept = other != 0, one != 0
        if not (there & ~kept).any() or not kept.any():
            return None
        scale = mean_product(one[kept], other[kept]) / rms(other[kept]) ** 2
        by = "" if abs(scale - 1) < 1e-4 else ", the others times %s" % shown(scale)
        share = 100 * (there & ~kept).sum() / float(there.sum())
        says = " with %.1f%% of the values that are not 0 set to 0%s: a mask" % (share, by)
        return self.near(says, other * scale * kept, one, other, 1, kept.mean())

    def along_an_axis(self, ours, theirs):
        """Whether b is a, shifted or scaled by another number at each place on an axis."""
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
                told = (says, self.b.axes[axis], shown(numbers.min()), shown(numbers.max()))
                says = "B is A %s for each place on axis %d, from %s to %s" % told
                found = self.near(says, fitted, values, other, constants * size, lost=lost)
                if found is not None:
                    return found
        return None

    def in_part(self, ours, theirs):
        """Whether some of the values agree."""
        if min(self.a.entropy, self.b.entropy) < FEW:
            return None  # every other value is the same by chance
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
        both = [Array("", values) for values in rest]
        if agreement(both[0], both[1], self.tolerance) is None or not proven(*both, most=most):
            return None
        before = apart(ours, theirs) / self.b.spread
        return Relation("they differ %s alone" % where, before, apart(*rest) / self.b.spread)

    def where(self, wrong, share):
        """Where values are wrong, in words, if most are not, or only those at the border are."""
        found = []
        for axis, size in enumerate(wrong.shape):
            at = np.flatnonzero(wrong.any(tuple(n for n in range(wrong.ndim) if n != axis)))
            if 2 * len(at) <= size:
                found.append((len(at) / float(size), axis, at))
        if found and wrong.any():
            _, axis, at = min(found, key=lambda one: one[:2])
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
        """What can be seen where no relation holds."""
        if self.a.size == 1:
            told = (shown(self.a.mean), shown(self.b.mean))
            return "%s and %s: one number each shows no relation" % told
        if not proven(self.a, self.b, allowed(self.a, self.b, self.tolerance)):
            return "too few different values to show a relation"
        says = "no relation found; correlation %.6g" % alike
        sizes = [
            (abs(np.log(off / lost)), name, lost)
            for name, rounded in PRECISIONS
            for lost in [apart(rounded(moved), moved) / (self.a.spread or 1)]
            if 0 < lost < np.inf and off
        ]
        if sizes and min(sizes)[0] < math.log(4):
            _, name, lost = min(sizes)
            says += ", a difference of the size of rounding to %s (%s)" % (name, shown(lost))
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


def joined(says, told):
    """A relation in words, with those of a layout."""
    return says + (", " + told if told else "")


def slopes(other, values):
    """For each row the number that brings ``other`` nearest to ``values``."""
    squares = (other**2).sum(1, keepdims=True)
    return (other * values).sum(1, keepdims=True) / np.where(squares, squares, 1)


def signed(value):
    """A number to be added, in words."""
    return "%s %s" % ("minus" if value < 0 else "plus", shown(abs(value)))


def mean_product(a, b):
    """The mean of the products of two arrays' values."""
    return np.multiply(a, b, dtype=np.float64).mean()


def correlation(a, b):
    """Of two rows of values; 0 if one of them is constant."""
    a, b = a - a.mean(dtype=np.float64), b - b.mean(dtype=np.float64)
    sizes = rms(a), rms(b)
    return mean_product(a / sizes[0], b / sizes[1]) if all(sizes) else 0.0
