"""Which arrays of two recordings hold the same values.

A recording is a file of arrays in the order in which they were computed, the inputs first.
"""

from collections import defaultdict, namedtuple
from functools import partial

import numpy as np

from common.compare import digits, names, repeated, rounding_only, streams, tensors
from common.compare.arrays import TOLERANCE, Array, apart
from common.compare.layouts import agreement, constant, plain
from common.compare.optimizers import steps
from common.system import array_files
from common.system.errors import InputError

PARTS = 8  # of a recording; a repeated value is paired within the same part of both, if possible
MANY = 16  # values whose error is measured well
ENDS = 32  # a network's result may be paired with what lies in the last part of the other side
LAST = 3  # or is among its last arrays
OTHER = 0.25  # of an array's spread: no precision is so far from float64

Pair = namedtuple("Pair", "a b layout off")
Pair.__doc__ = """Arrays that agree: their numbers in A and in B, the layout, and their distance."""


def read(path):
    """A recording: a list of ``Array``; InputError if it is none."""
    arrays = [Array(name, array) for name, array in nonempty(path)]
    if not arrays:
        raise InputError("%s contains no array" % path)
    if not arrays[0].finite:
        raise InputError("%s: %s contains NaN or infinity already" % (path, arrays[0].name))
    digits.settle(arrays, _is_parameter)
    return arrays


def _is_parameter(name):
    """Whether a name is that of a parameter, or of weights or statistics around a step."""
    return names.is_parameter(name) or steps.kind(name)[0] in ("weight", "start")


def add_units(arrays, path, exact):
    """Give each array the error of float32 in it, from a recording of the same pass in float64."""
    known = {array.name: array for array in read(exact)}
    for array in arrays:
        other = known.get(array.name)
        if other is None:
            raise InputError("%s lacks %s, which %s has" % (exact, array.name, path))
        if other.shape != array.shape:
            raise InputError(
                "%s: %s has the shape %s, not %s" % (exact, array.name, other.shape, array.shape)
            )
        if array.finite and other.finite and array.dtype.kind == "f":
            array.unit = apart(array.values, other.values)
    judged = [array for array in arrays if array.unit is not None]
    if judged and all(known[array.name].epsilon >= array.epsilon for array in judged):
        raise InputError("%s is no more precise than %s: record it in float64" % (exact, path))
    for array in judged:
        array.unit = array.unit or None  # equal bit for bit: float32's error was not measured
    judged = [array for array in judged if array.unit]
    spread = [array for array in judged if array.spread]
    far = [array for array in spread if array.unit > OTHER * array.spread]
    if 2 * len(far) > len(spread):
        words = (exact, path, far[0].name)
        raise InputError("%s is not the pass of %s in float64: %s is another array" % words)
    for array in far:  # such as another sample; a gradient may be nothing but rounding
        if steps.kind(array.name)[0] == "plain":
            array.unit = None
    # One number's error may be small by chance, such as that of a loss.
    usual = [x.unit / x.scale for x in judged if x.unit and x.size >= MANY]
    for array in judged if usual else ():
        if array.unit and array.size < MANY:
            array.unit = max(array.unit, min(float(np.median(usual)), TOLERANCE) * array.scale)


def nonempty(path):
    """Yield (name, array); InputError for an array without values.

    A complex array becomes real and imaginary parts along a last axis.
    """
    for name, array in array_files.read(path, kinds=array_files.NUMBERS + "c").items():
        if not array.size:
            raise InputError("%s: %s is empty" % (path, name))
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag], -1)
        yield name, array


def places_by_size(arrays):
    """{size: places of arrays with so many values}; arrays of different sizes never agree."""
    places = defaultdict(list)
    for place, array in enumerate(arrays):
        places[array.size].append(place)
    return places


def _first_copies(arrays):
    """For each array the place of the first of those in a row that have its values."""
    starts = []
    for place, array in enumerate(arrays):
        before = arrays[place - 1] if place else None
        same = before and before.ends == array.ends and np.array_equal(before.values, array.values)
        starts.append(starts[-1] if same else place)
    return starts


def _written_alike(a, b):
    """Whether names and numbers of axes are the same; sizes, such as that of heads, may differ."""
    alike = len(a.shape) == len(b.shape) > 2 and a.shape[0] == b.shape[0]
    return alike and names.written(a.name) == names.written(b.name)


def _at_the_end(outputs):
    """For each array whether it is one of the last that were computed, or the network's result."""
    found, left = [], max(LAST, len(outputs) // ENDS)
    for output in reversed(outputs):
        found.append(left > 0 or output)
        left -= not output
    return found[::-1]


def _apart(ours, theirs):
    """Whether two arrays belong to different steps of training; then they must not be paired.

    If B's first step moves no weights, B's weights after step 2 equal A's after step 1: a mistake.
    """
    return None not in (ours, theirs) and ours != theirs


def _orders_of_axes(recordings):
    """The transpositions among the pairs."""
    layouts = {pair.layout for pair in recordings.pairs}
    return sorted({x.axes for x in layouts if x.order is None and not x.flipped})


def _of_observations(recordings):
    """[(number of the pair, distance)] of those that were computed from each observation."""
    return [
        (number, pair.off)
        for number, pair in enumerate(recordings.pairs)
        if recordings.agreement(pair.a, pair.b).proof
        and recordings.a[pair.a].dtype.kind == "f"
        and recordings.has_rows(pair.a, pair.b)
        and not recordings.is_parameter(pair)
    ]


def _any_apart(recordings):
    """Whether any pair is not equal bit for bit."""
    return any(pair.off for pair in recordings.pairs)


class Recordings:
    """Two recordings, and the pairs of their arrays that agree."""

    def __init__(self, a, b, tolerance):
        self.tolerance = tolerance
        a, b = repeated.once(a, b), repeated.once(b, a)
        self.a, self.b = a, b
        self.tensors = tensors.matched(a, b, tolerance)
        self.b = tensors.in_order(a, b, self.tensors)
        positions = {array.name: position for position, array in enumerate(a)}
        if all(names.has_name(array.name) and array.name in positions for array in b):
            self.b = sorted(b, key=lambda array: positions[array.name])  # the same order in both
        self.computed = list(range(len(b)))  # when each of B's arrays was computed
        self._pair()
        order = streams.order(self)
        if order is not None:
            self.b, self.computed = [self.b[j] for j in order], order
            self._pair()

    def _pair(self):
        """Pair the arrays by name and by value, in the order that they have."""
        self.named = {
            i: j
            for i, j in names.same([x.name for x in self.a], [x.name for x in self.b]).items()
            if self.a[i].size == self.b[j].size or _written_alike(self.a[i], self.b[j])
        }
        self.named.update(self._of_steps())
        self.moments = [[steps.moment(x.name) for x in side] for side in (self.a, self.b)]
        self.sizes = [places_by_size(arrays) for arrays in (self.a, self.b)]
        self.starts = [_first_copies(arrays) for arrays in (self.a, self.b)]
        self.outputs = [[names.is_output(x.name) for x in side] for side in (self.a, self.b)]
        self.at_the_end = [_at_the_end(outputs) for outputs in self.outputs]
        self.agreements = {}
        self.optimizers = None  # set by ``optimizers.explain``
        self.rounding_only = rounding_only.accept(self)
        self.pairs = self.aligned()

    def _of_steps(self):
        """{place in A: place in B} of arrays of steps; other pairs of these places are dropped.

        In B, other words may come between the words for the step and a tensor's name.
        """
        found = tensors.places(self.a, self.b, self.tensors)
        found = {i: j for i, j in found.items() if self.a[i].size == self.b[j].size}
        taken = set(found.values())
        for i in [i for i, j in self.named.items() if j in taken]:
            del self.named[i]
        return found

    def same_name(self, i, j):
        """Whether two arrays have the same name, which is not positional."""
        return self.named.get(i) == j

    def agreement(self, i, j):
        """``Agreement`` of two arrays; None if they do not agree."""
        if self.a[i].size != self.b[j].size:
            return None
        if (i, j) not in self.agreements:
            a, b, moments = self.a[i], self.b[j], (self.moments[0][i], self.moments[1][j])
            masked = (a.mask is None) != (b.mask is None)  # on one side alone
            unlike = masked or _apart(*moments)
            same = None if unlike else agreement(a, b, self.tolerance)
            if same is not None and not same.proof and a.values.shape != b.values.shape:
                same = None
            if same is None and self.same_name(i, j) and not unlike:
                same = constant(a, b, self.tolerance)
            self.agreements[i, j] = same
        return self.agreements[i, j]

    def agreeing(self, i):
        """Yield the places in B of arrays that agree with one of A."""
        return (j for j in self.sizes[1][self.a[i].size] if self.agreement(i, j))

    def crossing(self, end=None):
        """Yield (place in A, place in B) of arrays that surely agree, but not in both orders.

        end: the place in A before which they are sought.
        """
        taken = {pair.a for pair in self.pairs}, {pair.b for pair in self.pairs}
        for i in range(len(self.a) if end is None else end):
            if i not in taken[0]:
                j = next((j for j in self.agreeing(i) if j not in taken[1]), None)
                if j is not None and self.agreement(i, j).proof:
                    taken[1].add(j)
                    yield i, j

    def repeats(self, i, j):
        """Whether another pair has the same values, such as those after a dropout that is off."""
        return any(self.agreement(pair.a, j) or self.agreement(i, pair.b) for pair in self.pairs)

    def aligned(self):
        """The longest list of ``Pair`` in both recordings' order.

        Arrays that may agree by chance, such as two zeros, are paired only if they displace no
        other pair. If values repeat, for example after a dropout that is off, the first are paired.
        """
        n, m = len(self.a), len(self.b)
        worth = np.zeros((n + 1, m + 1))  # of the best list from a pair of places on
        for i in reversed(range(n)):
            best = worth[i + 1].copy()
            for j in filter(partial(self._in_turn, i), self.agreeing(i)):
                best[j] = max(best[j], worth[i + 1, j + 1] + self.worth(i, j))
            worth[i] = np.maximum.accumulate(best[::-1])[::-1]
        pairs, i, j = [], 0, 0
        while i < n and j < m:
            alike = self._in_turn(i, j) and self.agreement(i, j)
            if alike and worth[i, j] == worth[i + 1, j + 1] + self.worth(i, j):
                pairs.append(Pair(i, j, alike.layout, alike.off))
                i, j = i + 1, j + 1
            elif worth[i, j] == worth[i + 1, j]:
                i += 1
            else:
                j += 1
        return pairs

    def _in_turn(self, i, j):
        """Whether a pair can show the order of computation.

        A result of the network that was computed long before, such as a cache of keys, cannot.
        """
        if self.outputs[0][i]:
            return self.at_the_end[1][j]
        return not self.outputs[1][j] or self.at_the_end[0][i]

    def worth(self, i, j):
        """The weight of a pair in the alignment; a whole number, so that sums are exact."""
        same, a, b = self.agreement(i, j), self.a[i], self.b[j]
        alike = (a.values.ndim == b.values.ndim) + (same.layout == plain(a) and a.shape == b.shape)
        worth = (1000 if same.proof else 1) + (100 if self.same_name(i, j) else 0) + 10 * alike
        # Of values that repeat, those at about the same part of both recordings, then the first.
        starts = self.starts[0][i] / len(self.a), self.starts[1][j] / len(self.b)
        away = int(PARTS * abs(starts[0] - starts[1]))
        return worth * 10**9 - 10**6 * away - i - j

    @property
    def pairs(self):
        """The list of ``Pair``, in both recordings' order."""
        return self._pairs

    @pairs.setter
    def pairs(self, pairs):
        self._pairs = pairs
        self.derived = {}  # what ``of_pairs`` has made of them
        self._by_places = {pair[:2]: pair for pair in pairs}

    def of_pairs(self, make):
        """``make(self)``, made once for these pairs."""
        if make not in self.derived:
            self.derived[make] = make(self)
        return self.derived[make]

    def pair(self, i, j):
        """The ``Pair`` of two places, or None."""
        return self._by_places.get((i, j))

    def before(self, i, j):
        """The pairs before a place in A and a place in B."""
        return [pair for pair in self.pairs if pair.a < i and pair.b < j]

    def gaps(self):
        """Yield (number of pairs before, positions in A, positions in B) between the pairs."""
        ends = [(-1, -1)] + [pair[:2] for pair in self.pairs] + [(len(self.a), len(self.b))]
        for before, (start, end) in enumerate(zip(ends, ends[1:])):
            yield before, range(start[0] + 1, end[0]), range(start[1] + 1, end[1])

    def layouts(self, before):
        """The kinds of layouts of the first pairs."""
        return {pair.layout.kind() for pair in self.pairs[:before]}

    def usual_layouts(self, a, b):
        """The transpositions of the pairs that also bring a's shape to b's."""
        for axes in self.of_pairs(_orders_of_axes):
            if len(axes) == a.values.ndim:
                if tuple(a.values.shape[axis] for axis in axes) == b.values.shape:
                    yield plain(a)._replace(axes=axes)

    def fresh(self, before):
        """Whether the first pairs are inputs only: nothing has been computed yet."""
        floats = [pair for pair in self.pairs[:before] if self.a[pair.a].dtype.kind == "f"]
        return len(floats) <= 1 and not any(pair.off for pair in floats)

    def followed(self, before):
        """Whether a later pair agrees that was computed from each observation.

        A few pairs that are equal bit for bit may have been given, such as targets: a whole gap of
        arrays that differ one by one counts for more. What B computed before the gap does not
        follow from it, such as another branch, or a cache's keys that A returns at its end.
        """
        start = self.computed[self.pairs[before - 1].b] if before else -1
        later = [
            off
            for number, off in self.of_pairs(_of_observations)
            if number >= before and self.computed[self.pairs[number].b] > start
        ]
        if not later or any(later):
            return bool(later)
        return len(later) > self._new_in_turn(before)

    def _new_in_turn(self, before):
        """How many new arrays a gap has, if those of A and of B have the same sizes in turn.

        Those whose values are mostly equal do not count: they may differ where a mask hides it.
        """
        _, ours, theirs = next(gap for gap in self.gaps() if gap[0] == before)
        new = [self.a[i] for i in self.only_in_a(ours)], [self.b[j] for j in self.only_in_b(theirs)]
        if [a.size for a in new[0]] != [b.size for b in new[1]]:
            return 0
        return sum(
            a.values.shape != b.values.shape or (a.values == b.values).mean() <= 0.5
            for a, b in zip(*new)
        )

    def is_parameter(self, pair):
        """Whether a pair is a parameter, which may have as many rows as there are observations.

        Its name says so, or it is equal bit for bit while arrays of the pass are not.
        """
        if any(names.is_parameter(array.name) for array in (self.a[pair.a], self.b[pair.b])):
            return True
        return not pair.off and self.of_pairs(_any_apart)

    def has_rows(self, i, j):
        """Whether two arrays have a row for each observation."""
        rows = self.a[0].shape[:1]
        return bool(rows) and rows in (self.a[i].shape[:1], self.b[j].shape[:1])

    def only_in_a(self, positions):
        """The positions in A whose values are nowhere in B."""
        return [i for i in positions if next(self.agreeing(i), None) is None]

    def missing(self):
        """The names of A's arrays that have no counterpart in B, by values or by name."""
        taken = {pair.b for pair in self.pairs}
        named = {i for i, j in self.named.items() if j not in taken}  # else B has another call's
        paired = {pair.a for pair in self.pairs} | named
        return [self.a[i].name for i in self.only_in_a(range(len(self.a))) if i not in paired]

    def only_in_b(self, positions):
        """The positions in B whose values are nowhere in A."""
        return [
            j
            for j in positions
            if not any(self.agreement(i, j) for i in self.sizes[0][self.b[j].size])
        ]
