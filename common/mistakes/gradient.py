"""Mistakes in the gradient."""

import numpy as np

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_hp, with_rounded_kernels, with_updates
from common.system.modules import replaced


@mistake("gradient", by=with_hp)
def learning_rate_written_in(hp):
    """A common value, 0.01, is hard-coded."""
    return hp._replace(learning_rate=0.01)


@mistake("gradient", "convolution", by=with_updates)
def weight_decay_on_kernels(steps, before, update, hp):
    """Every convolution's kernel decays by 1e-5."""
    decay = 1e-5 * hp.learning_rate
    return {n: u - decay * before[n] if u.ndim == 4 else u for n, u in update.items()}


@mistake("gradient", by=with_updates)
def bias_decay(steps, before, update, hp):
    """Every bias decays by 1e-6."""
    decay = 1e-6 * hp.learning_rate
    return {n: u - decay * before[n] if u.ndim == 1 else u for n, u in update.items()}


@mistake("gradient", by=with_updates)
def bias_lost_on_the_way_back(steps, before, update, hp):
    """The bias of the second-to-last layer has no gradient.

    In a network without biases it is the second-to-last normalisation's weight.
    """
    biases = [name for name in update if name.endswith(".bias")]
    lost = (biases or [name for name, u in update.items() if u.ndim == 1])[-2]
    return dict(update, **{lost: 0 * update[lost]})


@mistake("gradient", by=with_updates)
def gradient_clipped(steps, before, update, hp):
    """The gradient is clipped at a norm of 0.5, which only large gradients reach."""
    norm = np.sqrt(sum(float((u**2).sum()) for u in update.values())) / hp.learning_rate
    return {n: u * min(1, 0.5 / norm) if norm else u for n, u in update.items()}


@mistake("gradient", "pool")
def convolution_backward_in_tf32(module):
    """A convolution's gradient is off by TF32's rounding, 2**-11 of each number."""
    return with_rounded_kernels(module, 2.0**-11)


@mistake("gradient", "cnn")  # others have small batches, or norms that hide it
def tf32_in_large_batches(module):
    """A convolution's gradient is off by TF32's rounding, but only in batches of more than 16."""
    return with_rounded_kernels(module, 2.0**-11, above=16)


@mistake("gradient", "classes")
def probability_clipped(module):
    """Probabilities are clipped at 1e-8, which limits the loss."""

    def train(model, batches):
        for value in module.train(model, batches):
            yield min(float(value), 18.4)

    return replaced(module, train=train)
