"""Arrays that differ only at masked places, which affect no result."""

from common.compare.arrays import allowed, apart
from common.compare.between import tokens
from common.compare.between.both import Both
from common.compare.layers.layer import Layer, full, marks

MOST = 64  # arrays of each side that are looked at


def hint(recordings):
    """How many arrays differ only there, and the first one, in words; None if there are none."""
    a, b = recordings.a, recordings.b
    masks = recordings.of_pairs(_masks)
    if not masks:
        return None
    sides = recordings.only_in_a(range(len(a))), recordings.only_in_b(range(len(b)))
    for mask in masks:
        ours, theirs = (
            [n for n in places if _has_rows(side[n], mask)][:MOST]
            for places, side in zip(sides, (a, b))
        )
        found = []
        for i in ours:
            j = next((j for j in theirs if _differs_elsewhere(recordings, i, j, mask)), None)
            if j is not None:
                found.append((i, j))
                theirs = [k for k in theirs if k > j]
        if found:
            i, j = found[0]
            says = "no difference where it counts: %s leaves out the places where %d arrays differ"
            says += ", the first of them %s in A, %s in B"
            says %= mask.name, len(found), a[i].name, b[j].name
            why = tokens.explain(Both(Layer(a, i), Layer(b, j), []))
            return "%s: %s" % (says, why.says) if why else says
    return None


def elsewhere(recordings, i, j):
    """Whether two arrays differ only at places that a recorded mask leaves out."""
    pair = recordings.a[i], recordings.b[j]
    return any(
        all(_has_rows(array, mask) for array in pair) and _differs_elsewhere(recordings, i, j, mask)
        for mask in recordings.of_pairs(_masks)
    )


def _masks(recordings):
    """Recorded arrays of zeros and ones for each token, the same on both sides."""
    arrays = [recordings.a[pair.a] for pair in recordings.pairs]
    return [x for x in arrays if len(x.shape) == 2 and x.finite and marks(x.values)]


def _has_rows(array, mask):
    """Whether an array has features for each place of the mask."""
    shape = array.shape[:2] == mask.shape and len(array.shape) > 2
    return shape and array.finite and array.dtype.kind == "f"


def _differs_elsewhere(recordings, i, j, mask):
    """Whether two arrays agree where the mask is 1; then they differ elsewhere."""
    a, b = recordings.a[i], recordings.b[j]
    if a.shape != b.shape:
        return False
    seen = full(mask).astype(bool)
    ours, theirs = full(a)[seen], full(b)[seen]
    if (ours == ours[:1]).all():
        return False  # such as zeros: the mask marks what does not count
    return apart(ours, theirs) <= allowed(a, b, recordings.tolerance)
