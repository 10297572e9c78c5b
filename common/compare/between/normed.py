"""A norm that one side leaves out: one side's result is the other's, normalised.

Or one side leaves out the norm's weight and bias: its rows are normalised, and nothing more.
"""

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers import normalisation, search
from common.compare.layers.layer import Layer, rows_of, size

LEAST = 16  # values of a row
NEAR = 3  # later arrays, which may be the norm with its weight


def explain(both):
    """An ``Explanation`` if one result is a norm of the other."""
    if both.ours.shape != both.theirs.shape:
        return None
    a, b = both.a.output, both.b.output
    if len(a.shape) > 1 and None not in [normalisation.bare(*rows_of(x)) for x in (a, b)]:
        return None  # both are normed
    for x, y, names in ((b, a, ("A", "B")), (a, b, ("B", "A"))):
        bare = _of_bare(both, x, y)
        if bare is not None:
            return Explanation("a %s %s" % (bare[0], bare[1] % names[1]), pages.WEIGHTS)
        for case in normalisation.cases(Layer([both.a.arrays[0], x, y], 2)):
            case.kinds = [kind for kind in case.kinds if kind != normalisation.CHANNELS]
            found = search.best(normalisation, case)
            if found is not None and len(case.inputs) == 1 and case.inputs[0] is x:
                says = "%s is %s after a norm: " % names
                says += normalisation.words(found.constants)
                return Explanation(says, pages.WEIGHTS)
    return None


def _of_bare(both, x, y):
    """(kind of norm, what differs) if x is a norm's rows, and y is x with a weight; or None."""
    if len(x.shape) < 2 or x.shape[-1] < LEAST or len(x.values) < 2:
        return None
    rows, whole = rows_of(x, y)
    kind = normalisation.bare(rows)
    if kind is None:
        return None
    most = min(0.1 * size(both.off), both.noise)

    def is_weighted(z):
        return normalisation.affine_off(rows, rows_of(z)[0], kind == "LayerNorm") <= most

    if not is_weighted(y):
        return None
    side = both.b if x is both.b.output else both.a
    after = [z for z in side.arrays[side.place + 1 :][:NEAR] if z.shape == x.shape and z.finite]
    if any(is_weighted(z) and size(z.values - x.values) > most for z in after):
        return kind, "with another weight in %s"  # it recorded its rows before their weight, too
    return kind, "without its weight in %s: as if it was 1, and the bias 0"
