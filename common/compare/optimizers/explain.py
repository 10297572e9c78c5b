"""What the optimisers of two recordings do, if that is not the same."""

from common.compare.optimizers import fit, steps, walk


def explained(a, b):
    """What the optimisers of two recordings do, in words; None if it is not known to differ."""
    says = sides(a, b)
    if None not in says:
        return "the optimiser: %s in A; %s in B" % tuple(says) if says[0] != says[1] else None
    difference = fit.between(steps.of(a), steps.of(b))
    return difference and "the optimiser: " + difference


def sides(a, b):
    """The optimiser of each side in words, or None where it is not known."""
    return _several_steps(a, b) or [
        moved and fit.words(moved) for moved in (fit.side(steps.of(side)) for side in (a, b))
    ]


def _several_steps(a, b):
    """Both sides in words, from as many steps as were recorded; None if that does not show it.

    One step, without clipping, shows less than ``fit`` says of it.
    """
    walks = [steps.walks(arrays) for arrays in (a, b)]
    found = [walk.side(tensors) for tensors in walks]
    if None in found:
        return None
    count = min(len(walked.rates) for walked in found)
    if count < 2 and not any(walked.clip.words for walked in found):
        return None
    return [walk.words(walked) for walked in found]
