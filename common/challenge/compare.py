"""Two recordings of one pass through a network: where they part, and what relation holds there.

A recording is a file of arrays in the order in which they were computed: the inputs first.
"""

import re
from collections import OrderedDict, namedtuple

import numpy as np

from common.challenge.relations import (
    ROUNDINGS,
    TOLERANCE,
    Array,
    Comparison,
    Relation,
    agreement,
    apart,
    plain,
    shown,
)
from common.system import array_files
from common.system.errors import InputError
from common.system.files import check_writable, write_json

DIFFERENT = 3  # the exit code
TRIED = 12  # arrays of either side, behind the last that agree, that are related to one another

ALIKE = 0.9  # a correlation of inputs that are those of the same batch

Pair = namedtuple("Pair", "a b layout off")
Pair.__doc__ = """Arrays that agree: their numbers in A and in B, the layout, and how far apart."""


def add_options(parser):
    """The command's own options."""
    parser.add_argument("a", metavar="A", help=" or ".join(array_files.ENDINGS))
    parser.add_argument("b", metavar="B", help=" or ".join(array_files.ENDINGS))
    parser.add_argument(
        "--tolerance",
        type=share,
        default=TOLERANCE,
        metavar="T",
        help="how far apart arrays that agree may be, in parts of their spread (%(default)s)",
    )
    parser.add_argument("--json", metavar="OUT.json", help="what was found, for programs")


def share(text):
    """An option's value between 0 and 1."""
    value = float(text)
    if not 0 <= value < 1:
        raise ValueError
    return value


def read(path):
    """A recording: a list of ``Array``; InputError if it is none."""
    arrays = [Array(name, array) for name, array in nonempty(path)]
    if not arrays:
        raise InputError("%s holds no array" % path)
    if not arrays[0].finite:
        raise InputError("%s: %s holds NaN or infinity already" % (path, arrays[0].name))
    return arrays


def nonempty(path):
    """Yield (name, array); InputError for an array without values."""
    for name, array in array_files.read(path).items():
        if not array.size:
            raise InputError("%s: %s has no values" % (path, name))
        yield name, array


def named(name):
    """Whether a name says more than a place, as arr_0 and 0 do."""
    return not re.match(r"(arr_)?\d*$", name)


def number(value):
    """For JSON: a float, or None."""
    return float(value) if value is not None and np.isfinite(value) else None


class Recordings:
    """Two recordings: which arrays agree, and where the first difference is."""

    def __init__(self, a, b, tolerance):
        self.tolerance = tolerance
        self.a, self.b = a, b
        names = {array.name: place for place, array in enumerate(a)}
        if all(named(array.name) and array.name in names for array in b):
            self.b = sorted(b, key=lambda array: names[array.name])  # the same order in both
        self.found = {}
        self.pairs = self.aligned()

    def same_name(self, i, j):
        """Whether two arrays have the same name, and it says something."""
        return self.a[i].name == self.b[j].name and named(self.a[i].name)

    def agreement(self, i, j):
        """(layout, distance, whether it is proof) of two arrays; None if they do not agree."""
        if (i, j) not in self.found:
            a, b = self.a[i], self.b[j]
            found = agreement(a, b, self.tolerance)
            if found is not None and not found[2] and a.shape != b.shape:
                found = None
            self.found[i, j] = found
        return self.found[i, j]

    def aligned(self):
        """``Pair`` after ``Pair``, in both recordings' order, as many as there can be.

        Arrays that agree by chance, such as two zeros, count where no others are in their way. Of
        values that come again, as behind a dropout that is off, the first are paired.
        """
        n, m = len(self.a), len(self.b)
        worth = np.zeros((n + 1, m + 1))
        for i in reversed(range(n)):
            for j in reversed(range(m)):
                worth[i, j] = max(worth[i + 1, j], worth[i, j + 1])
                if self.agreement(i, j):
                    worth[i, j] = max(worth[i, j], worth[i + 1, j + 1] + self.worth(i, j))
        pairs, i, j = [], 0, 0
        while i < n and j < m:
            if self.agreement(i, j) and worth[i, j] == worth[i + 1, j + 1] + self.worth(i, j):
                pairs.append(Pair(i, j, *self.agreement(i, j)[:2]))
                i, j = i + 1, j + 1
            elif worth[i, j] == worth[i + 1, j]:
                i += 1
            else:
                j += 1
        return pairs

    def worth(self, i, j):
        """What it counts that two arrays agree; whole numbers, so that sums are exact."""
        layout, _, certain = self.agreement(i, j)
        a, b = self.a[i], self.b[j]
        alike = (a.values.ndim == b.values.ndim) + (layout == plain(a) and a.shape == b.shape)
        worth = (1000 if certain else 1) + (100 if self.same_name(i, j) else 0) + 10 * alike
        return worth * 10**6 - i - j

    def gaps(self):
        """Yield (how many pairs go before, places in A, places in B) of what lies between pairs."""
        ends = [(-1, -1)] + [pair[:2] for pair in self.pairs] + [(len(self.a), len(self.b))]
        for before, (one, other) in enumerate(zip(ends, ends[1:])):
            yield before, range(one[0] + 1, other[0]), range(one[1] + 1, other[1])

    def difference(self):
        """The first difference, as a dict; None if there is none."""
        for before, ours, theirs in self.gaps():
            found = self.between(before, list(ours), list(theirs))
            if found is not None:
                unknown = found["correlation"] is not None
                return unknown and self.moved(before) or found
        return self.moved(len(self.pairs))

    def between(self, before, ours, theirs):
        """The first difference among arrays that lie between two pairs, or None."""
        last = before == len(self.pairs)
        if ours and theirs:
            likely = self.layouts(before)
            others = {self.b[j].name: j for j in theirs if named(self.b[j].name)}
            for i in ours[:TRIED]:
                if self.a[i].name in others:
                    return self.told(before, i, others[self.a[i].name], "name")
                for j in theirs[:TRIED]:
                    if self.b[j].name in {self.a[k].name for k in ours}:
                        continue
                    relation = Comparison(self.a[i], self.b[j], self.tolerance, likely).relation()
                    if relation.after is not None:
                        return self.told(before, i, j, "value", relation)
            new = [self.new(ours, 0), self.new(theirs, 1)]
            for i in new[0]:
                for j in new[1]:
                    if self.a[i].size == self.b[j].size:
                        return self.told(before, i, j, "place")
            if last:
                return self.told(before, (new[0] or ours)[0], (new[1] or theirs)[0], "place")
        elif last and (ours or theirs):
            # What one has at its end under a name of the other's that stands for something else.
            for i in ours or range(len(self.a)):
                for j in theirs or range(len(self.b)):
                    if self.same_name(i, j) and not self.agreement(i, j):
                        return self.told(before, i, j, "name")
        return None

    def new(self, places, side):
        """Those of an array's places whose values the other recording has nowhere."""
        if side == 0:
            return [i for i in places if not any(self.agreement(i, j) for j in range(len(self.b)))]
        return [j for j in places if not any(self.agreement(i, j) for i in range(len(self.a)))]

    def batch(self, pair):
        """Whether a pair's arrays have a row for each observation."""
        rows = self.a[0].shape[:1]
        return rows and rows in (self.a[pair.a].shape[:1], self.b[pair.b].shape[:1])

    def moved(self, before):
        """The difference that the last of the first pairs is, if values have moved there; or None.

        Where the shapes are the same, values of a batch in another place are as wrong as others,
        unless they moved so before, or what follows agrees all the same.
        """
        rows = [pair for pair in self.pairs[:before] if self.batch(pair)]
        if not rows:
            return None
        *earlier, pair = rows
        a, b = self.a[pair.a], self.b[pair.b]
        kinds = [plain(a).kind()] + [one.layout.kind() for one in earlier]
        if a.shape != b.shape and not pair.layout.flipped and pair.layout.order is None:
            return None
        if pair.layout.kind() in kinds:
            return None
        spread = b.spread or 1
        off = apart(a.values, b.values) / spread if a.values.shape == b.values.shape else None
        relation = Relation("B is A, " + pair.layout.told(a, b), off, pair.off / spread)
        return self.told(self.pairs.index(pair), pair.a, pair.b, "value", relation)

    def layouts(self, before):
        """The kinds of layouts of the pairs that go before."""
        return {pair.layout.kind() for pair in self.pairs[:before]}

    def told(self, before, i, j, by, relation=None):
        """A difference as a dict."""
        a, b = self.a[i], self.b[j]
        if relation is None:
            likely = self.layouts(before)
            relation = Comparison(a, b, self.tolerance, likely).relation()
        behind = [pair for pair in self.pairs if pair.a > i and pair.b > j]
        return OrderedDict(
            a=a.name,
            b=b.name,
            a_place=i,
            b_place=j,
            paired_by=by,
            relation=relation.says,
            apart=number(relation.before),
            apart_with_relation=number(relation.after),
            correlation=number(relation.alike),
            agree_before=before,
            agree_behind=len(behind),
            behind=min(len(self.a) - i, len(self.b) - j) - 1,
        )

    def lines(self, found):
        """What was found of each array, in the order of both, up to the first difference."""
        width = min(40, max(len(str(array)) for array in self.a + self.b))
        line = "%%-9s %%-%ds %%-%ds %%s" % (width, width)
        pairs, end = self.pairs, (len(self.a), len(self.b))
        if found is not None:
            pairs, end = pairs[: found["agree_before"]], (found["a_place"], found["b_place"])
        i = j = 0
        for place, pair in enumerate(pairs + [end]):
            yield from (line % ("only in A", array, "", "") for array in self.a[i : pair[0]])
            yield from (line % ("only in B", "", array, "") for array in self.b[j : pair[1]])
            i, j = pair[0] + 1, pair[1] + 1
            if place < len(pairs):
                yield line % (("agree",) + self.pair(pair))
        if found is not None:
            yield line % ("DIFFER", self.a[end[0]], self.b[end[1]], "")

    def pair(self, pair):
        """(array, array, what is to be said) of a pair that agrees."""
        a, b = self.a[pair.a], self.b[pair.b]
        words = [shown(pair.off / (b.spread or b.rms or 1)), pair.layout.told(a, b)]
        if not self.agreement(pair.a, pair.b)[2]:
            words.append("too few values to be proof")
        return a, b, ", ".join(word for word in words if word)


def command(options):
    """Exit code 0 if all agree that both have, 3 where they part."""
    if options.json:
        check_writable(options.json)
    a, b = read(options.a), read(options.b)
    for array in a:
        for other in b:
            if not array.finite and not other.finite:
                told = (array.name, options.a, other.name, options.b)
                raise InputError("%s of %s and %s of %s hold NaN or infinity" % told)
    recordings = Recordings(a, b, options.tolerance)
    found = recordings.difference()
    if found is not None and found["agree_before"] == 0:
        refuse_others(a, b, found)
    print("A  %s, %d arrays\nB  %s, %d arrays" % (options.a, len(a), options.b, len(b)))
    told = "to agree is to be apart (RMS) by at most %g of the spread and %d roundings of the type"
    print(told % (options.tolerance, ROUNDINGS))
    print("\n".join(line.rstrip() for line in recordings.lines(found)))
    if found is None:
        print("%d pairs agree, and no array that both have differs" % len(recordings.pairs))
    else:
        print("\n".join(lines(found)))
    if options.json:
        write(options.json, recordings, found)
    return DIFFERENT if found else 0


def refuse_others(a, b, found):
    """InputError if the first arrays, the inputs, are not of the same batch."""
    first = found["a_place"] == found["b_place"] == 0
    related = found["apart_with_relation"] is not None or abs(found["correlation"] or 0) >= ALIKE
    if first and not related:
        told = (a[0], b[0], found["relation"])
        raise InputError("other batches, or no inputs: of the first arrays, %s and %s, %s" % told)


def lines(found):
    """The first difference in lines of text."""
    told = (found["a"], found["b"], found["paired_by"])
    yield "first difference: %s in A, %s in B, paired by %s" % told
    yield "  " + found["relation"]
    margins = [
        "%s %s" % (shown(found[key]), words)
        for key, words in (("apart_with_relation", "with that"), ("apart", "as they are"))
        if found[key] is not None
    ]
    if margins:
        yield "  apart by, in parts of the spread: " + ", ".join(margins)
    told = (found["agree_before"], found["agree_behind"], found["behind"])
    yield "  before it %d pairs agree; behind it %d of %d" % told


def write(path, recordings, found):
    """The verdict as JSON."""
    a, b = recordings.a, recordings.b
    verdict = OrderedDict(
        agree=found is None,
        tolerance=recordings.tolerance,
        pairs=[
            OrderedDict(
                a=a[pair.a].name,
                b=b[pair.b].name,
                layout=pair.layout.told(a[pair.a], b[pair.b]),
                apart=pair.off / (b[pair.b].spread or b[pair.b].rms or 1),
                proof=recordings.agreement(pair.a, pair.b)[2],
            )
            for pair in recordings.pairs
        ],
        first_difference=found,
    )
    write_json(path, verdict)
