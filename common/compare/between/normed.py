"""A norm that one side leaves out: then A's result is B's, normalised, or B's is A's."""

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers import normalisation, search
from common.compare.layers.layer import Layer


def explain(both):
    """An ``Explanation`` if one result is a norm of the other."""
    if both.ours.shape != both.theirs.shape:
        return None
    a, b = both.a.output, both.b.output
    for x, y, names in ((b, a, ("A", "B")), (a, b, ("B", "A"))):
        for case in normalisation.cases(Layer([both.a.arrays[0], x, y], 2)):
            case.kinds = [kind for kind in case.kinds if kind != normalisation.CHANNELS]
            found = search.best(normalisation, case)
            if found is not None and len(case.inputs) == 1 and case.inputs[0] is x:
                says = "%s is %s after a norm: " % names
                says += normalisation.words(found.constants)
                return Explanation(says, pages.WEIGHTS)
    return None
