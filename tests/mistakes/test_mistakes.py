"""The harness catches known mistakes, each at the rung that names it.

A mistake is put into a module that keeps the contract by replacing some of its functions. Where a
framework has its own way of making the mistake, that way is taken.
"""

import functools
import itertools
import types

import numpy as np
import pytest

from common.proof import contract
from common.proof.rungs import RUNGS


def replaced(module, **functions):
    """``module`` with some functions replaced."""
    wrong = {name: getattr(module, name) for name in contract.SIGNATURES}
    wrong.update(functions)
    return types.SimpleNamespace(**wrong)


def with_hp(module, change):
    """``module`` whose loss() sees hyperparameters that ``change`` made of the right ones."""

    def loss(network, settings, hp, weights):
        return module.loss(network, settings, change(hp), weights)

    return replaced(module, loss=loss)


def with_weights(module, put, take=lambda weights: weights):
    """``module`` that changes weights on the way in, and back on the way out."""

    def loss(network, settings, hp, weights):
        return module.loss(network, settings, hp, put(weights))

    return replaced(module, loss=loss, weights=lambda model: take(module.weights(model)))


def nesterov(module):
    if module.__name__.startswith("frameworks.pytorch"):

        def loss(network, settings, hp, weights):
            model = module.loss(network, settings, hp, weights)
            model[2].param_groups[0]["nesterov"] = hp.momentum > 0
            return model

        return replaced(module, loss=loss)

    def update(layer, hp):
        """w += momentum v - learning rate g, after v was updated."""
        for w, g, v in zip(layer.parameters, layer.gradients, layer.velocities):
            v *= hp.momentum
            v -= hp.learning_rate * g
            w += hp.momentum * v - hp.learning_rate * g

    # The module's own train(), seeing this update() in place of the module's.
    train = types.FunctionType(module.train.__code__, dict(vars(module), update=update))
    return replaced(module, train=train)


def scaled_gradient(module):
    """Unit gain: v = momentum v + (1 - momentum) g, CNTK's default."""
    return with_hp(
        module, lambda hp: hp._replace(learning_rate=hp.learning_rate * (1 - hp.momentum))
    )


def height_and_width_swapped(module):
    """As swapping axes 1 and 3 does on the way to channels-last."""

    def load(images, labels, settings):
        return module.load(np.ascontiguousarray(images.swapaxes(2, 3)), labels, settings)

    return replaced(module, load=load)


def channels_last_flatten(module):
    """Dense weights for C, H, W put behind a flatten in the order H, W, C."""

    def put(weights):
        dense = weights["dense1.weight"].reshape(512, 8, 8, 100).transpose(0, 3, 1, 2)
        return dict(weights, **{"dense1.weight": dense.reshape(512, 6400).copy()})

    def take(weights):
        dense = weights["dense1.weight"].reshape(512, 100, 8, 8).transpose(0, 2, 3, 1)
        return dict(weights, **{"dense1.weight": dense.reshape(512, 6400).copy()})

    return with_weights(module, put, take)


def kernel_flipped(module):
    """True convolution where the others cross-correlate, as in Theano's default."""

    def flip(weights):
        return {
            name: np.ascontiguousarray(w[:, :, ::-1, ::-1]) if w.ndim == 4 else w
            for name, w in weights.items()
        }

    return with_weights(module, flip, flip)


def softmax_twice(module):
    """A softmax at the network's end, under a loss that applies one, too."""
    if module.__name__.startswith("frameworks.pytorch"):
        from torch import nn

        return replaced(
            module, symbol=lambda settings, hp: module.symbol(settings, hp).append(nn.Softmax(1))
        )

    class Softmax(module.Layer):
        def forward(self, x, training):
            e = np.exp(x - x.max(1, keepdims=True))
            self.p = e / e.sum(1, keepdims=True)
            return self.p

        def backward(self, g):
            return self.p * (g - (g * self.p).sum(1, keepdims=True))

    def symbol(settings, hp):
        return module.symbol(settings, hp) + [Softmax(settings)]

    return replaced(module, symbol=symbol)


def loss_summed(module):
    if module.__name__.startswith("frameworks.pytorch"):

        def loss(network, settings, hp, weights):
            network, criterion, optimizer = module.loss(network, settings, hp, weights)
            criterion.reduction = "sum"
            return network, criterion, optimizer

        return replaced(module, loss=loss)

    def loss(network, settings, hp, weights):
        summed = hp._replace(learning_rate=hp.learning_rate * hp.batch_size)
        return module.loss(network, settings, summed, weights)

    def train(model, batches):
        return (value * 64 for value in module.train(model, batches))

    return replaced(module, loss=loss, train=train)


def dropout_in_prediction(module):
    if module.__name__.startswith("frameworks.pytorch"):

        def symbol(settings, hp):
            network = module.symbol(settings, hp)
            network.eval = network.train
            return network

        return replaced(module, symbol=symbol)

    def symbol(settings, hp):
        layers = module.symbol(settings, hp)
        for layer in layers:
            if isinstance(layer, module.Dropout):
                layer.forward = functools.partial(
                    lambda forward, x, training: forward(x, True), layer.forward
                )
        return layers

    return replaced(module, symbol=symbol)


def rate_taken_for_keep(module):
    """TensorFlow 1 asked for the fraction to keep, TensorFlow 2 for the fraction to drop."""

    def symbol(settings, hp):
        rates = tuple(1 - rate if rate else rate for rate in hp.dropout)
        return module.symbol(settings, hp._replace(dropout=rates))

    return replaced(module, symbol=symbol)


def biases_not_zero(module):
    """The framework's own initial biases are left in place."""

    def put(weights):
        return {n: w + np.float32(0.01) if w.ndim == 1 else w for n, w in weights.items()}

    return with_weights(module, put)


def own_batch_order(module):
    """The framework's own loader shuffles once more."""

    def train(model, batches):
        batches = list(batches)
        order = np.random.RandomState(1).permutation(len(batches))
        return module.train(model, [batches[i] for i in order])

    return replaced(module, train=train)


def biases_ignored(module):
    """Given biases are not put in; initial ones are zero anyway, but trained ones are not."""

    def put(weights):
        return dict(weights, **{"conv1.bias": np.zeros_like(weights["conv1.bias"])})

    return with_weights(module, put)


def biases_swapped(module):
    """Two of a size change places on the way in, and back on the way out."""

    def swap(weights):
        first, second = weights["conv1.bias"], weights["conv2.bias"]
        return dict(weights, **{"conv1.bias": second, "conv2.bias": first})

    return with_weights(module, swap, swap)


def velocity_reset_each_pass(module):
    """The optimiser's state lives no longer than a pass over the batches."""

    def train(model, batches):
        if module.__name__.startswith("frameworks.pytorch"):
            model[2].state.clear()
        else:
            for layer in model[0]:
                for v in layer.velocities:
                    v[:] = 0
        return module.train(model, batches)

    return replaced(module, train=train)


def dropout_mask_drawn_once(module):
    """The random state is the same in each step, as with a key of JAX's that is used again."""

    def train(model, batches):
        for batch in batches:
            if module.__name__.startswith("frameworks.pytorch"):
                import torch

                torch.manual_seed(0)
            else:
                for layer in model[0]:
                    if isinstance(layer, module.Dropout):
                        layer.random.seed(0)
            for step_loss in module.train(model, [batch]):
                yield step_loss

    return replaced(module, train=train)


def rows_of_a_prediction_out_of_order(module):
    """The chunks that predict() works in are put together in another order."""

    def predict(model, x):
        chunks = [module.predict(model, x[i : i + 64]) for i in range(0, len(x), 64)]
        return np.concatenate(chunks[::-1])

    return replaced(module, predict=predict)


def stops_early(module):
    """A long pass is cut short: no rung before the last one takes a long pass with dropout."""

    def train(model, batches):
        rates = [getattr(layer, "rate", getattr(layer, "p", 0)) for layer in model[0]]
        limit = 10 if any(rates) else None
        return module.train(model, itertools.islice(batches, limit))

    return replaced(module, train=train)


MISTAKES = [
    (height_and_width_swapped, "data"),
    (own_batch_order, "data"),
    (biases_not_zero, "weights"),
    (biases_ignored, "weights"),
    (biases_swapped, "forward"),
    (kernel_flipped, "forward"),
    (channels_last_flatten, "forward"),
    (softmax_twice, "forward"),
    (rows_of_a_prediction_out_of_order, "forward"),
    (loss_summed, "gradient"),
    (nesterov, "momentum"),
    (scaled_gradient, "momentum"),
    (velocity_reset_each_pass, "trajectory"),
    (rate_taken_for_keep, "dropout"),
    (dropout_mask_drawn_once, "dropout"),
    (dropout_in_prediction, "dropout"),
    (stops_early, "accuracy"),
]


def first_failure(certifier, module):
    """Climb to the first rung that fails; its result, or None at the top."""
    certifier.take(module, "same")
    for rung in RUNGS:
        result = certifier.climb(rung)
        if not result["passed"]:
            return result
    return None


def test_no_mistake_is_no_failure(module, certifier):
    assert first_failure(certifier, module) is None


@pytest.mark.parametrize("mistake, rung", MISTAKES, ids=[m.__name__ for m, _ in MISTAKES])
def test_mistake_is_caught_at_its_rung(module, certifier, mistake, rung):
    caught = first_failure(certifier, mistake(module))
    assert caught is not None, "not caught"
    print("%s: %s" % (caught["rung"], caught["detail"]))
    assert caught["rung"] == rung
