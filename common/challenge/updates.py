"""Mistakes between the gradient and the weights after a step: optimisers.

An optimiser is a rule, ``rule(hp, step, weights, gradients, state)``, which returns {tensor:
update}. Weights and gradients are {tensor: array}; ``state`` is the rule's own dict.
"""

from collections import namedtuple

import numpy as np

from common.challenge.causes import Cause, layers
from common.system.modules import replaced

Evidence = namedtuple("Evidence", "start moved right zero zero_start large large_right")
Evidence.__doc__ = """Steps of an answer from which constants are read.

start: the weights before the step. moved, right: {tensor: update} of the answer, and of the
    reference.
zero, zero_start: {tensor: update} of a step whose gradient is 0, and the weights before it; empty
    without an answer.
large, large_right: {tensor: update} of the step after that, whose gradient is large, of the answer
    and of the reference; empty without an answer.
"""

Second = namedtuple("Second", "hp first moved right")
Second.__doc__ = """The second step of an answer with momentum.

hp: the hyperparameters. first: {tensor: update} of the first step, which was right. moved, right:
{tensor: update} of the answer, and of the reference.
"""


class Ruled:
    """An optimiser that follows a rule."""

    def __init__(self, network, hp, rule):
        self.hp, self.rule, self.steps, self.state = hp, rule, 0, {}
        self.tensors = {}
        for layer in layers.every(network):
            for kind, w, g in zip(layer.kinds, layer.parameters, layer.gradients):
                self.tensors["%s.%s" % (layer.name, kind)] = (w, g)

    def step(self):
        """Move every parameter, in place."""
        self.steps += 1
        weights = {name: w for name, (w, _) in self.tensors.items()}
        gradients = {name: g.copy() for name, (_, g) in self.tensors.items()}
        for name, u in self.rule(self.hp, self.steps, weights, gradients, self.state).items():
            weights[name] += u


def with_rule(rule):
    """A cause's ``make`` with another optimiser; the module keeps ``rule`` for further causes."""

    def make(module):
        def loss(network, settings, hp, weights):
            network, criterion, _ = module.loss(network, settings, hp, weights)
            return network, criterion, Ruled(network, hp, rule)

        return replaced(module, loss=loss, rule=rule)

    make.rule = rule
    return make


def forgetful(rule):
    """A cause's ``make``: every pass resets the optimiser's state."""

    def make(module):
        def train(model, batches):
            _, _, optimizer = model
            optimizer.state, optimizer.steps = {}, 0
            return module.train(model, batches)

        return replaced(with_rule(rule)(module), train=train)

    make.rule = rule
    return make


def keep_gradients(hp, step, weights, gradients, state):
    """No optimiser: nothing moves, and ``state`` keeps the gradients."""
    state.update(gradients)
    return {}


# Rules. ``momentum`` and ``adam`` are right.


def momentum(hp, step, weights, gradients, state):
    """Classical: v = m v - lr g; w = w + v."""
    return velocity(hp, with_decay(hp, weights, gradients), state)


def with_decay(hp, weights, gradients):
    """Gradients with the weight decay, if any, of kernels and matrices."""
    decay = getattr(hp, "weight_decay", 0)
    return {
        n: g + decay * weights[n] if decay and weights[n].ndim > 1 else g
        for n, g in gradients.items()
    }


def velocity(hp, gradients, state):
    """The new velocities."""
    for name, g in gradients.items():
        state[name] = hp.momentum * state.get(name, 0) - hp.learning_rate * g
    return dict(state)


def adam(hp, step, weights, gradients, state):
    """Both moments are corrected for their bias; epsilon is added to the root."""
    new = moments(hp, gradients, state)
    return {name: corrected(hp, step, m, v) for name, (m, v) in new.items()}


def corrected(hp, step, m, v):
    """Adam's update, from moments corrected for this step."""
    m, v = m / (1 - hp.beta1**step), v / (1 - hp.beta2**step)
    return -hp.learning_rate * m / (np.sqrt(v) + hp.epsilon)


def moments(hp, gradients, state):
    """{tensor: (mean, mean square)}, not corrected."""
    for name, g in gradients.items():
        m, v = state.get(name, (0, 0))
        state[name] = hp.beta1 * m + (1 - hp.beta1) * g, hp.beta2 * v + (1 - hp.beta2) * g * g
    return dict(state)


def nesterov(hp, step, weights, gradients, state):
    """w moves by m v - lr g, where v is the new velocity."""
    gradients = with_decay(hp, weights, gradients)
    velocities = velocity(hp, gradients, state)
    return {n: hp.momentum * v - hp.learning_rate * gradients[n] for n, v in velocities.items()}


def dampened(part):
    """Dampening: the gradient is scaled by 1 - part from the second step on.

    part: None means the momentum.
    """

    def rule(hp, step, weights, gradients, state):
        share = 1 if step == 1 else 1 - (hp.momentum if part is None else part)
        gradients = with_decay(hp, weights, gradients)
        return velocity(hp, {n: share * g for n, g in gradients.items()}, state)

    return rule


def unit_gain(hp, step, weights, gradients, state):
    """The gradient is scaled by 1 - m."""
    share = 1 - hp.momentum
    gradients = with_decay(hp, weights, gradients)
    return velocity(hp, {n: share * g for n, g in gradients.items()}, state)


def without_momentum(hp, step, weights, gradients, state):
    """Plain gradient descent."""
    return {n: -hp.learning_rate * g for n, g in with_decay(hp, weights, gradients).items()}


def epsilon_inside(hp, step, weights, gradients, state):
    """sqrt(v + epsilon)."""
    rate = hp.learning_rate / (1 - hp.beta1**step)
    return {
        name: -rate * m / np.sqrt(v / (1 - hp.beta2**step) + hp.epsilon)
        for name, (m, v) in moments(hp, gradients, state).items()
    }


def epsilon_uncorrected(hp, step, weights, gradients, state):
    """Epsilon is added to the root before its correction."""
    rate = hp.learning_rate * np.sqrt(1 - hp.beta2**step) / (1 - hp.beta1**step)
    both = moments(hp, gradients, state).items()
    return {n: -rate * m / (np.sqrt(v) + hp.epsilon) for n, (m, v) in both}


def not_corrected(hp, step, weights, gradients, state):
    """The moments are not corrected."""
    both = moments(hp, gradients, state).items()
    return {n: -hp.learning_rate * m / (np.sqrt(v) + hp.epsilon) for n, (m, v) in both}


def one_step_late(hp, step, weights, gradients, state):
    """The step counter is incremented after the update, not before."""
    return adam(hp, max(step - 1, 1), weights, gradients, state)


def largest(hp, step, weights, gradients, state):
    """AMSGrad: the largest mean square so far, not the current one."""
    both = moments(hp, gradients, state.setdefault("moments", {}))
    most = state.setdefault("largest", {})
    for name, (_, v) in both.items():
        most[name] = np.maximum(most.get(name, 0), v)
    return {name: corrected(hp, step, m, most[name]) for name, (m, _) in both.items()}


# Rules on top of another rule. When causes are stacked, the rule at the bottom may be replaced
# later; ``rebased`` puts the upper rules on top of the new one.


def above(make):
    """Decorate ``make(rule, ...)``, which makes rules, so that these can be rebased."""

    def made(rule, *arguments, **values):
        changed_rule = make(rule, *arguments, **values)
        changed_rule.rebase = lambda new: made(rebased(rule, new), *arguments, **values)
        changed_rule.vary = lambda **parts: made(varied(rule, **parts), *arguments, **values)
        return changed_rule

    return made


def rebased(rule, new):
    """``rule`` with ``new`` as the rule at the bottom."""
    return rule.rebase(new) if hasattr(rule, "rebase") else new


def varied(rule, **parts):
    """``rule`` with other parts of AdamW (``schedules.around``), if it has them."""
    return rule.vary(**parts) if hasattr(rule, "vary") else rule


@above
def given(rule, change):
    """``rule`` with the hyperparameters {name: value} that ``change(hp, step)`` returns."""

    def changed_rule(hp, step, weights, gradients, state):
        return rule(hp._replace(**change(hp, step)), step, weights, gradients, state)

    return changed_rule


def constant(rule, **values):
    """``rule`` with hard-coded hyperparameters."""
    return given(rule, lambda hp, step: values)


def decaying(rule, factor):
    """``rule`` with the weight decay times a factor."""
    return given(rule, lambda hp, step: dict(weight_decay=factor * hp.weight_decay))


def falling(rule, part):
    """``rule`` with the learning rate times ``part(step)``."""
    return given(rule, lambda hp, step: dict(learning_rate=part(step) * hp.learning_rate))


@above
def times(rule, factor):
    """``rule`` with the learning rate times a factor."""

    def changed_rule(hp, step, weights, gradients, state):
        moves = rule(hp, step, weights, gradients, state)
        return {name: factor * u for name, u in moves.items()}

    return changed_rule


@above
def changed(rule, change):
    """``rule`` with the gradients that ``change(hp, weights, gradients, state)`` returns."""

    def changed_rule(hp, step, weights, gradients, state):
        own = state.setdefault("of the change", {})
        gradients = change(hp, weights, gradients, own)
        inner = state.setdefault("of the rule", {})
        return rule(hp, step, weights, gradients, inner)

    return changed_rule


@above
def gathered(rule, steps, share):
    """``rule`` once every ``steps`` steps, with ``share`` of the sum of their gradients."""

    def changed_rule(hp, step, weights, gradients, state):
        sums = state.setdefault("sums", {})
        for name, g in gradients.items():
            sums[name] = sums.get(name, 0) + share * g
        if step % steps:
            return {}
        state["sums"] = {}
        return rule(hp, step // steps, weights, sums, state.setdefault("of the rule", {}))

    return changed_rule


def scaled(factor):
    """Gradients times a constant."""
    return lambda hp, weights, gradients, own: {n: factor * g for n, g in gradients.items()}


def decayed(strength, chosen):
    """Weight decay, added to the gradient. strength: None means the hyperparameter."""

    def change(hp, weights, gradients, own):
        decay = hp.weight_decay if strength is None else strength
        return {
            n: g + decay * weights[n] if chosen(n, weights[n]) else g for n, g in gradients.items()
        }

    return change


@above
def decoupled(rule, strength, chosen):
    """Weight decay that shrinks the weights separately from the rule, as in AdamW and SGDW."""

    def changed_rule(hp, step, weights, gradients, state):
        decay = hp.weight_decay if strength is None else strength
        return {
            n: u - hp.learning_rate * decay * weights[n] if chosen(n, weights[n]) else u
            for n, u in rule(hp, step, weights, gradients, state).items()
        }

    return changed_rule


def clipped(limit):
    """The whole gradient's norm is at most ``limit``."""

    def change(hp, weights, gradients, own):
        norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
        return {n: g * min(1, limit / norm) if norm else g for n, g in gradients.items()}

    return change


def clipped_each(limit):
    """The norm of each tensor's gradient is at most ``limit``."""

    def change(hp, weights, gradients, own):
        return {n: clipped(limit)(hp, weights, {n: g}, own)[n] for n, g in gradients.items()}

    return change


def clipped_by_value(limit):
    """Each number of the gradient is at most ``limit``."""
    return lambda hp, weights, gradients, own: {
        n: np.clip(g, -limit, limit) for n, g in gradients.items()
    }


def frozen(chosen):
    """Some tensors have no gradient."""
    return lambda hp, weights, gradients, own: {
        n: 0 * g if chosen(n) else g for n, g in gradients.items()
    }


def accumulated(hp, weights, gradients, own):
    """Gradients are never reset: each step adds to them."""
    for name, g in gradients.items():
        own[name] = own.get(name, 0) + g
    return dict(own)


def stale(hp, weights, gradients, own):
    """Each step uses the previous step's gradient."""
    last = {name: own.get(name, 0 * g) for name, g in gradients.items()}
    own.update(gradients)
    return last


# Causes.


def dot(a, b):
    """The inner product of the tensors in ``b`` with the tensors of the same names in ``a``."""
    return sum(float(np.vdot(a[name], b[name])) for name in b)


def _decays(rule, evidence):
    """Weight decay of the measured strength, on each plausible set of tensors."""
    moved, start = evidence.zero, evidence.zero_start
    if not moved:
        moved = {n: evidence.moved[n] - evidence.right[n] for n in evidence.right}
        start = evidence.start
    kinds = [
        ("of all tensors", lambda n, w: True),
        ("of all but the biases", lambda n, w: w.ndim > 1),
        ("of the biases only", lambda n, w: w.ndim == 1),
        ("of the kernels only", lambda n, w: w.ndim == 4),
    ]
    # In the step without gradient, the last bias is so large that float32 hides most of its decay.
    *most, _ = moved
    if evidence.zero:
        still = [name for name in most if not moved[name].any()]
        kinds += [("of " + n, lambda n, w, only=n: n == only) for n in most if len(still) > 1]
    for where, chosen in kinds:
        names = [n for n in most if chosen(n, start[n])]
        weights = {n: np.float64(start[n]) for n in names}
        size = dot(weights, weights)
        strength = -dot({n: moved[n] for n in names}, weights) / size if size else 0.0
        if abs(strength) < 1e-12:
            continue
        for says, other in (
            ("weight decay of %.3g %s, in the gradient", changed(rule, decayed(strength, chosen))),
            ("weight decay of %.3g %s, beside the gradient", decoupled(rule, strength, chosen)),
        ):
            yield Cause(says % (strength, where), with_rule(other), concept="weight decay")


def _factor(moved, right):
    """The factor between an update and the right one."""
    return dot(moved, right) / max(dot(right, right), 1e-300)


def _scales(rule, evidence):
    """The gradient times a constant."""
    factor = _factor(evidence.moved, evidence.right)
    says = "the gradient is multiplied by %.6g" % factor
    if abs(factor - 0.1) < 1e-4:
        says += ": a mean over the ten classes, too"
    yield Cause(says, with_rule(changed(rule, scaled(factor))), concept="loss and its reduction")


def _rates(rule, evidence, hp, has_momentum):
    """A wrong learning rate: times a factor, or hard-coded."""
    factor = _factor(evidence.moved, evidence.right)
    rate = factor * hp["learning_rate"]
    always = with_rule(constant(rule, learning_rate=rate))
    yield Cause("the learning rate is always %.4g" % rate, always, concept="optimiser")
    if not has_momentum:
        says = "the learning rate is %.4g times what it should be" % factor
        yield Cause(says, with_rule(times(rule, factor)), concept="optimiser")


def _falls(rule, evidence):
    """A learning rate that falls from step to step, as measured in two steps."""
    first = _factor(evidence.moved, evidence.right)
    if 0.1 < first < 1 - 1e-6:
        each = rounded(first)
        says = "the learning rate is multiplied by %.6g with each step, the first one, too" % each
        yield Cause(says, with_rule(falling(rule, lambda step: each**step)), concept="optimiser")
    second = _factor(evidence.large, evidence.large_right) / first
    if 0.1 < second < 1 - 1e-6:
        decay, later = float("%.3g" % (1 / second - 1)), rounded(second)
        says = "the learning rate is multiplied by %.6g from step to step" % later
        law = falling(rule, lambda step: later ** (step - 1))
        yield Cause(says, with_rule(law), concept="optimiser")
        says = "the learning rate is divided by 1 + %.3g t in step t, from 0 on (Keras's decay)"
        law = falling(rule, lambda step: 1 / (1 + decay * (step - 1)))
        yield Cause(says % decay, with_rule(law), concept="optimiser")


def _clips(evidence):
    """(words, change) for clipped gradients; the limit is read from a step of learning rate 1."""
    limits = [[limit] * 3 for limit in (0.1, 0.5, 1, 5, 10)]
    if evidence:
        limits = []
        for moved in filter(None, (evidence.moved, evidence.large)):
            each = [float(np.sqrt(np.square(u).sum())) for u in moved.values()]
            highest = max(float(abs(u).max()) for u in moved.values())
            limits.append([float(np.sqrt(np.square(each).sum())), max(each), highest])
    for norm, largest, value in limits:
        for limit, says, change in (
            (norm, "the gradient is clipped at a norm of %g", clipped),
            (largest, "each tensor's gradient is clipped at a norm of %g", clipped_each),
            (value, "the gradient is clipped at values of %g", clipped_by_value),
        ):
            if limit:
                yield says % rounded(limit), change(rounded(limit))


def rounded(measured):
    """``measured``, rounded to three digits if it is that close to such a number."""
    written = float("%.3g" % measured)
    return written if abs(written - measured) <= 2e-5 * abs(measured) else measured


def _constants(rule, has_momentum):
    """The usual values, hard-coded."""
    if has_momentum:
        always = with_rule(constant(rule, momentum=0.9))
        yield Cause("the momentum is always 0.9", always, concept="momentum")
        return
    both = with_rule(constant(rule, beta1=0.9, beta2=0.999))
    yield Cause("Adam's betas are always 0.9 and 0.999", both, concept="Adam")
    for epsilon in (1e-8, 1e-7, 1e-6):
        make = with_rule(constant(rule, epsilon=epsilon))
        # It magnifies the rounding of gradients that are as small as itself.
        says = "Adam's epsilon is always %g" % epsilon
        yield Cause(says, make, 1e-4, concept="Adam's epsilon")

    exchanged = given(rule, lambda hp, step: dict(beta1=hp.beta2, beta2=hp.beta1))
    yield Cause("Adam's betas are exchanged", with_rule(exchanged), concept="Adam")


def _of_second_step(rule, second):
    """Constants that show in the second step with momentum."""
    more = {n: second.moved[n] - second.right[n] for n in second.right}
    was, rate = second.hp["momentum"], second.hp["learning_rate"]
    momentum = rounded(was + dot(more, second.first) / max(dot(second.first, second.first), 1e-300))
    gradients = {n: (was * second.first[n] - u) / rate for n, u in second.right.items()}
    part = dot(more, gradients) / max(rate * dot(gradients, gradients), 1e-300)
    if abs(part) > 1e-3:
        says = "the gradient is multiplied by %.4g from step 2 on (dampening)" % (1 - rounded(part))
        yield Cause(says, with_rule(rebased(rule, dampened(rounded(part)))), concept="momentum")

    if abs(momentum) > 1e-3 and abs(momentum - was) > 1e-3:
        says = "the momentum is %.4g, not %.4g" % (momentum, was)
        other = given(rule, lambda hp, step: dict(momentum=momentum / was * hp.momentum))
        yield Cause(says, with_rule(other), concept="momentum")


def _other_decays(rule, usual):
    """Weight decay in the wrong place, or of the wrong strength."""
    for factor, says in (
        (0, "there is no weight decay"),
        (2, "weight decay is twice what it should be (a penalty that is not halved)"),
        (0.5, "weight decay is half of what it should be"),
    ):
        yield Cause(says, with_rule(decaying(rule, factor)), concept="weight decay")
    always = "weight decay is always %g" % usual
    yield Cause(always, with_rule(constant(rule, weight_decay=usual)), concept="weight decay")
    says = "biases and batch normalisation decay, too"
    more = changed(rule, decayed(None, lambda n, w: w.ndim == 1))
    yield Cause(says, with_rule(more), concept="weight decay")
    says = "weight decay is beside the gradient: the velocity does not contain it (SGDW)"
    beside = decoupled(decaying(rule, 0), None, lambda n, w: w.ndim > 1)
    yield Cause(says, with_rule(beside), concept="weight decay")


def _frozen(names):
    """(words, change) for tensors that are not trained."""
    layers_of = [name.rsplit(".", 1)[0] for name in names]
    layer_names = [layer for layer in dict.fromkeys(layers_of) if layers_of.count(layer) > 1]
    yield "nothing is trained", frozen(lambda name: True)
    yield "biases are not trained", frozen(lambda name: name.endswith(".bias"))
    for layer in layer_names:
        start = layer + "."
        yield "%s is not trained" % layer, frozen(lambda n, start=start: n.startswith(start))
    for name in names:
        yield "%s is not trained" % name, frozen(lambda n, name=name: n == name)


def _of_gradients(rule, names, evidence):
    """Gradients that are kept, late, missing, clipped or gathered; evidence: for the clips."""
    never = "gradients are never reset: each step adds to the last one's"
    late = "each step uses the gradient of the step before"
    changes = [(never, accumulated, "gradients reset"), (late, stale, "backward")]
    changes += [(*pair, "optimiser") for pair in [*_frozen(names), *_clips(evidence)]]
    for says, change, concept in changes:
        yield Cause(says, with_rule(changed(rule, change)), concept=concept)
    says = "weights move in every second step only, by the %s of two gradients (accumulation)"
    for mean, share in (("mean", 0.5), ("sum", 1)):
        make = with_rule(gathered(rule, 2, share))
        yield Cause(says % mean, make, concept="gradients reset")


def _of_momentum(rule):
    """Momentum by another formula."""
    for says, other in (
        ("Nesterov momentum (Caffe2's and others' default)", nesterov),
        ("the gradient is multiplied by 1 - momentum (unit gain, CNTK's default)", unit_gain),
        ("the gradient is multiplied by 1 - momentum from step 2 on (dampening)", dampened(None)),
        ("no momentum", without_momentum),
    ):
        yield Cause(says, with_rule(rebased(rule, other)), concept="momentum")


def _of_adam(rule, named):
    """Adam by another formula than the challenge names: epsilon "corrected" or "uncorrected"."""
    epsilon = "Adam's epsilon"
    for says, other, concept in (
        ("Adam's epsilon is inside the root", epsilon_inside, epsilon),
        (
            "Adam's epsilon is added before the correction "
            "(by nature in Keras, MXNet, Chainer, CNTK: --named adam_epsilon=uncorrected)",
            epsilon_uncorrected,
            epsilon,
        ),
        (
            "Adam's epsilon is added after the correction "
            "(as in the reference: --named adam_epsilon=corrected)",
            adam,
            epsilon,
        ),
        ("Adam's moments are not corrected for their bias", not_corrected, "Adam"),
        ("Adam corrects its moments as those of the step before", one_step_late, "Adam"),
        ("Adam keeps the largest mean square (AMSGrad)", largest, "Adam"),
    ):
        choice = {adam: "corrected", epsilon_uncorrected: "uncorrected"}.get(other)
        if choice == named:
            continue
        convention = ("adam_epsilon", choice) if choice else None
        make = with_rule(rebased(rule, other))
        yield Cause(says, make, concept=concept, convention=convention)


def causes(description, evidence, hp, rule, second=None, epsilon="corrected"):
    """Causes of wrong weights after a step.

    evidence: ``Evidence`` of the model with hyperparameters ``hp``, or None. rule: the optimiser's
    rule with the causes found so far. second: ``Second``, or None. epsilon: how the challenge's
    Adam adds it, a choice of ``adam_epsilon``.
    """
    has_momentum = "momentum" in description.traits
    names = [name for name in description.shapes if name not in description.state]
    every = []
    if evidence and abs(_factor(evidence.moved, evidence.right)) > 1e-6:  # something is trained
        every += _scales(rule, evidence) if has_momentum else []
        every += _rates(rule, evidence, hp, has_momentum)
        every += _falls(rule, evidence)
    if evidence:
        every += _decays(rule, evidence)
    every += _constants(rule, has_momentum)
    if second:
        every += _of_second_step(rule, second)
    if has_momentum and hasattr(description.hp, "weight_decay"):
        every += _other_decays(rule, description.hp.weight_decay)
    every += _of_gradients(rule, names, evidence if has_momentum else None)
    every += _of_momentum(rule) if has_momentum else _of_adam(rule, epsilon)
    says = "the optimiser's state is lost between passes"
    return every + [Cause(says, forgetful(rule), concept="momentum")]
