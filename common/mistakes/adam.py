"""Mistakes in Adam."""

import numpy as np

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_hp
from common.networks.hyperparameters import NEVER_CLIPPED, AdamW
from common.proof.reference import CHOICES, conventions_of
from common.system.modules import replaced


class Update:
    """What surrounds Adam's rule in AdamW; a mistake replaces a method.

    Without a schedule in ``hp`` all of this does nothing.
    """

    def parts(self, batch):
        """The micro-batches whose gradients are averaged."""
        return [batch]

    def rate(self, hp, step):
        """The learning rate of a step, which counts from 1."""
        return rate_of(hp, step - 1) if hasattr(hp, "warmup") else hp.learning_rate

    def clipped(self, hp, gradients, weights):
        """The gradients, scaled down together where they are too long."""
        norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
        factor = min(1, hp.clip / max(norm, 1e-300)) if hasattr(hp, "clip") else 1
        return {name: factor * g for name, g in gradients.items()}

    def decay(self, hp, name, w):
        """What decay subtracts from a weight, for each unit of the learning rate."""
        decays = w.ndim > 1 and hasattr(hp, "clip")
        return hp.weight_decay * w if decays else 0 * w


def rate_of(hp, step):
    """The rate of a step, from 0, by ``hyperparameters.AdamW``."""
    if step < hp.warmup:
        return hp.learning_rate * (step + 1) / hp.warmup
    return cosine(hp, min(step, hp.steps))


def cosine(hp, step):
    """The rate of a step, from 0, by the schedule's cosine alone, which never ends."""
    part = (step - hp.warmup) / float(hp.steps - hp.warmup)
    return hp.last_rate + (hp.learning_rate - hp.last_rate) * (1 + np.cos(np.pi * part)) / 2


def with_adam(module, rule, update=None):
    """``module`` with another rule in place of Adam, and another ``Update`` around it.

    ``rule(hp, step, g, state)`` returns a tensor's update for its gradient, in float64; ``state``
    is a dict that persists for this tensor. With a huge epsilon and a huge learning rate, a step of
    the module's own Adam is a multiple of the gradient.
    """
    update = update or Update()

    class Wrapped:
        def __init__(self, settings, hp, weights):
            self.settings, self.hp, self.steps = settings, hp, 0
            self.weights = {n: w.astype(np.float64) for n, w in weights.items()}
            self.states = {n: {} for n in weights}
            self.last = None, None, None  # a batch, the weights before it, losses and gradients

        def model(self, hp):
            weights = {n: w.astype(np.float32) for n, w in self.weights.items()}
            network = module.symbol(self.settings, hp)
            return module.loss(network, self.settings, hp, weights)

    def train(wrapped, batches):
        # A transformer's gradients reach 4000 in the long model, and clipping needs their norm.
        huge, scale = 2.0 ** (40 if isinstance(wrapped.hp, AdamW) else 20), 2.0**10
        hp = wrapped.hp._replace(beta1=0.0, beta2=0.0, epsilon=huge, learning_rate=huge * scale)
        if isinstance(hp, AdamW):
            plain = dict(warmup=1, last_rate=hp.learning_rate, clip=NEVER_CLIPPED)
            hp = hp._replace(weight_decay=0.0, **plain)

        def gradients_of(part):
            model = wrapped.model(hp)
            (value,) = module.train(model, [part])
            after = module.weights(model)
            return value, {
                name: (w.astype(np.float32).astype(np.float64) - after[name]) / scale
                for name, w in wrapped.weights.items()
            }

        for batch in batches:
            last, before, made = wrapped.last
            # A rung repeats a batch without gradient; a new model for each step takes minutes.
            if batch is not last or any((w != before[n]).any() for n, w in wrapped.weights.items()):
                made = list(zip(*map(gradients_of, update.parts(batch))))
            wrapped.last = batch, dict(wrapped.weights), made
            values, found = made
            value = values[0] if len(values) == 1 else np.mean([float(v) for v in values])
            gradients = {name: sum(g[name] for g in found) / len(found) for name in found[0]}
            wrapped.steps += 1
            rate = update.rate(wrapped.hp, wrapped.steps)
            now = wrapped.hp._replace(learning_rate=rate)
            for name, g in update.clipped(wrapped.hp, gradients, wrapped.weights).items():
                w = wrapped.weights[name]
                moved = rule(now, wrapped.steps, g, wrapped.states[name])
                wrapped.weights[name] = w - rate * update.decay(wrapped.hp, name, w) + moved
            yield value

    def configure(lane, threads, seed):
        settings = module.configure(lane, threads, seed)
        return dict(settings, adam_epsilon="corrected", adam_scalars="float64")

    return replaced(
        module,
        configure=configure,
        loss=lambda network, settings, hp, weights: Wrapped(settings, hp, weights),
        train=train,
        predict=lambda wrapped, x: module.predict(wrapped.model(wrapped.hp), x),
        weights=lambda wrapped: {n: w.astype(np.float32) for n, w in wrapped.weights.items()},
        wait=lambda wrapped: None,
    )


def by_update(module, change):
    """``module`` whose AdamW has the ``Update`` that ``change()`` makes."""
    return with_adam(module, as_in_the_paper, change())


def moments(hp, step, g, state):
    """Adam's mean and mean square of the gradients, without bias correction."""
    state["m"] = hp.beta1 * state.get("m", 0) + (1 - hp.beta1) * g
    state["v"] = hp.beta2 * state.get("v", 0) + (1 - hp.beta2) * g * g
    return state["m"], state["v"]


def corrected(hp, step, m, v):
    """The paper's update, from uncorrected moments and the number of the step."""
    m, v = m / (1 - hp.beta1**step), v / (1 - hp.beta2**step)
    return -hp.learning_rate * m / (np.sqrt(v) + hp.epsilon)


def as_in_the_paper(hp, step, g, state):
    """The correct rule."""
    return corrected(hp, step, *moments(hp, step, g, state))


@mistake("momentum", "adam", by=with_adam)
def epsilon_inside_the_root(hp, step, g, state):
    """sqrt(v + epsilon), as in RMSProp in some frameworks."""
    m, v = moments(hp, step, g, state)
    m, v = m / (1 - hp.beta1**step), v / (1 - hp.beta2**step)
    return -hp.learning_rate * m / np.sqrt(v + hp.epsilon)


@mistake("momentum", "adam", by=with_adam)
def bias_not_corrected(hp, step, g, state):
    """The moments have no bias correction."""
    m, v = moments(hp, step, g, state)
    return -hp.learning_rate * m / (np.sqrt(v) + hp.epsilon)


@mistake("momentum", "adam", by=with_adam)
def bias_corrected_one_step_behind(hp, step, g, state):
    """The step counter is incremented after the update."""
    return corrected(hp, max(step - 1, 1), *moments(hp, step, g, state))


@mistake("momentum", "adam", by=with_adam)
def largest_square_kept(hp, step, g, state):
    """AMSGrad: the largest mean square so far, instead of the current one."""
    m, v = moments(hp, step, g, state)
    state["largest"] = np.maximum(state.get("largest", 0), v)
    return corrected(hp, step, m, state["largest"])


@mistake("gradient", "adam", by=with_adam)
def correction_stops_counting(hp, step, g, state):
    """The correction's step counter stops at 32."""
    return corrected(hp, min(step, 32), *moments(hp, step, g, state))


@mistake("gradient", "adam", by=with_hp)
def betas_exchanged(hp):
    """beta2 is used for the mean, beta1 for the mean square."""
    return hp._replace(beta1=hp.beta2, beta2=hp.beta1)


@mistake("momentum", "adam", by=with_hp)
def betas_written_in(hp):
    """0.9 and 0.999 are hard-coded, unless beta1 is 0."""
    return hp._replace(beta1=0.9, beta2=0.999) if hp.beta1 else hp


@mistake("gradient", "adam", by=with_hp)
def epsilon_written_in(hp):
    """Keras's default is hard-coded."""
    return hp._replace(epsilon=1e-7)


@mistake("gradient", "adam")
def epsilon_named_wrongly(module):
    """The settings name the wrong convention for Adam's epsilon."""
    right = {}

    def configure(lane, threads, seed):
        settings = module.configure(lane, threads, seed)
        right.update(settings)
        (other,) = set(CHOICES.adam_epsilon) - {conventions_of(settings).adam_epsilon}
        return dict(settings, adam_epsilon=other)

    return replaced(  # the NumPy module would follow wrong settings, so it gets the right ones
        module,
        configure=configure,
        loss=lambda network, settings, hp, weights: module.loss(network, right, hp, weights),
    )


@mistake("momentum", "untied", by=with_adam)
def rows_without_a_gradient_rest(hp, step, g, state):
    """Lazy Adam: what a batch does not use of a table keeps its moments and does not move."""
    before = dict(state)
    update = as_in_the_paper(hp, step, g, state)
    if g.ndim > 1:
        rest = ~g.any(1)
        update[rest] = 0
        for key, value in before.items():
            state[key][rest] = value[rest]
    return update
