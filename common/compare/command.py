"""The command ``compare``: its options, its lines of text."""

import os
from typing import NamedTuple, Optional

import numpy as np

from common.compare import (
    aside,
    conventions,
    difference,
    grown,
    hints,
    left_out,
    page,
    shortcuts,
    trying,
    verdict,
)
from common.compare.arrays import ROUNDINGS, TOLERANCE, UNITS, shown
from common.compare.layers import search
from common.compare.layers.docs import PAGE
from common.compare.optimizers import later, updates
from common.compare.pairing import Recordings, add_units, read
from common.system import array_files, commands
from common.system.errors import InputError
from common.system.files import check_writable, write_json

DIFFERENT = 3  # the exit code
ALIKE = 0.9  # the least correlation of inputs that belong to the same batch


def add_options(parser):
    """The command's own options."""
    endings = " or ".join(array_files.ENDINGS)
    parser.add_argument("a", metavar="A", help="the original's recording, " + endings)
    parser.add_argument("b", metavar="B", help="the port's recording, " + endings)
    parser.add_argument(
        "--tolerance",
        type=share,
        default=TOLERANCE,
        metavar="T",
        help="largest RMS difference of arrays that agree, relative to their spread (%(default)s)",
    )
    parser.add_argument(
        "--exact",
        metavar="A64",
        help="A recorded in float64; arrays agree within %d times its distance from A" % UNITS,
    )
    parser.add_argument(
        "--all", action="store_true", help="also count values that only A has as a difference"
    )
    parser.add_argument("--json", metavar="OUT.json", help="write the result as JSON")
    parser.add_argument("--html", metavar="OUT.html", help="write the result as a page")


def share(text):
    """An option's value between 0 and 1."""
    value = float(text)
    if not 0 <= value < 1:
        raise ValueError
    return value


class Request(NamedTuple):
    """A requested comparison. The last three paths are None if they were not given."""

    a: str
    b: str
    tolerance: float
    all: bool
    exact: Optional[str]
    json: Optional[str]
    html: Optional[str]


def parse(options):
    """The ``Request`` of parsed options; other commands' parsers may add their own."""
    return Request(**{name: getattr(options, name) for name in Request._fields})


def command(options):
    """The exit code for parsed options."""
    return compare(parse(options))


def compare(request):
    """Exit code 0 if all arrays that both recordings have agree, 3 if not.

    With ``--all``, 3 also if B lacks values that A has.
    """
    refuse_overwriting(request)
    for out in (request.json, request.html):
        if out:
            check_writable(out)
    a, b = read(request.a), read(request.b)
    if request.exact:
        add_units(a, request.a, request.exact)
    refuse_arrays_without_numbers(request, a, b)
    recordings = Recordings(a, b, request.tolerance)
    first = difference.first(recordings)
    if first is not None and first["agree_before"] == 0:
        refuse_other_batches(recordings.a, recordings.b, first)
    first, convention, rounding = settled(recordings, first)
    first, layers = judged(recordings, first, bool(request.json or request.html))
    found = list(hints.of_layers(recordings, layers, jumps=not convention)) + rounding
    found += hints.of_recordings(recordings, first)
    for line in lines(request, recordings, first, layers, convention, found):
        print(commands.printable(line))
    missing = recordings.missing() if request.all else []
    if missing:
        print(commands.printable("missing in B: " + ", ".join(missing)))
    if request.json or request.html:
        result = verdict.of(recordings, first, layers, request, convention, found)
        if request.json:
            write_json(request.json, result)
        if request.html:
            page.write(request.html, result)
    return DIFFERENT if first or missing else 0


def settled(recordings, first):
    """(the first difference, a convention in words or None, lines on rounding).

    What right ports may have is accepted, and is no difference.
    """
    convention, rounding = first and conventions.accept(recordings, first), []
    if convention:
        first = difference.first(recordings)
    for larger in (grown, later):
        says = larger.accept(recordings, first)
        if says:
            rounding.append("no difference: " + says)
            first = difference.first(recordings)
    for sooner in (left_out, shortcuts, aside):
        first = first and (sooner.first_difference(recordings, first) or first)
    step = updates.first_difference(recordings)
    if step and (first is None or step["a_place"] < first["a_place"]):
        first = step
    return first, convention, rounding


def judged(recordings, first, every):
    """(the first difference, with what explains it; the ``Verdict`` on each layer).

    every: whether layers that agree have a verdict, too.
    """
    layers = trying.verdicts(recordings, first, every)
    seemed, first = first, difference.with_verdicts(recordings, first, layers)
    layers = trying.with_later(recordings, layers, first, seemed)
    if first is not None and not first["computes"]:
        why = trying.explanation(recordings, first, layers)
        if why is not None:
            first["computes"], first["docs"] = why.says, why.docs
    return first, layers


def refuse_overwriting(request):
    """InputError if a result would overwrite a recording, or another result."""
    outs = [request.json, request.html]
    paths = [os.path.realpath(x) for x in outs + [request.a, request.b, request.exact] if x]
    for out in filter(None, outs):
        if paths.count(os.path.realpath(out)) > 1:
            raise InputError("%s cannot be both a result and another file" % out)


def refuse_arrays_without_numbers(request, a, b):
    """InputError if both recordings hold an array of NaN alone: no two can be compared."""
    bare = [next((x.name for x in side if np.isnan(x.values).all()), None) for side in (a, b)]
    if None not in bare:
        names = (bare[0], request.a, bare[1], request.b)
        raise InputError("%s of %s and %s of %s contain nothing but NaN" % names)


def refuse_other_batches(a, b, first):
    """InputError if the first arrays, the inputs, do not belong to the same batch."""
    inputs = first["a_place"] == first["b_place"] == 0
    related = first["apart_with_relation"] is not None or abs(first["correlation"] or 0) >= ALIKE
    if inputs and not related:
        says = first["relation"]
        if a[0].size == b[0].size and np.array_equal(a[0].values.ravel(), b[0].values.ravel()):
            says = "the same values in the same order: reshaped, where axes have to be transposed"
        values = (a[0], b[0], says)
        raise InputError("the first arrays must be the same batch: %s in A, %s in B: %s" % values)


def lines(request, recordings, first, layers, convention, found):
    """Yield the verdict in lines of text."""
    if convention:
        yield "a convention, not a mistake: " + convention
    yield "A  %s, %d arrays" % (request.a, len(recordings.a))
    yield "B  %s, %d arrays" % (request.b, len(recordings.b))
    if request.exact:
        yield "arrays agree within %d times the difference of A and %s" % (UNITS, request.exact)
    else:
        rule = "arrays agree if their RMS difference is at most %g of the spread plus %d roundings"
        yield rule % (request.tolerance, ROUNDINGS)
    yield from (line.rstrip() for line in array_lines(recordings, first))
    if first is None:
        yield "%d pairs agree; no difference found" % len(recordings.pairs)
    else:
        yield from difference_lines(first)
        for side, fit in () if first["computes"] else trying.alone(recordings, first):
            names = (side, fit.case.layer, search.function(fit))
            yield "  before it, only %s recorded %s: %s" % names
        yield from () if first["computes"] else reordered(recordings, first)
    yield from layer_lines(layers, first)
    yield from found


def array_lines(recordings, first):
    """Yield a line for each array, in the order of both, up to the first difference."""
    a, b, pairs = recordings.a, recordings.b, recordings.pairs
    width = min(40, max(len(str(array)) for array in a + b))
    line = "%%-9s %%-%ds %%-%ds %%s" % (width, width)
    end = (len(a), len(b))
    if first is not None:
        pairs, end = pairs[: first["agree_before"]], (first["a_place"], first["b_place"])
    i = j = 0
    for number, pair in enumerate(pairs + [end]):
        yield from (line % ("only in A", array, "", "") for array in a[i : pair[0]])
        yield from (line % ("only in B", "", array, "") for array in b[j : pair[1]])
        i, j = pair[0] + 1, pair[1] + 1
        if number < len(pairs):
            yield line % ("agree", a[pair.a], b[pair.b], pair_words(recordings, pair))
    if first is not None:
        yield line % ("DIFFER", a[end[0]], b[end[1]], "")


def pair_words(recordings, pair):
    """Distance and layout of two arrays that agree, in words."""
    layout = pair.layout.words(recordings.a[pair.a], recordings.b[pair.b])
    words = [shown(verdict.relative(recordings, pair)), layout]
    if not recordings.agreement(pair.a, pair.b).proof:
        words.append("too few values to be proof")
    return ", ".join(word for word in words if word)


def difference_lines(first):
    """Yield the first difference in lines of text."""
    by = first["paired_by"].replace("place", "position")
    pair = (first["a"], first["b"], by)
    yield "first difference: %s in A, %s in B, paired by %s" % pair
    if first["computes"]:
        yield "  %s%s" % (first["computes"], see(first["docs"]))
    if first["relation"] != first["computes"]:
        yield "  " + first["relation"]
    margins = [
        "%s %s" % (shown(first[key]), words)
        for key, words in (("apart_with_relation", "with that"), ("apart", "as they are"))
        if first[key] is not None
    ]
    if margins:
        yield "  distance relative to the spread: " + ", ".join(margins)
    counts = (first["agree_before"], first["agree_behind"], first["behind"])
    yield "  before it, %d pairs agree; after it, %d of %d pairs agree" % counts


def reordered(recordings, first):
    """Yield a line on the last pair before the difference, if B has its values in another order.

    That is right if what follows expects this order, such as that in which images are flattened.
    """
    for pair in recordings.pairs[: first["agree_before"]][-1:]:
        if pair.layout.order is not None:
            a, b = recordings.a[pair.a], recordings.b[pair.b]
            yield "  before it, %s is %s, %s" % (b.name, a.name, pair.layout.words(a, b))


def layer_lines(layers, first):
    """Yield a line for each further layer that computes something else in B."""
    wrong = [layer for layer in layers if layer.differs]
    if first is not None:
        wrong = [layer for layer in wrong if layer.a.place != first["a_place"]]
    for layer in wrong:
        names = (layer.a, layer.b, layer.says)
        yield "also different: %s in A, %s in B: %s%s" % (names + (see(layer.docs),))


def see(anchor):
    """Where the docs say more about a mistake."""
    return "; see %s#%s" % (PAGE, anchor) if anchor else ""
