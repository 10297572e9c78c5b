"""Mistakes around Adam: in the schedule of rates, in clipping, in decoupled weight decay."""

import numpy as np

from common.mistakes.adam import (
    Update,
    by_update,
    corrected,
    cosine,
    moments,
    rate_of,
    with_adam,
)
from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_hp


@mistake("momentum", "schedule", by=by_update)
class rate_one_step_late(Update):
    """The schedule is advanced before the update is made, and its first rate is 0."""

    def rate(self, hp, step):
        return rate_of(hp, step - 2) if step > 1 else 0


@mistake("momentum", "schedule", by=by_update)
class rate_one_step_early(Update):
    """Steps are counted from 1."""

    def rate(self, hp, step):
        return rate_of(hp, step)


@mistake("momentum", "schedule", by=by_update)
class warmup_begins_at_zero(Update):
    """Step t of the warm-up has the rate t / warmup."""

    def rate(self, hp, step):
        return (
            hp.learning_rate * (step - 1) / hp.warmup
            if step <= hp.warmup
            else (rate_of(hp, step - 1))
        )


@mistake("momentum", "schedule", by=by_update)
class cosine_ends_at_zero(Update):
    """The lowest rate is left out."""

    def rate(self, hp, step):
        return rate_of(hp._replace(last_rate=0.0), step - 1)


@mistake("momentum", "schedule", by=by_update)
class cosine_ends_one_step_early(Update):
    """The cosine ends at the last step, not after it."""

    def rate(self, hp, step):
        return rate_of(hp._replace(steps=hp.steps - 1), step - 1)


@mistake("momentum", "schedule", by=by_update)
class cosine_counts_the_warmup(Update):
    """The cosine begins at step 0, so that its first part is lost in the warm-up."""

    def rate(self, hp, step):
        if step <= hp.warmup:
            return rate_of(hp, step - 1)
        return rate_of(hp._replace(warmup=0), step - 1)


@mistake("momentum", "schedule", by=by_update)
class rate_rises_again_after_the_end(Update):
    """After its last step the cosine is not stopped."""

    def rate(self, hp, step):
        return rate_of(hp, step - 1) if step <= hp.warmup else cosine(hp, step - 1)


@mistake("momentum", "schedule", by=with_hp)
def rate_constant(hp):
    """There is no schedule."""
    return hp._replace(warmup=1, last_rate=hp.learning_rate)


@mistake("momentum", "schedule", by=with_hp)
def not_clipped(hp):
    """Gradients are not clipped."""
    return hp._replace(clip=2.0**60)


@mistake("momentum", "schedule", by=by_update)
class clipped_by_tensor(Update):
    """Each tensor's norm is clipped, not that of all together."""

    def clipped(self, hp, gradients, weights):
        norms = {name: np.sqrt((g**2).sum()) for name, g in gradients.items()}
        return {n: g * min(1, hp.clip / max(norms[n], 1e-300)) for n, g in gradients.items()}


@mistake("momentum", "schedule", by=by_update)
class clipped_by_value(Update):
    """Each number is clipped, not the norm."""

    def clipped(self, hp, gradients, weights):
        limit = hp.clip / 64
        return {name: np.clip(g, -limit, limit) for name, g in gradients.items()}


@mistake("momentum", "schedule", by=by_update)
class always_scaled_to_the_norm(Update):
    """A gradient that is shorter than the limit is made longer."""

    def clipped(self, hp, gradients, weights):
        if hp.clip > 2.0**50:
            return gradients
        norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
        return {name: g * hp.clip / max(norm, 1e-300) for name, g in gradients.items()}


@mistake("momentum", "schedule", by=with_hp)
def not_decayed(hp):
    """There is no weight decay."""
    return hp._replace(weight_decay=0.0)


@mistake("momentum", "schedule", by=by_update)
class decay_not_times_the_rate(Update):
    """The decay is not multiplied by the scheduled rate, only by the highest one."""

    def decay(self, hp, name, w):
        return super().decay(hp, name, w) * hp.learning_rate / max(self.last, 1e-300)

    def rate(self, hp, step):
        self.last = super().rate(hp, step)
        return self.last


@mistake("momentum", "schedule", by=by_update)
class decay_alone(Update):
    """The decay follows the schedule, but without the highest rate as a factor (the paper)."""

    def decay(self, hp, name, w):
        return super().decay(hp, name, w) / hp.learning_rate


@mistake("momentum", "schedule", by=by_update)
class vectors_decayed(Update):
    """Biases and normalisation weights are decayed, too."""

    def decay(self, hp, name, w):
        return hp.weight_decay * w


@mistake("momentum", "layernorm", by=by_update)
class attention_biases_decayed(Update):
    """What has two axes decays: in many frameworks, a bias of attention is (heads, features)."""

    def decay(self, hp, name, w):
        return hp.weight_decay * w if w.ndim > 1 or name.endswith(".qkv.bias") else 0 * w


@mistake("momentum", "layernorm", by=by_update)
class normalisation_weights_decayed(Update):
    """The weights without decay are chosen by a name that normalisations do not have here."""

    def decay(self, hp, name, w):
        return 0 * w if name.endswith(".bias") else hp.weight_decay * w


@mistake("momentum", "schedule", by=by_update)
class embeddings_not_decayed(Update):
    """Decay leaves out embeddings."""

    def decay(self, hp, name, w):
        embedding = name in ("tokens.weight", "positions.weight")
        return 0 * w if embedding else super().decay(hp, name, w)


@mistake("momentum", "schedule")
def decay_in_the_gradient(module):
    """Decay is added to the gradient before the moments: Adam with L2 regularisation."""

    class Coupled(Update):
        def decay(self, hp, name, w):
            return 0 * w

        def clipped(self, hp, gradients, weights):
            clipped, decay = super().clipped(hp, gradients, weights), super().decay
            return {name: g + decay(hp, name, weights[name]) for name, g in clipped.items()}

    return by_update(module, Coupled)


@mistake("momentum", "schedule")
def decay_after_the_update(module):
    """The decay is a share of the weights after the update."""

    def rule(hp, step, g, state):
        update = corrected(hp, step, *moments(hp, step, g, state))
        decayed = getattr(hp, "weight_decay", 0) if g.ndim > 1 else 0
        return update * (1 - hp.learning_rate * decayed)

    return with_adam(module, rule)


@mistake("gradient", "gated", by=by_update)
class large_gradients_clipped(Update):
    """Gradients are clipped at a norm of 5, which they reach only in training."""

    def clipped(self, hp, gradients, weights):
        norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
        return {name: g * min(1, 5 / max(norm, 1e-300)) for name, g in gradients.items()}
