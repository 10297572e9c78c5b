"""How the optimisers of two recordings differ."""

from typing import Dict, NamedTuple

from common.compare.names import key, words
from common.compare.optimizers import fit, steps, walk


class Optimizer(NamedTuple):
    """What moved a side's weights, in words.

    without_tensors: the words without the tensors that do not decay, which B may name its own way.
    without_place: also without the place of Adam's epsilon. decays: {tensor: decay}.
    """

    says: str
    without_tensors: str
    without_place: str
    decays: Dict[str, float]


def explained(recordings):
    """What the optimisers of two recordings do, in words; None if it is not known to differ."""
    known, fits = recordings.tensors, _fits(recordings)
    if None in fits:
        theirs = {known.get(name, name): step for name, step in steps.of(recordings.b).items()}
        difference = fit.between(steps.of(recordings.a), theirs)
        return difference and "the optimiser: " + difference
    ours, theirs = fits
    apart = _decays_apart(ours.decays, theirs.decays, known)
    if ours.says != theirs.says and (apart or ours.without_tensors != theirs.without_tensors):
        return "the optimiser: %s in A; %s in B" % (ours.says, theirs.says)
    return apart


def sides(recordings):
    """The optimiser of each side in words, or None where it is not known."""
    return [found and found.says for found in _fits(recordings)]


def alike(recordings):
    """Whether the optimisers are known, and the same but for the place of Adam's epsilon."""
    ours, theirs = _fits(recordings)
    if None in (ours, theirs) or ours.without_place != theirs.without_place:
        return False
    return not _decays_apart(ours.decays, theirs.decays, recordings.tensors)


def differ_in_place(recordings):
    """Whether the optimisers are known, and differ in the place of Adam's epsilon alone."""
    ours, theirs = _fits(recordings)
    return alike(recordings) and ours.without_tensors != theirs.without_tensors


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
    """The ``Optimizer`` of both sides, None where it is not known; fitted once."""
    if recordings.optimizers is None:
        a, b = recordings.a, recordings.b
        recordings.optimizers = _several_steps(a, b) or [
            _of_first_step(fit.side(steps.of(side))) for side in (a, b)
        ]
    return recordings.optimizers


def _of_first_step(moved):
    if moved is None:
        return None
    short = fit.without_tensors(moved)
    return Optimizer(fit.words(moved), short, short, moved.decays)


def _several_steps(a, b):
    """The same from as many steps as were recorded; None if that does not show it.

    A single step without clipping is left to ``fit``, which says more about it.
    """
    walks = [steps.walks(arrays) for arrays in (a, b)]
    found = [walk.side(tensors) for tensors in walks]
    if None in found:
        return None
    count = min(len(walked.rates) for walked in found)
    if count < 2 and not any(walked.clip.words for walked in found):
        return None
    return [_of_steps(walked) for walked in found]


def _of_steps(walked):
    short = walk.without_tensors(walked), walk.without_tensors(walked, with_late=False)
    return Optimizer(walk.words(walked), *short, walked.decays)
