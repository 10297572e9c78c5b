"""A mistake is simulated rightly: each changed layer's gradient is that of what it computes."""

import numpy as np
import pytest

from common.challenge import networks, recurrent, updates
from common.challenge.causes import layers
from common.given.hyperparameters import Decay

SETTINGS = {"precision": "float64", "ties": "one"}
NORM = {"running_variance": "unbiased", "variance": "differences"}


def lstm(random):
    layer = recurrent.Forgetful(SETTINGS, "lstm", chunk=3)
    layer.put(*(random.normal(size=shape) for shape in ((8, 2), (8, 2), (8,))))
    return layer, (3, 6, 2)


def norm(random):
    layer = networks.DividedByLess(dict(SETTINGS, **NORM), "norm")
    layer.put(*(random.uniform(1, 2, 3) for _ in range(4)))
    return layer, (2, 3, 4, 4)


def convolution(random, end):
    right = layers.Convolution(SETTINGS, "conv", padding=1, stride=2)
    layer = networks.OneSided(right, SETTINGS, end)
    layer.put(random.normal(size=(2, 3, 3, 3)), random.normal(size=2))
    return layer, (2, 3, 6, 6)


MADE = {
    "LSTM, chunks from zeros": lstm,
    "norm by n - 1": norm,
    "padded at the end": lambda random: convolution(random, True),
    "padded in front": lambda random: convolution(random, False),
    "mean pool": lambda random: (networks.MeanPool(SETTINGS), (2, 3, 6, 6)),
    "overlapping pool": lambda random: (networks.OverlappingPool(SETTINGS), (2, 3, 6, 6)),
    "softmax": lambda random: (networks.Softmax(SETTINGS), (4, 5)),
}
for name, pair in networks.ACTIVATIONS.items():
    MADE[name] = lambda random, pair=pair: (networks.Pointwise(SETTINGS, *pair), (4, 5))


@pytest.mark.parametrize("name", list(MADE))
def test_a_changed_layers_gradient_is_its_own(name):
    random = np.random.RandomState(0)
    layer, shape = MADE[name](random)
    x = random.normal(size=shape)
    weights = random.normal(size=layer.forward(x.copy(), training=True).shape)

    def value(*_):
        return float((weights * layer.forward(x.copy(), training=True)).sum())

    value()
    given = layer.backward(weights.copy())
    checked = [(x, np.array(given))]
    checked += [(w, g.copy()) for w, g in zip(layer.parameters, layer.gradients)]
    for array, gradient in checked:
        for place in random.choice(array.size, min(array.size, 12), replace=False):
            at, step = np.unravel_index(place, array.shape), 1e-6
            before = array[at]
            array[at] = before + step
            above = value()
            array[at] = before - step
            numerical = (above - value()) / (2 * step)
            array[at] = before
            assert gradient[at] == pytest.approx(numerical, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("rule", ["nesterov", "dampened", "unit_gain", "without_momentum"])
def test_rules_decay_as_the_right_one_does(rule):
    """With the decay in the gradient, a rule of decayed weights is that of a larger gradient."""
    hp = Decay(4, 0.1, 0.9, (), weight_decay=0.01, depth=29)
    random = np.random.RandomState(0)
    weights = {"a.weight": random.normal(size=(3, 2)), "a.bias": random.normal(size=3)}
    gradients = [{n: random.normal(size=w.shape) for n, w in weights.items()} for _ in range(3)]
    states = {}, {}
    for step, g in enumerate(gradients, 1):
        decayed = dict(g, **{"a.weight": g["a.weight"] + 0.01 * weights["a.weight"]})
        ours = getattr(updates, rule)(hp, step, weights, g, states[0])
        plain = hp._replace(weight_decay=0)
        theirs = getattr(updates, rule)(plain, step, weights, decayed, states[1])
        for name in weights:
            assert np.allclose(ours[name], theirs[name], rtol=1e-12)
            weights[name] = weights[name] + ours[name]
