"""Wrap a correct module so that it is wrong in one way.

An optimiser cannot be changed from outside, so a mistake in the update is simulated: ``weights``
reports the weights that the wrong updates would have given.
"""

import numpy as np

from common.system.modules import replaced


def with_hp(module, change):
    """``module`` whose symbol() and loss() get ``change(hp)`` as hyperparameters."""
    return replaced(
        module,
        symbol=lambda settings, hp: module.symbol(settings, change(hp)),
        loss=lambda network, settings, hp, weights: module.loss(
            network, settings, change(hp), weights
        ),
    )


def with_weights(module, put, take=lambda weights: weights):
    """``module`` with weights changed by ``put`` on the way in, and by ``take`` on the way out."""

    def loss(network, settings, hp, weights):
        return module.loss(network, settings, hp, put(weights))

    return replaced(module, loss=loss, weights=lambda model: take(module.weights(model)))


class Described:
    """A model, with its settings, hyperparameters and names of weights."""

    def __init__(self, model, settings, hp, weights):
        self.model, self.settings, self.hp, self.names = model, settings, hp, list(weights)


def with_description(module, **functions):
    """``module`` whose models are ``Described``, with some functions replaced."""

    def loss(network, settings, hp, weights):
        return Described(module.loss(network, settings, hp, weights), settings, hp, weights)

    plain = dict(
        train=lambda described, batches: module.train(described.model, batches),
        predict=lambda described, x: module.predict(described.model, x),
        weights=lambda described: module.weights(described.model),
        wait=lambda described: module.wait(described.model),
    )
    return replaced(module, loss=loss, **dict(plain, **functions))


def with_updates(module, change):
    """``module``, but it reports other updates than it made.

    ``change(steps, before, update, hp)`` returns the update to report. ``update``, {name: array},
    is the update that step number ``steps`` made to the weights ``before``.
    """

    class Wrapped:
        def __init__(self, model, hp, names):
            self.model, self.hp, self.names, self.steps = model, hp, names, 0
            self.true = self.now()
            self.reported = dict(self.true)

        def now(self):
            """The weights, in the order of the layers."""
            weights = module.weights(self.model)
            return {n: weights[n].astype(np.float64) for n in self.names}

    def loss(network, settings, hp, weights):
        return Wrapped(module.loss(network, settings, hp, weights), hp, list(weights))

    def train(wrapped, batches):
        for value in module.train(wrapped.model, batches):
            wrapped.steps += 1
            after = wrapped.now()
            update = {n: after[n] - wrapped.true[n] for n in after}
            wrong = change(wrapped.steps, wrapped.reported, update, wrapped.hp)
            wrapped.reported = {n: wrapped.reported[n] + wrong[n] for n in after}
            wrapped.true = after
            yield value

    return replaced(
        module,
        loss=loss,
        train=train,
        predict=lambda wrapped, x: module.predict(wrapped.model, x),
        weights=lambda wrapped: {n: w.astype(np.float32) for n, w in wrapped.reported.items()},
        wait=lambda wrapped: module.wait(wrapped.model),
        simulated=True,  # the module itself continues from its own updates
    )


def with_rounded_kernels(module, fraction, above=0):
    """``module``, but each value of a kernel's update is off by up to this fraction of itself.

    above: only in batches of more observations than that.
    """

    def change(steps, before, update, hp):
        if hp.batch_size <= above:
            return update
        random = np.random.RandomState(steps)
        return {
            n: u * (1 + fraction * random.uniform(-1, 1, u.shape)) if u.ndim == 4 else u
            for n, u in update.items()
        }

    return with_updates(module, change)
