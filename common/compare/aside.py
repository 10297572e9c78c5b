"""A wrong layer, although another branch agrees after it, such as that of a time embedding.

Arrays that only one side recorded are no difference if a later array agrees, because frameworks
divide their work differently. But the later array may belong to a branch that does not use them. So
if the recordings differ further on, such an array counts where B has one much like it.
"""

from common.compare import difference as differences
from common.compare.counterparts import may_be
from common.compare.relations import Comparison

ALIKE = 0.5  # the least correlation of a wrong layer's results
MOST = 64  # arrays of B that are compared with one of A


def first_difference(recordings, difference):
    """An earlier difference, in a branch that the last agreeing arrays do not use; or None."""
    for before, ours, theirs in recordings.gaps():
        if before >= difference["agree_before"]:
            return None
        new = recordings.only_in_b(theirs)
        for i in recordings.only_in_a(ours):
            j = _much_like(
                recordings, before, i, [j for j in new if _has_results(recordings, i, j)]
            )
            if j is not None:
                return differences.described(recordings, before, i, j, "value")
    return None


def _has_results(recordings, i, j):
    """Whether two arrays may be the same layer's results, with numbers for each observation."""
    numbers = all(x.dtype.kind == "f" and x.spread for x in (recordings.a[i], recordings.b[j]))
    return numbers and may_be(recordings, i, j) and recordings.has_rows(i, j)


def _much_like(recordings, before, i, places):
    """The place in B of the array that is most like A's; None if it is a step on the way to it.

    An array with a relation to A's, such as a bias or an activation, is such a step.
    """
    likely, best = recordings.layouts(before), (ALIKE, None)
    for j in places[:MOST]:
        comparison = Comparison(recordings.a[i], recordings.b[j], recordings.tolerance, likely)
        relation = comparison.relation()
        if relation.after is not None:
            return None
        best = max(best, (abs(relation.alike or 0), j), key=lambda found: found[0])
    return best[1]
