"""Rounding that has grown beyond the tolerance, layer by layer.

Each layer adds its own rounding to that of its input. After many layers the sum may exceed the
tolerance, which knows nothing of the depth. A mistake of that size would be a jump, since the
layers before it agree better, or it would follow from the values, which rounding does not.
"""

from common.compare.arrays import apart
from common.compare.counterparts import matched
from common.compare.layouts import Agreement, plain
from common.compare.noise import looks_like_rounding
from common.compare.optimizers import steps

GROWTH = 3  # times the distance of the layers before, which a layer may make of it
MOST = 10  # tolerances


def accept(recordings, difference):
    """Accept arrays of the pass that differ by such rounding; in words, None if there are none."""
    if difference is None or difference["relation_holds"]:
        return None
    i, j = difference["a_place"], difference["b_place"]
    usual = [_relative(recordings, p.b, p.off) for p in recordings.pairs if _is_earlier(p, i, j)]
    accepted = extend(recordings, i, j, max(usual or [0.0]), _is_rounding)
    if not accepted:
        return None
    says = "%d arrays of the pass differ by up to %.2g, by rounding that grew from layer to layer"
    return says % (len(accepted), max(accepted))


def _is_earlier(pair, i, j):
    return pair.a < i and pair.b < j and pair.off > 0


def _relative(recordings, j, off):
    return off / (recordings.b[j].spread or recordings.b[j].rms or 1)


def _is_rounding(recordings, k, a, b, off):
    """Whether a layer's results are off as rounding is, and by no more than it may become."""
    array = recordings.a[k]
    if steps.kind(array.name)[0] != "plain" or array.unit is not None:
        return False
    return off <= MOST * recordings.tolerance and looks_like_rounding(a, b)


def extend(recordings, i, j, usual, fits=None):
    """Accept a pair and those after it whose distance grows no faster than usual; the distances.

    usual: the relative distance of the layers before. fits: what else must hold, a function of
    (recordings, place in A, A's values, B's values, their relative distance).
    """
    accepted = []
    ours, theirs = range(i, len(recordings.a)), range(j, len(recordings.b))
    before = sum(pair.a < i and pair.b < j for pair in recordings.pairs)
    for k, m, _ in matched(recordings, ours, theirs, before):
        if recordings.agreement(k, m):
            continue
        for layout, a, b in laid_out(recordings, k, m):
            off = _relative(recordings, m, apart(a, b))
            if off <= GROWTH * usual and (fits is None or fits(recordings, k, a, b, off)):
                recordings.agreements[k, m] = Agreement(layout, apart(a, b), True)
                usual = max(usual, off)
                accepted.append(off)
                break
        else:
            break
    recordings.pairs = recordings.aligned()
    return accepted


def laid_out(recordings, k, m):
    """Yield (layout, A's values in it, B's values) of two arrays of the same size."""
    a, b = recordings.a[k], recordings.b[m]
    if a.finite and b.finite and a.size == b.size:
        for layout in [plain(a)] if a.shape == b.shape else recordings.usual_layouts(a, b):
            yield layout, layout.apply(a.values, b.values.shape), b.values
