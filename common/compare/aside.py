"""A wrong layer, although another branch agrees after it, such as that of a time embedding.

Arrays that only one side recorded are no difference if a later array agrees, because frameworks
divide their work differently. But the later array may belong to a branch that does not use them.
So if the recordings differ further on, such an array counts where B has one much like it. B may
compute the branches in another order.
"""

import numpy as np

from common.compare import difference as differences
from common.compare.counterparts import may_be
from common.compare.relations import Comparison

ALIKE = 0.5  # the least correlation of a wrong layer's results
NEAR = 12  # arrays of B before and after those between the same agreeing arrays
MOST = 64  # arrays of B that are compared with one of A


def first_difference(recordings, difference):
    """An earlier difference, in a branch that the last agreeing arrays do not use; or None."""
    for before, ours, theirs in recordings.gaps():
        if before >= difference["agree_before"]:
            return None
        around = range(max(0, theirs.start - NEAR), min(len(recordings.b), theirs.stop + NEAR))
        new = recordings.only_in_b(around)
        places = range(max(0, ours.start - NEAR), difference["a_place"])
        for i in recordings.only_in_a(ours):
            j = _much_like(recordings, before, i, new)
            if j is not None and _is_nearest(recordings, i, j, places):
                return differences.described(recordings, before, i, j, "value")
    return None


def _is_nearest(recordings, i, j, places):
    """Whether no other new array of A is more like B's."""
    rivals = [k for k in recordings.only_in_a(places) if _has_results(recordings, k, j)][:MOST]
    comparisons = (
        Comparison(recordings.a[k], recordings.b[j], recordings.tolerance) for k in rivals
    )
    alike = [abs(comparison.nearest()[1]) for comparison in comparisons]
    return bool(rivals) and rivals[int(np.argmax(alike))] == i


def _has_results(recordings, i, j):
    """Whether two arrays may be the same layer's results, with numbers for each observation.

    If B's has the name of another array of A, it is that one's.
    """
    if not recordings.same_name(i, j) and j in recordings.named.values():
        return False
    numbers = all(x.dtype.kind == "f" and x.spread for x in (recordings.a[i], recordings.b[j]))
    return numbers and may_be(recordings, i, j) and recordings.has_rows(i, j)


def _much_like(recordings, before, i, places):
    """The place in B of the array that is most like A's; None if it is a step on the way to it.

    An array with a relation to A's, such as a bias or an activation, is such a step.
    """
    likely, best = recordings.layouts(before), (ALIKE, None)
    for j in [j for j in places if _has_results(recordings, i, j)][:MOST]:
        comparison = Comparison(recordings.a[i], recordings.b[j], recordings.tolerance, likely)
        relation = comparison.relation()
        if relation.after is not None:
            return None
        best = max(best, (abs(relation.alike or 0), j), key=lambda found: found[0])
    return best[1]
