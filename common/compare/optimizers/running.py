"""Running statistics of batch norms: tensors that a step moves, and that have no gradient."""

import numpy as np

from common.compare.arrays import apart
from common.compare.layers.layer import number, size
from common.compare.layouts import Agreement, plain
from common.compare.optimizers import steps

LEAST = 3  # channels
SHARE = 0.4  # of the statistics, such as the means, that one ratio must explain
CLOSE = 2e-3  # of what a statistic moved
MOMENTA = (0.9, 0.99, 0.999, 0.95, 0.997, 0.9997, 0.98, 0.5)


def explained(recordings):
    """How much further B's statistics move in the first step, in words; None if no ratio fits."""
    ratios, count = [], 0
    for ours, theirs in _moved(recordings):
        count += 1
        a, b = ours[1] - ours[0], theirs[1] - theirs[0]
        ratio = (a * b).sum() / max((a**2).sum(), 1e-300)
        if size(b - ratio * a) <= 0.05 * size(b):  # a variance may have another divisor
            ratios.append(ratio)
    if not ratios or len(ratios) < SHARE * count:
        return None
    ratio = float(np.median(ratios))
    if ratio <= 0 or abs(ratio - 1) < 0.02 or np.ptp(ratios) > 0.1 * ratio:
        return None
    for m in MOMENTA:
        for ours, theirs in ((1 - m, m), (m, 1 - m)):
            if abs(theirs / ours / ratio - 1) < 0.05:
                says = (
                    "running statistics of a BatchNorm, share of the new batch %s in A, %s in B: "
                )
                return (says + "momentum or 1 - momentum") % (number(ours), number(theirs))
    says = "running statistics of a BatchNorm: a step moves B's %s times as far as A's"
    return says % number(float("%.3g" % ratio))


def frozen(recordings):
    """The side whose norms ignore the batch's statistics in training, in words; or None."""
    still = [[], []]
    for other, key in recordings.tensors.items():
        sides = _values(recordings.a, key), _values(recordings.b, other)
        if None not in sides:
            for n, (before, after) in enumerate(sides):
                still[n].append(np.array_equal(before, after))
    for n, (side, other) in enumerate(("AB", "BA")):
        if still[n] and all(still[n]) and not any(still[1 - n]):
            says = "a step moves no running statistics in %s, and moves those of %s: in training, "
            return (says + "%s's batch norms are frozen, as in evaluation") % (side, other, side)
    return None


def is_statistic(recordings, difference):
    """Whether the first difference is a running statistic."""
    return _values(recordings.a, steps.kind(difference["a"])[2]) is not None


def accept(recordings):
    """Accept variances that differ by the divisor, n or n - 1; the result in words, or None."""
    count = 0
    for i, j in sorted(recordings.named.items()):
        what, step, key = steps.kind(recordings.a[i].name)
        if what != "weight" or not step or recordings.agreement(i, j):
            continue
        divisor = _divisor(recordings, key, steps.kind(recordings.b[j].name)[2])
        a, b = recordings.a[i], recordings.b[j]
        if divisor and (abs(b.values - a.values) <= 1.1 * step / divisor * abs(a.values)).all():
            off = apart(a.values, b.values)
            recordings.agreements[i, j] = Agreement(plain(a), off, True)
            count += 1
    if not count:
        return None
    recordings.pairs = recordings.aligned()
    return "running variances, of a batch's variance divided by n or by n - 1"


def _divisor(recordings, key, other):
    """n - 1, if it explains how a variance differs after the first step; else None.

    With a share s of the new batch's variance v, the variance w becomes w + s (v - w). With
    v n / (n - 1) instead of v, it is larger by s v / (n - 1) = (s w + what it moved) / (n - 1).
    """
    ours, theirs = (
        _values(arrays, k) for arrays, k in ((recordings.a, key), (recordings.b, other))
    )
    if ours is None or theirs is None or ours[0].shape != theirs[0].shape:
        return None
    for one, two in ((ours, theirs), (theirs, ours)):
        table = np.stack([one[0], one[1] - one[0]], 1)
        off = two[1] - one[1]
        share = (table[:, 1] * off).sum() / max((table[:, 1] ** 2).sum(), 1e-300)
        if size(off - share * table[:, 1]) <= CLOSE * size(off):
            continue  # another share of the new batch, whatever its divisor
        start, moved = np.linalg.lstsq(table, off, rcond=None)[0]
        noise = 4e-7 * size(one[1])
        if size(off - np.dot(table, [start, moved])) > CLOSE * size(off) + noise:
            continue
        if moved > 0 and 0 < start / moved <= 1.01 and 1 / moved >= 1:
            return 1 / moved
    return None


def _moved(recordings):
    """Yield both sides' (before, after the first step) of each running statistic."""
    for other, key in recordings.tensors.items():
        ours, theirs = _values(recordings.a, key), _values(recordings.b, other)
        if ours is not None and theirs is not None and ours[0].shape == theirs[0].shape:
            if size(ours[1] - ours[0]) and size(theirs[1] - theirs[0]):
                yield ours, theirs


def _values(arrays, key):
    """(before, after the first step) of a vector without a gradient; None if it is none."""
    found = {}
    for array in arrays:
        what, step, name = steps.kind(array.name)
        if name == key:
            found["gradient" if what == "gradient" else (what, step)] = array
    before = found.get(("weight", 0)) or found.get(("start", 1))
    after = found.get(("weight", 1))
    if "gradient" in found or before is None or after is None or len(before.shape) != 1:
        return None
    if before.size < LEAST or not (before.finite and after.finite):
        return None
    return before.values.astype(np.float64), after.values.astype(np.float64)
