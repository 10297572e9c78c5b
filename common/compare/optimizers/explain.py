"""What the optimisers of two recordings do, if that is not the same."""

from common.compare.names import key, words
from common.compare.optimizers import fit, steps, walk


def explained(a, b):
    """What the optimisers of two recordings do, in words; None if it is not known to differ."""
    fits = _several_steps(a, b) or _one_step(a, b)
    if None in fits:
        difference = fit.between(steps.of(a), steps.of(b))
        return difference and "the optimiser: " + difference
    (ours, left), (theirs, right) = fits
    if ours != theirs:
        return "the optimiser: %s in A; %s in B" % (ours, theirs)
    return _decays_apart(left, right)


def sides(a, b):
    """The optimiser of each side in words, or None where it is not known."""
    return [found and found[0] for found in _several_steps(a, b) or _one_step(a, b)]


def _decays_apart(ours, theirs):
    """The tensors that decay on one side alone, in words; None if there are none."""
    decaying = [{key(words(name)) for name in side if side[name]} for side in (ours, theirs)]
    parts = []
    for n, side in enumerate("AB"):
        only = decaying[n] - decaying[1 - n]
        names = [name for name in (ours, theirs)[n] if key(words(name)) in only]
        if names:
            parts.append("decay of %s in %s alone" % (fit.listed(names), side))
    return "the optimiser: " + ", ".join(parts) if parts else None


def _one_step(a, b):
    """[(words, {tensor: decay})] of both sides, None where a side's first step is not known."""
    moved = (fit.side(steps.of(side)) for side in (a, b))
    return [found and (fit.words(found), found.decays) for found in moved]


def _several_steps(a, b):
    """The same from as many steps as were recorded; None if that does not show it.

    One step, without clipping, shows less than ``fit`` says of it.
    """
    walks = [steps.walks(arrays) for arrays in (a, b)]
    found = [walk.side(tensors) for tensors in walks]
    if None in found:
        return None
    count = min(len(walked.rates) for walked in found)
    if count < 2 and not any(walked.clip.words for walked in found):
        return None
    return [(walk.words(walked), walked.decays) for walked in found]
