"""What the optimisers of two recordings do, if that is not the same."""

from common.compare.names import key, words
from common.compare.optimizers import fit, steps, walk


def explained(recordings):
    """What the optimisers of two recordings do, in words; None if it is not known to differ."""
    known, fits = recordings.tensors, _fits(recordings)
    if None in fits:
        theirs = {known.get(name, name): step for name, step in steps.of(recordings.b).items()}
        difference = fit.between(steps.of(recordings.a), theirs)
        return difference and "the optimiser: " + difference
    (ours, left), (theirs, right) = fits
    apart = _decays_apart(left, right, known)
    if ours != theirs and (apart or _nameless(ours, left) != _nameless(theirs, right)):
        return "the optimiser: %s in A; %s in B" % (ours, theirs)
    return apart


def sides(recordings):
    """The optimiser of each side in words, or None where it is not known."""
    return [found and found[0] for found in _fits(recordings)]


def alike(recordings):
    """Whether the optimisers are known, and the same but for the place of Adam's epsilon."""
    fits = _fits(recordings)
    if None in fits:
        return False
    says = [_nameless(*found).replace(walk.LATE, "") for found in fits]
    return says[0] == says[1] and not _decays_apart(fits[0][1], fits[1][1], recordings.tensors)


def _nameless(says, decays):
    """The words without the tensors that do not decay, which B may name its own way."""
    names = fit.without(decays)
    return says[: -len(names)] if names and says.endswith(names) else says


def _decays_apart(ours, theirs, known):
    """The tensors that decay on one side alone, in words; None if there are none."""
    keys = [{name: key(words(name)) for name in side} for side in (ours, theirs)]
    keys[1] = {name: known.get(k, k) for name, k in keys[1].items()}
    sides = ours, theirs
    decaying = [{keys[n][name] for name in side if side[name]} for n, side in enumerate(sides)]
    parts = []
    for n, side in enumerate("AB"):
        only = decaying[n] - decaying[1 - n]
        names = [name for name in sides[n] if keys[n][name] in only]
        if names:
            parts.append("decay of %s in %s alone" % (fit.listed(names), side))
    return "the optimiser: " + ", ".join(parts) if parts else None


def _fits(recordings):
    """[(words, {tensor: decay})] of both sides, None where it is not known; fitted once."""
    if recordings.optimizers is None:
        a, b = recordings.a, recordings.b
        recordings.optimizers = _several_steps(a, b) or _one_step(a, b)
    return recordings.optimizers


def _one_step(a, b):
    """The same, from the first step alone."""
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
