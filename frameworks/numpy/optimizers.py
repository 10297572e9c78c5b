"""The NumPy models' optimisers, which own their state."""

import math

import numpy as np

from frameworks.numpy.layers import every, xp


class Momentum:
    """Gradient descent with classical momentum, for all parameters of a network.

    Weight decay, if ``hp`` has it, is added to the gradients of matrices and kernels.
    """

    def __init__(self, network, hp):
        self.hp, self.decay = hp, getattr(hp, "weight_decay", 0)
        self.parameters = [w for layer in every(network) for w in layer.parameters]
        self.gradients = [g for layer in every(network) for g in layer.gradients]
        self.velocity = [xp.zeros_like(w) for w in self.parameters]

    def step(self):
        """Move every parameter, in place."""
        for w, g, v in zip(self.parameters, self.gradients, self.velocity):
            if self.decay and w.ndim > 1:
                g += self.decay * w
            g *= self.hp.learning_rate
            v *= self.hp.momentum
            v -= g
            w += v


class Adam:
    """Adam (Kingma & Ba, 2015) for all parameters of a network, with bias correction.

    Settings choose the conventions of other frameworks. ``adam_epsilon`` "uncorrected": epsilon is
    added before the mean square is corrected, as at the end of the paper's Section 2, not after, as
    in its Algorithm 1. ``adam_scalars`` "float32 shares": a new gradient's share 1 - beta is
    computed in float32; "float32 corrections", with ``scalars`` "float32": 1 - beta**t is; "float32
    products", with the same: beta**t is, as a product of one more beta in each step.
    """

    def __init__(self, network, hp, settings):
        self.hp, self.steps = hp, 0
        self.hat = settings.get("adam_epsilon") == "uncorrected"
        scalars = settings.get("adam_scalars")
        self.share = np.float32 if scalars == "float32 shares" else float
        precision = np.float32 if settings.get("scalars") == "float32" else float
        self.power = precision if scalars == "float32 corrections" else float
        self.products = [precision(1), precision(1)] if scalars == "float32 products" else None
        self.parameters = [w for layer in every(network) for w in layer.parameters]
        self.gradients = [g for layer in every(network) for g in layer.gradients]
        self.mean = [xp.zeros_like(w) for w in self.parameters]
        self.square = [xp.zeros_like(w) for w in self.parameters]

    def step(self):
        """Move every parameter, in place."""
        hp = self.hp
        self.steps += 1
        correction1, correction2 = self.corrections(hp.beta1, hp.beta2)
        epsilon = hp.epsilon / correction2**0.5 if self.hat else hp.epsilon
        share1, share2 = 1 - self.share(hp.beta1), 1 - self.share(hp.beta2)
        for w, g, m, v in zip(self.parameters, self.gradients, self.mean, self.square):
            m += share1 * (g - m)
            v += share2 * (g * g - v)
            w -= hp.learning_rate * (m / correction1) / (xp.sqrt(v / correction2) + epsilon)

    def corrections(self, *betas):
        """1 - beta**t of each beta."""
        if self.products:
            pairs = zip(self.products, betas)
            self.products = [product * type(product)(beta) for product, beta in pairs]
            return [float(1 - product) for product in self.products]
        return [float(1 - self.power(beta) ** self.power(self.steps)) for beta in betas]


class AdamW(Adam):
    """Adam with decoupled weight decay, a clipped gradient and a schedule of rates."""

    def __init__(self, network, hp, settings):
        super().__init__(network, hp, settings)
        self.schedule = hp

    def step(self):
        """Clip all gradients together, decay matrices and embeddings, and take Adam's step."""
        hp = self.schedule
        norm = float(xp.sqrt(sum((g**2).sum() for g in self.gradients)))
        if norm > hp.clip:
            for g in self.gradients:
                g *= hp.clip / norm
        rate = rate_of(hp, self.steps)
        for w in self.parameters:
            if w.ndim > 1:
                w *= 1 - rate * hp.weight_decay
        self.hp = hp._replace(learning_rate=rate)
        super().step()


def rate_of(hp, step):
    """The learning rate of a step, from 0: a linear warm-up, then half a cosine."""
    if step < hp.warmup:
        return hp.learning_rate * (step + 1) / hp.warmup
    part = min(1.0, (step - hp.warmup) / float(hp.steps - hp.warmup))
    return hp.last_rate + (hp.learning_rate - hp.last_rate) * (1 + math.cos(math.pi * part)) / 2
