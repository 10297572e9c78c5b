"""Fits an optimiser's first step to the tensors of a recording, or to the difference of two."""

from collections import OrderedDict, namedtuple

import numpy as np

from common.compare.layers.layer import number, size
from common.compare.optimizers import rules

Moved = namedtuple("Moved", "rule name rate decays off")
Moved.__doc__ = """How the weights moved: w -= rate * direction + decay * w.

name: the optimiser. decays: {tensor: decay}. off: the distance, relative to the update.
"""
CLOSE = 2e-3  # of the update; the rounding of the weights is allowed on top
MOST = 0.5  # usual decays are smaller
LISTED = 4  # names of tensors
ROUND = 2e-3  # relative distance of a fitted constant from a round number
DIGITS = ("1.0", "1.5", "2.0", "2.5", "3.0", "4.0", "5.0", "6.0", "8.0")  # of round numbers


def side(tensors):
    """The ``Moved`` that fits one side, whose weights before the step are known; or None."""
    if not tensors or any(step.before is None for step in tensors.values()):
        return None
    best = None
    for rule in rules.every():
        moved = _fitted(rule, tensors)
        if moved is not None and (best is None or moved.off < 0.5 * best.off):
            best = moved
    return best


def _fitted(rule, tensors):
    """The ``Moved`` of a rule; None if it does not fit a tensor."""
    rows, decays, off, square = {}, OrderedDict(), 0.0, 0.0
    for name, step in tensors.items():
        with np.errstate(all="ignore"):
            d = rule.direction(step.gradient, step.before).reshape(-1)
        u, w = step.update.reshape(-1), step.before.reshape(-1)
        if not np.isfinite(d).all() or not size(u):
            return None
        table = np.stack([d, w], 1) if len(u) > 2 and size(w) else d[:, None]
        solution = np.linalg.lstsq(-table, u, rcond=None)[0]
        left = size(u + np.dot(table, solution))
        noise = 1.2e-7 * size(w) + CLOSE * 0.05 * size(u)
        if left > CLOSE * size(u) + noise:
            return None
        rows[name] = solution[0]
        decay = solution[1] if len(solution) > 1 else 0.0
        decays[step.name] = decay if abs(decay) * size(w) > 10 * noise / np.sqrt(len(u)) else 0.0
        off, square = off + left**2 * len(u), square + size(u) ** 2 * len(u)
    sizes = np.array([tensors[name].gradient.size for name in rows], float)
    rates = np.array(list(rows.values()))
    rate = float((rates * sizes).sum() / sizes.sum())
    if _apart(rates, sizes):
        return None
    name, rate = _round_rate(rule, rate)
    return Moved(rule, name, rate, decays, float(np.sqrt(off / square)))


def _apart(rates, sizes):
    """Whether the large tensors have different rates."""
    large = rates[sizes > 8]
    return len(large) > 1 and np.ptp(large) > 0.02 * np.abs(large).max()


def _round_rate(rule, fitted):
    """(optimiser, rate): the rule's first optimiser with a round rate; else its first one."""
    for name, ratio in rule.ratios:
        if is_round(fitted / ratio):
            return name, rounded(fitted / ratio)
    return rule.ratios[0][0], fitted


def rounded(value):
    """The nearest number of two digits."""
    return float("%.1e" % value)


def is_round(value):
    """Whether a number is near 1, 2, 3, 5 or the like, times a power of ten."""
    near = rounded(value)
    digits = ("%.1e" % abs(near)).split("e")[0]
    return digits in DIGITS and abs(value / near - 1) < ROUND


def words(moved):
    """A side's optimiser in words."""
    return without_tensors(moved) + without(moved.decays)


def without_tensors(moved):
    """The same without the tensors that do not decay."""
    says = "%s, rate %s" % (moved.name, number(float("%.4g" % moved.rate)))
    if moved.rule.epsilon and moved.name.startswith("Adam"):
        says += ", epsilon %s" % number(moved.rule.epsilon)
    decays = {name: decay for name, decay in moved.decays.items() if decay}
    if not decays:
        return says + ", no decay"
    decay = float(np.median(list(decays.values())))
    return says + ", decay " + decay_words(decay, moved.rate)


def without(decays):
    """The tensors that do not decay, in words, if others do."""
    left = [name for name, decay in decays.items() if not decay]
    return ", not of " + listed(left) if 0 < len(left) < len(decays) else ""


def listed(names):
    """The first few names of tensors."""
    return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")


def decay_words(decay, rate):
    """A decay per step in words: as a number, or as a number times the rate."""
    if is_round(decay / rate) and decay / rate <= MOST:
        return "%s times the rate" % number(rounded(decay / rate))
    if is_round(decay):
        return "%s, not times the rate" % number(rounded(decay))
    return number(float("%.4g" % decay))


def between(a, b):
    """How B's update differs from A's, in words, if the weights before the step are unknown.

    Both begin with the same weights: w_A = (1 - x) w - r d and w_B = (1 - y) w - s d.
    """
    names = [name for name in a if name in b and a[name].after.shape == b[name].after.shape]
    large = [name for name in names if a[name].gradient.size > 8]
    for rule in rules.every():
        if rule.name == "decayed Adam":
            continue  # it needs the weights before the step
        fits = [_difference(rule, a[name], b[name]) for name in large]
        if fits and all(fit is not None for fit in fits):
            kappa, gain = (float(np.median([fit[n] for fit in fits])) for n in (0, 1))
            spread = [np.ptp([fit[n] for fit in fits]) for n in (0, 1)]
            if spread[0] <= 0.02 * abs(kappa) + 1e-6 and spread[1] <= 0.02 * abs(gain) + 1e-7:
                return _difference_words(rule, kappa, gain)
    return None


def _difference(rule, a, b):
    """(kappa, gain) of w_B - w_A = kappa w_A + gain d; None if it does not fit."""
    with np.errstate(all="ignore"):
        d = rule.direction(a.gradient, a.after).reshape(-1)
    off, w = (b.after - a.after).reshape(-1), a.after.reshape(-1)
    if not np.isfinite(d).all() or size(off) < 1e-6 * size(w):
        return None
    table = np.stack([w, d], 1)
    solution = np.linalg.lstsq(table, off, rcond=None)[0]
    left = size(off - np.dot(table, solution))
    if left > CLOSE * size(off) + 1.2e-7 * size(w):
        return None
    return solution


def _difference_words(rule, kappa, gain):
    """Both optimisers in words, if round numbers explain the factors; else the factors."""
    if abs(kappa) > 1e-5:
        rate = gain / kappa
        if rate > 0 and is_round(rate):
            return _decays(rule, kappa, rounded(rate))
    for ours, x in rule.ratios:
        for theirs, y in rule.ratios:
            if x != y and is_round(gain / (x - y)) and gain / (x - y) > 0:
                rate = number(rounded(gain / (x - y)))
                return "%s in A, %s in B, both with rate %s" % (ours, theirs, rate)
    says = "B's step is A's and %s times %s"
    return says % (
        number(float("%.4g" % -gain)),
        "the gradient" if rule.name == "SGD" else "its sign",
    )


def _decays(rule, kappa, rate):
    """In words: weights that decay more on one side."""
    names = ("A", "B") if kappa < 0 else ("B", "A")
    more = -kappa if kappa < 0 else kappa / (1 + kappa)
    optimizer = rule.ratios[0][0]
    start = "%s with rate %s in both; the weights' own decay: " % (optimizer, number(rate))
    for decay in (0.1, 0.01, 0.001, 1e-4, 0.05, 0.3, 5e-4, 0.2, 0.02):
        left = 1 - rate * decay  # of the weights; 0 for a large rate
        if left and abs(1 - (1 - decay) / left - more) < 2e-3 * more:
            says = "%s times the rate in %s, %s without the rate in %s"
            return start + says % (number(decay), names[0], number(decay), names[1])
        if abs(rate * decay - more) < 1e-2 * more:
            says = "none in %s, %s times the rate in %s"
            return start + says % (names[0], number(decay), names[1])
    return start + "%s more in %s" % (number(float("%.4g" % more)), names[1])
