"""The NumPy models' optimisers. Each owns its state."""

import numpy as np

from frameworks.numpy.layers import xp


class Momentum:
    """Gradient descent with classical momentum, for all parameters of a network."""

    def __init__(self, network, hp):
        self.hp = hp
        self.parameters = [w for layer in network for w in layer.parameters]
        self.gradients = [g for layer in network for g in layer.gradients]
        self.velocity = [xp.zeros_like(w) for w in self.parameters]

    def step(self):
        """Move every parameter, in place."""
        for w, g, v in zip(self.parameters, self.gradients, self.velocity):
            g *= self.hp.learning_rate
            v *= self.hp.momentum
            v -= g
            w += v


class Adam:
    """Adam (Kingma & Ba, 2015) for all parameters of a network, with bias correction.

    ``adam_epsilon`` in the settings says where epsilon is added: "corrected", to the root of the
    corrected mean square, as in the paper's Algorithm 1; "uncorrected", to the root before the
    correction, as at the end of its Section 2. With ``scalars`` "float32", 1 - beta is computed
    from a beta rounded to float32, as in MXNet and CNTK; of 1 - 0.999 that keeps five digits.
    The corrections stay in float64.
    """

    def __init__(self, network, hp, settings):
        self.hp, self.settings, self.steps = hp, settings, 0
        self.parameters = [w for layer in network for w in layer.parameters]
        self.gradients = [g for layer in network for g in layer.gradients]
        self.mean = [xp.zeros_like(w) for w in self.parameters]
        self.square = [xp.zeros_like(w) for w in self.parameters]

    def step(self):
        """Move every parameter, in place."""
        hp, epsilon = self.hp, self.hp.epsilon
        number = np.float32 if self.settings["scalars"] == "float32" else float
        self.steps += 1
        correction1, correction2 = 1 - hp.beta1**self.steps, 1 - hp.beta2**self.steps
        if self.settings["adam_epsilon"] == "uncorrected":
            epsilon /= correction2**0.5
        for w, g, m, v in zip(self.parameters, self.gradients, self.mean, self.square):
            m += (1 - number(hp.beta1)) * (g - m)
            v += (1 - number(hp.beta2)) * (g * g - v)
            w -= hp.learning_rate * (m / correction1) / (xp.sqrt(v / correction2) + epsilon)
