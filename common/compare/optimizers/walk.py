"""Which optimiser took several steps: its constants, its clipping and each step's rate.

Every usual optimiser is run on the recorded gradients. The one is named whose directions, times a
rate for each step, equal the recorded updates.
"""

import itertools
from collections import OrderedDict, namedtuple

import numpy as np

from common.compare.layers.layer import number, size
from common.compare.optimizers import fit

Walked = namedtuple("Walked", "rule clip rates decays off")
Walked.__doc__ = """What moved a side's weights.

rates: one for each step. decays: {tensor: decay in the first step}.
off: the distance, relative to the update.
"""
Rule = namedtuple("Rule", "words walk decay late")
Rule.__new__.__defaults__ = (0.0, False)
Rule.__doc__ = """An optimiser in words, and its directions, one by one, of a tensor's gradients.

decay: a factor; the weights times it are added to each gradient, perhaps of some tensors only.
late: whether Adam adds its epsilon before it corrects the average.
"""
Clip = namedtuple("Clip", "words apply")
Clip.__doc__ = """A clipping in words, and its function: a ``Tensor``'s new gradients."""
Tensor = namedtuple("Tensor", "name gradients weights norms peak")
Tensor.__doc__ = """Values of a tensor in each step, all or some.

norms: of the whole gradients. peak: their largest value.
"""

SAMPLE = 2048  # values of each tensor
LIMITS = (1.0, 0.5, 0.1, 0.01, 5.0, 10.0, 2.0, 0.25, 0.05)
MOMENTA = (0.9, 0.99, 0.95, 0.8, 0.5, 0.85, 0.7, 0.98)
BETAS = ((0.9, 0.999), (0.9, 0.99), (0.9, 0.95), (0.9, 0.98), (0.95, 0.999), (0.8, 0.999))
BETAS += ((0.5, 0.999), (0.0, 0.999), (0.0, 0.99), (0.8, 0.99), (0.95, 0.95), (0.9, 0.9))
EPSILONS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-3)
DECAYS = (0.1, 0.01, 1e-3, 1e-4, 5e-4, 0.05, 1e-5, 5e-5, 2e-4, 0.3)
FIRST = 256  # values of a tensor that show whether a rule may fit
SILENT = 1e-7  # of the largest gradient: smaller ones are rounding, and move nothing


def side(walks):
    """The ``Walked`` that fits a recording's {tensor: ``Walk``}; None if none does."""
    best, tensors = None, _sampled(walks)
    with np.errstate(all="ignore"):
        for clip in _clips(tensors):
            clipped = [tensor._replace(gradients=clip.apply(tensor)) for tensor in tensors]
            for rule in _rules():
                found = _fitted(rule, clip, clipped)
                if found is not None and _better(found, best):
                    best = found
            if best is not None and _is_round(best):
                break
    return best


def _is_round(walked):
    return all(fit.is_round(rate) for rate in walked.rates if rate)


def _better(found, best):
    """Whether a rule fits better: by round rates, or else by at most half of the distance."""
    if best is None or _is_round(found) != _is_round(best):
        return best is None or _is_round(found)
    return found.off < 0.5 * best.off


def whole(walk):
    """A ``Walk`` as a ``Tensor`` with all its values."""
    norms = [np.sqrt((g**2).sum()) for g in walk.gradients]
    peak = max(np.abs(g).max() for g in walk.gradients)
    return Tensor(walk.name, walk.gradients, walk.weights, norms, peak)


def _sampled(walks):
    """A ``Tensor`` for each of the ``Walk`` that has a gradient."""
    tensors = [whole(walk) for walk in walks.values()]
    peak = max([tensor.peak for tensor in tensors], default=0)
    # Left out is, for example, the bias before a norm.
    return [_sample(tensor) for tensor in tensors if tensor.peak > SILENT * peak]


def _sample(tensor):
    some = np.random.RandomState(0).permutation(tensor.weights[0].size)[:SAMPLE]
    gradients, weights = (
        [x.reshape(-1)[some] for x in xs] for xs in (tensor.gradients, tensor.weights)
    )
    return tensor._replace(gradients=gradients, weights=weights)


def _fitted(rule, clip, tensors):
    """The ``Walked`` of a rule; None if a tensor does not follow it."""
    first = [[x[:FIRST] for x in xs] for xs in (tensors[0].gradients, tensors[0].weights)]
    if _of_tensor(rule, *first) is None:
        return None
    rates, decays, sizes, offs = [], OrderedDict(), [], []
    for tensor in tensors:
        found = _of_tensor(rule, tensor.gradients, tensor.weights)
        if found is None:
            return None
        own, decays[tensor.name], off = found
        rates.append(own)
        offs += off
        sizes.append(len(tensor.weights[0]))
    if rule.decay and not any(decays.values()):
        return None
    rates, sizes = np.array(rates), np.array(sizes)
    large = sizes > 8 if (sizes > 8).any() else sizes > 0
    middle = np.median(rates[large], 0)
    apart = np.abs(rates[large] - middle) > 0.01 * np.abs(middle)
    if apart.any() or (middle < 0).any() or not middle.any():
        return None
    return Walked(rule, clip, middle, decays, float(np.mean(offs)))


def _of_tensor(rule, gradients, weights):
    """(each step's rate, the first decay, distances) of a tensor; None if the rule does not fit."""
    if not rule.decay:
        return _followed(rule.walk(gradients), weights, True)
    decayed = [g + rule.decay * w for g, w in zip(gradients, weights)]
    found = _followed(rule.walk(decayed), weights, False)
    if found is not None:
        return found[0], rule.decay, found[2]
    return _followed(rule.walk(gradients), weights, False)


def _followed(directions, weights, decays):
    """As ``_of_tensor``, for given directions. decays: whether weights may decay by themselves."""
    rates, offs, decay = [], [], None
    for step, d in enumerate(directions):
        w, u = weights[step], weights[step + 1] - weights[step]
        if not np.isfinite(d).all():
            return None
        if not size(u):  # a rate of 0, as at the start of a schedule
            rates.append(0.0)
            continue
        table = np.stack([d, w], 1) if decays and len(u) > 2 and size(w) else d[:, None]
        solution = np.linalg.lstsq(-table, u, rcond=None)[0]
        left = size(u + np.dot(table, solution))
        noise = 1.2e-7 * size(w)
        if left > fit.CLOSE * size(u) + noise:
            return None
        rates.append(solution[0])
        offs.append(left / size(u))
        if decay is None:
            decay = solution[1] if len(solution) > 1 else 0.0
            noise += 0.05 * fit.CLOSE * size(u)
            shows = abs(decay) * size(w) > 10 * noise / np.sqrt(len(u))
            decay = decay if shows else 0.0
    return rates, decay or 0.0, offs


def words(walked):
    """A side's optimiser in words."""
    return without_tensors(walked) + fit.without(walked.decays)


def without_tensors(walked, with_late=True):
    """The same without the tensors that do not decay.

    with_late: whether the words say that Adam's epsilon is added before the correction.
    """
    rates = [fit.rounded(r) if fit.is_round(r) else float("%.4g" % r) for r in walked.rates]
    if len(rates) > 1 and np.ptp(walked.rates) <= 2e-3 * max(walked.rates):
        rates = rates[:1]
    late = " added before the correction" if walked.rule.late and with_late else ""
    shown = ", then ".join(number(rate) for rate in rates)
    says = "%s%s, rate %s" % (walked.rule.words, late, shown)
    says += ", " + walked.clip.words if walked.clip.words else ""
    decays = {name: decay for name, decay in walked.decays.items() if decay}
    if not decays:
        return says + ", no decay"
    if walked.rule.decay:
        says += ", %s times the weights added to the gradient" % number(walked.rule.decay)
    else:
        moving = next(rate for rate in rates if rate)
        says += ", decay " + fit.decay_words(float(np.median(list(decays.values()))), moving)
    return says


def _clips(tensors):
    """Yield clippings that change the recorded gradients; first, none. No tensors: nothing."""
    if not tensors:
        return
    yield Clip("", lambda tensor: tensor.gradients)
    totals = np.sqrt(np.square([tensor.norms for tensor in tensors]).sum(0))
    for limit in LIMITS:
        if limit < max(totals):
            yield Clip("gradients clipped to a global norm of %g" % limit, _global(limit, totals))
        if limit < max(max(tensor.norms) for tensor in tensors):
            yield Clip("each tensor's gradient clipped to a norm of %g" % limit, _each(limit))
        if limit < max(tensor.peak for tensor in tensors):
            yield Clip("gradients clipped to %g by value" % limit, _by_value(limit))


def _by_value(limit):
    return lambda tensor: [np.clip(g, -limit, limit) for g in tensor.gradients]


def _each(limit):
    return lambda tensor: _held(tensor, tensor.norms, limit)


def _global(limit, totals):
    return lambda tensor: _held(tensor, totals, limit)


def _held(tensor, norms, limit):
    return [g * min(1.0, limit / norm) for g, norm in zip(tensor.gradients, norms)]


def _rules():
    """Yield the optimisers, usual ones first."""
    yield Rule("SGD", lambda gradients: gradients)
    for m in MOMENTA:
        yield Rule("SGD, momentum %g" % m, _momentum(m, False, 0.0))
        yield Rule("SGD, Nesterov momentum %g" % m, _momentum(m, True, 0.0))
        for dampening in {m, 0.5, 0.1}:
            name = "SGD, momentum %g, dampening %g" % (m, dampening)
            yield Rule(name, _momentum(m, False, dampening))
    for betas, epsilon in itertools.product(BETAS, EPSILONS):
        name = "Adam, betas %g and %g, epsilon %g" % (betas + (epsilon,))
        yield Rule(name, _adam(betas, epsilon, True))
        yield Rule(name, _adam(betas, epsilon, True, late=True), late=True)
        if betas[0]:
            yield Rule(name + ", without bias correction", _adam(betas, epsilon, False))
            yield Rule("NAdam" + name[4:], _adam(betas, epsilon, True, nesterov=True))
    for betas in BETAS:
        yield Rule("Adamax, betas %g and %g" % betas, _adamax(betas))
        yield Rule("Lion, betas %g and %g" % betas, _lion(betas))
    for decay, epsilon in itertools.product((0.99, 0.9, 0.95, 0.999), EPSILONS):
        yield Rule("RMSprop, decay %g, epsilon %g" % (decay, epsilon), _rmsprop(decay, epsilon))
    for start in (0.0, 0.1, 1.0):
        yield Rule("Adagrad, its sums beginning at %g" % start, _adagrad(start))
    for decay in DECAYS:
        for m in MOMENTA[:2]:
            yield Rule("SGD, momentum %g" % m, _momentum(m, False, 0.0), decay)
            yield Rule("SGD, Nesterov momentum %g" % m, _momentum(m, True, 0.0), decay)
        for betas, epsilon in itertools.product(BETAS, EPSILONS[:2]):
            name = "Adam, betas %g and %g, epsilon %g" % (betas + (epsilon,))
            yield Rule(name, _adam(betas, epsilon, True), decay)


def _momentum(m, nesterov, dampening):
    def walk(gradients):
        v = gradients[0]
        for n, g in enumerate(gradients):
            v = m * v + (1 - dampening) * g if n else g
            yield g + m * v if nesterov else v

    return walk


def _adam(betas, epsilon, corrected, nesterov=False, late=False):
    def walk(gradients):
        m, v = 0.0, 0.0
        for n, g in enumerate(gradients, 1):
            m = betas[0] * m + (1 - betas[0]) * g
            v = betas[1] * v + (1 - betas[1]) * g**2
            first = betas[0] * m + (1 - betas[0]) * g if nesterov else m
            up, down = (1 - b**n if corrected else 1.0 for b in betas)
            up = 1 - betas[0] ** (n + 1) if nesterov else up
            scale = np.sqrt(down) if late else 1.0
            yield first / up / (np.sqrt(v / down) + epsilon / scale)

    return walk


def _adamax(betas):
    def walk(gradients):
        m, peak = 0.0, 0.0
        for n, g in enumerate(gradients, 1):
            m = betas[0] * m + (1 - betas[0]) * g
            peak = np.maximum(betas[1] * peak, np.abs(g))
            yield m / (1 - betas[0] ** n) / (peak + 1e-8)

    return walk


def _lion(betas):
    def walk(gradients):
        m = 0.0
        for g in gradients:
            yield np.sign(betas[0] * m + (1 - betas[0]) * g)
            m = betas[1] * m + (1 - betas[1]) * g

    return walk


def _rmsprop(decay, epsilon):
    def walk(gradients):
        v = 0.0
        for g in gradients:
            v = decay * v + (1 - decay) * g**2
            yield g / (np.sqrt(v) + epsilon)

    return walk


def _adagrad(start):
    def walk(gradients):
        total = start
        for g in gradients:
            total = total + g**2
            yield g / (np.sqrt(total) + 1e-10)

    return walk
