"""What happens between recorded arrays and a dense layer's result, if it was not recorded.

A dense layer with many outputs keeps the angles between rows: for inputs h and results y, y y' is
roughly h h' times a number. So the change of y y' from A to B shows the change of h h'.
"""

import itertools
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from common.compare.between.both import Explanation
from common.compare.functions import SHAPES
from common.compare.layers import activation, attention, rotary, scores
from common.compare.layers import docs as pages
from common.compare.layers.layer import VALUES, full

SAYS = "not recorded, but the results change as with %s in A, %s in B"
ROWS = 256
LEAST = (16, 16)  # rows and outputs
NEAR = 4  # earlier arrays that are tried
LARGE = 2**22  # values of an input
CHANGES = 0.4  # the least correlation of the changes; unrelated ones are below 0.2
STATES = 0.6  # the least correlation of the products themselves
EXPECTED = 0.93  # of the correlation that random weights would leave
BEST = 0.98  # of the best correlation of the products with any candidate's
DENSE = 0.85  # the least correlation of a dense layer's products with its input's
UNLIKE = 0.2  # the largest correlation of results with unrelated weights
GAIN = 2.5  # how much more, or less, of the change than of the products may come through
SCALES = {-0.5: "1 / root of a head's width", 0: "1", -1: "1 / a head's width"}
CLOSE = 0.98  # of the best correlation; candidates above this are named, too
MANY = 3  # names on one side; more say nothing


class Choice(NamedTuple):
    """A choice that a candidate makes, in words, and the docs' anchor of a wrong one."""

    says: str
    docs: str


NOT_ROTARY = Choice("attention, not rotary", pages.ROTARY)


def explain(both):
    """An ``Explanation`` by two functions of one input, or two attentions of the same sources."""
    y = both.ours
    if y.ndim < 2 or y.shape[-1] < LEAST[1] or y.size // y.shape[-1] < LEAST[0]:
        return None
    inputs = [x for x in both.inputs if x.shape[:-1] == y.shape[:-1] and x.size <= LARGE][:NEAR]
    if any(x.shape == y.shape and activation.follows(full(x), y) for x in inputs):
        return None  # no dense layer comes between
    results = [z.reshape(-1, y.shape[-1]) for z in (both.ours, both.theirs)]
    other = _other_weight(inputs, results)
    if other is not None:
        return other
    kinds = [
        _Candidates(choices, hidden, *(z[some] for z in results))
        for choices, hidden, some in itertools.chain(
            _activations(inputs, y.shape), _attentions(both, inputs, y.shape)
        )
    ]
    best = [max([max(kind.suits[side]) for kind in kinds] or [0]) for side in (0, 1)]
    sides = _best([fit for kind in kinds for fit in _changes(kind, best)])
    if sides is None:
        return None
    says = tuple(" or ".join(choice.says for choice in side) for side in sides)
    return Explanation(SAYS % says, _page(*sides))


def _best(fits):
    """Both sides' choices in the fits near the best one; None if they are many."""
    close = [pair for alike, pair in sorted(fits)[::-1] if alike >= CLOSE * max(fits)[0]]
    sides = [list(OrderedDict.fromkeys(pair[side] for pair in close)) for side in (0, 1)]
    if not close or max(map(len, sides)) > MANY or set(sides[0]) & set(sides[1]):
        return None
    return sides


def _other_weight(inputs, results):
    """An ``Explanation`` if both are dense layers of the same input: their weights differ."""
    some = np.sort(np.random.RandomState(0).permutation(len(results[0]))[:ROWS])
    ours, theirs = (y[some] - y[some].mean(0) for y in results)
    if abs(_alike(ours, theirs)) > UNLIKE:
        return None
    products = [_products(y[some]) for y in results]
    for x in inputs:
        own = _products(full(x).reshape(len(results[0]), -1)[some].astype(np.float64))
        if min(_alike(own, y) for y in products) > DENSE:
            says = (
                "a dense layer of %s in both, with another weight, or its values in another order"
            )
            return Explanation(says % x.name, pages.WEIGHTS)
    return None


def _page(ours, theirs):
    """The docs' anchor of what differs."""
    ours, theirs = ({choice.docs for choice in side} for side in (ours, theirs))
    for page in (pages.ROTARY, pages.ATTENTION_SCALE):
        if page in ours:
            return page
    return pages.GELU if pages.GELU in ours & theirs else pages.ACTIVATION


def _activations(inputs, shape):
    """Yield (choices, hidden layers, rows): of one input, or of one that another one gates."""
    count = int(np.prod(shape[:-1]))
    most = min(ROWS, max(LEAST[0], VALUES // max([x.shape[-1] for x in inputs[:3]] or [1])))
    some = np.sort(np.random.RandomState(0).permutation(count)[:most])
    rows = [full(x).reshape(count, -1)[some].astype(np.float64) for x in inputs[:3]]
    for x in rows:
        yield _different(x, 1.0) + (some,)
    for x, gate in itertools.permutations(rows, 2):
        if x.shape == gate.shape:
            yield _different(x, gate) + (some,)


def _different(x, gate):
    """(choices, values) of activations; of several with the same values, only the first."""
    choices, made = [], []
    for name, function in SHAPES.items():
        values = function(x) * gate
        if not any(np.array_equal(values, other) for other in made):
            choices.append((Choice(name, activation.page(name)),))
            made.append(values)
    return choices, made


def _attentions(both, inputs, shape):
    """Yield (choices, contexts, rows) of queries, keys and values in three arrays or in one.

    Nothing if only one side recorded arrays in heads: it does more to queries or keys.
    """
    if any(len(x.shape) == 4 for x in both.alone):
        return
    for parts in (_queries_keys_values(inputs, shape), _in_heads(both.inputs, inputs, shape)):
        if parts is not None:
            yield _contexts(parts, shape)


def _contexts(parts, shape):
    width, narrow = (parts[n].shape[-1] for n in (0, 1))
    batch = max(1, ROWS // shape[1])
    q, k, v = (part[:batch].astype(np.float64) for part in parts)
    choices, contexts = [], []
    for heads in attention.heads_of(width):
        each = width // heads
        if narrow % each:
            continue
        ways = (False, True) if each < narrow < width else (False,)
        for turn, seen, power, tiled in itertools.product(rotary.USUAL, scores.MASKS, SCALES, ways):
            by, base = turn
            if by and each % 2:
                continue
            choices.append(_of_attention(heads, by, base, seen, power, tiled))
            turned = [_turned(x, x.shape[-1] // each, by, base) for x in (q, k)]
            scale = float(each) ** power
            context = attention.context(turned[0], turned[1], v, heads, seen, scale, tiled)
            contexts.append(context.reshape(-1, width))
    return choices, contexts, slice(0, batch * shape[1])


def _of_attention(heads, by, base, seen, power, tiled):
    """The choices of an attention."""
    page = pages.ATTENTION_SCALE
    return (
        Choice("attention of %d heads" % heads, page),
        Choice("attention, rotary by %s" % by, pages.ROTARY) if by else NOT_ROTARY,
        Choice("attention, rotary base %g" % base, pages.ROTARY) if by else NOT_ROTARY,
        Choice("attention, where a token sees %s" % scores.MASKS[seen], page),
        Choice("attention, scores times %s" % SCALES[power], page),
        Choice("attention, keys and values %s" % ("tiled" if tiled else "repeated"), page),
    )


def _queries_keys_values(inputs, shape):
    """The three arrays, from a fused one if there is one; None if they were not recorded."""
    if len(shape) != 3:
        return None
    width = shape[-1]
    for x in inputs:
        if x.shape[-1] == 3 * width:
            return [full(x)[..., n * width : (n + 1) * width] for n in range(3)]
    if len(inputs) < 3:
        return None
    v, k, q = (full(x) for x in inputs[:3])
    sizes = q.shape[-1], k.shape[-1], v.shape[-1]
    return [q, k, v] if sizes[1] == sizes[2] and sizes[0] % sizes[1] == 0 else None


def _in_heads(near, inputs, shape):
    """The same, if queries and keys were recorded in heads, such as after a norm of each head."""
    heads = [x for x in near[:6] if len(x.shape) == 4 and x.shape[:1] + x.shape[2:3] == shape[:2]]
    if len(shape) != 3 or len(heads) < 2:
        return None
    k, q = (full(x).transpose(0, 2, 1, 3).reshape(shape[:2] + (-1,)) for x in heads[:2])
    v = next((full(x) for x in inputs if x.shape == k.shape), None)
    return None if v is None or q.shape[-1] % k.shape[-1] else [q, k, v]


def _turned(x, heads, by, base):
    """Queries or keys with a rotary embedding."""
    if by is None:
        return x
    made = rotary.turned(attention.split(x, heads), by, base)
    return made.transpose(0, 2, 1, 3).reshape(x.shape)


class _Candidates:
    """Hidden layers of one kind, and how well the products of each fit those of both results."""

    def __init__(self, choices, hidden, ours, theirs):
        """choices: those that each hidden layer makes, in the same order."""
        self.choices, self.hidden, self.off = choices, hidden, _products(theirs - ours)
        self.width = ours.shape[-1]
        self.products = [_products(x) for x in hidden]
        self.results = _products(ours), _products(theirs)
        self.suits = [[_alike(x, y) for x in self.products] for y in self.results]
        self.least = [max(STATES, EXPECTED * _expected(x, self.width)) for x in self.products]


def _changes(kind, best):
    """[(correlation, choices in A and B)] of hidden layers whose change explains the results'.

    best: how well the best candidate fits A's results, and B's.
    """
    fits = []
    a, b = kind.results
    for n, m in itertools.product(*(_suitable(kind, best, side) for side in (0, 1))):
        apart = [pair for pair in zip(kind.choices[n], kind.choices[m]) if pair[0] != pair[1]]
        exchanged = kind.suits[0][m] + kind.suits[1][n]
        if not _one_choice(apart) or kind.suits[0][n] + kind.suits[1][m] < exchanged:
            continue
        change = kind.products[m] - kind.products[n]
        alike = _alike(change, b - a)
        if alike >= CHANGES:
            gain = _size(b - a) / _size(change) * _size(kind.products[n]) / _size(a)
            off = _products(kind.hidden[m] - kind.hidden[n])
            whole = _alike(off, kind.off) >= EXPECTED * _expected(off, kind.width)
            if whole and 1 / GAIN < gain < GAIN:
                fits.append((alike, apart[0]))
    return fits


def _one_choice(apart):
    """Whether two candidates differ in one choice; without a rotary embedding there is no base."""
    return len(apart) == 1 or (len(apart) == 2 and NOT_ROTARY in apart[0])


def _suitable(kind, best, side):
    """The candidates that fit a side's results as well as the best, and as random weights would."""
    suits = kind.suits[side]
    return [n for n, x in enumerate(suits) if x >= max(kind.least[n], BEST * best[side])]


def _expected(products, width):
    """The correlation of a hidden layer's products with its results', if weights are random."""
    rank = np.trace(products) ** 2 / ((products**2).sum() + 1e-300)
    return 1 / np.sqrt(1 + rank / width)


def _products(rows):
    """The products of all pairs of rows, without the rows' mean."""
    rows = rows - rows.mean(0)
    return np.dot(rows, rows.T)


def _size(x):
    return np.sqrt((x**2).sum() + 1e-300)


def _alike(a, b):
    """The correlation of two tables of products."""
    return (a * b).sum() / (_size(a) * _size(b))
