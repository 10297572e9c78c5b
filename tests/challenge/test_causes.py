"""Simulated mistakes are consistent: a changed layer's gradient is that of its own output."""

import numpy as np
import pytest

import frameworks
from common import networks as networks_of
from common.challenge import (
    causes,
    conventions,
    direct_evidence,
    losses,
    networks,
    protocol,
    updates,
)
from common.challenge.causes import layers
from common.networks.cnn import CNN
from common.networks.hyperparameters import Adam, Decay
from common.networks.lstm import causes as recurrent
from common.proof.oracle import PROBE_BATCH
from common.proof.reference import CHOICES, USUAL
from common.proof.rungs.subject import COUNTS
from common.system import modules

SETTINGS = {"precision": "float64", "ties": "one"}
NORM = {"running_variance": "unbiased", "variance": "differences"}


def lstm(random):
    layer = recurrent.StateResetPerChunk(SETTINGS, "lstm", chunk=3)
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
    check_gradient(*MADE[name](random), random)


def check_gradient(layer, shape, random):
    """A layer's gradients, of its input and its weights, are those of its output."""
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


RULES = {
    "nesterov": updates.nesterov,
    "dampened": updates.dampened(None),
    "unit gain": updates.unit_gain,
    "without momentum": updates.without_momentum,
}


@pytest.mark.parametrize("name", list(RULES))
def test_rules_decay_as_the_right_one_does(name):
    """A rule with weight decay equals the rule without it on gradients with the decay."""
    hp = Decay(4, 0.1, 0.9, (), weight_decay=0.01, depth=29)
    random = np.random.RandomState(0)
    weights = {"a.weight": random.normal(size=(3, 2)), "a.bias": random.normal(size=3)}
    gradients = [{n: random.normal(size=w.shape) for n, w in weights.items()} for _ in range(3)]
    states = {}, {}
    for step, g in enumerate(gradients, 1):
        decayed = dict(g, **{"a.weight": g["a.weight"] + 0.01 * weights["a.weight"]})
        ours = RULES[name](hp, step, weights, g, states[0])
        theirs = RULES[name](hp._replace(weight_decay=0), step, weights, decayed, states[1])
        for tensor in weights:
            assert np.allclose(ours[tensor], theirs[tensor], rtol=1e-12)
            weights[tensor] = weights[tensor] + ours[tensor]


CRITERIA = {
    "smoothed": losses.smoothed(0.1),
    "clipped": losses.clipped(0.2),
    "without softmax": losses.without_softmax,
    "of scores as probabilities": losses.of_scores_as_probabilities,
    "of shares": losses.of_shares,
    "ignoring, of all": losses.ignoring(0, lambda n, others: n),
    "ignoring, of the others": losses.ignoring(0, lambda n, others: others),
}


@pytest.mark.parametrize("name", list(CRITERIA))
def test_a_changed_losss_gradient_is_its_own(name):
    loss = CRITERIA[name](layers.cross_entropy)
    scores, labels = np.random.RandomState(1).normal(size=(6, 4)), np.array([0, 1, 2, 3, 0, 1])
    check_loss(loss, scores, labels)


def check_loss(loss, scores, targets):
    """A loss's gradient of the scores is that of its value."""
    _, gradient = loss(scores.copy(), targets)
    for at in np.ndindex(*scores.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = scores.copy()
            moved[at] += step
            ends.append(loss(moved, targets)[0])
        assert gradient[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8)


def one_step_on(rule, momentum):
    """The ``Second`` of a port that follows ``rule`` although the momentum should be 0.9."""
    random = np.random.RandomState(0)
    hp = Decay(4, 0.5, momentum, (), weight_decay=0.0, depth=29)
    g1, g2 = ({"w": random.normal(size=50)} for _ in range(2))
    asked, state, right = hp._replace(momentum=0.9), {}, {}
    first = rule(hp, 1, g1, g1, state)
    moved = rule(hp, 2, g1, g2, state)
    updates.momentum(asked, 1, g1, g1, right)
    return updates.Second(asked._asdict(), first, moved, updates.momentum(asked, 2, g1, g2, right))


def test_what_a_second_step_shows_is_read_from_it():
    def says(second):
        return [cause.says for cause in updates._of_second_step(updates.momentum, second)]

    assert (
        "the gradient is multiplied by 0.8 from step 2 on"
        in says(one_step_on(updates.dampened(0.2), 0.9))[0]
    )
    assert says(one_step_on(updates.momentum, 0.75))[1] == "the momentum is 0.75, not 0.9"


def test_a_rate_that_falls_falls_by_its_own_factor():
    g = {"w": np.ones(3)}
    evidence = updates.Evidence({}, {"w": 0.5 * g["w"]}, g, {}, {}, {"w": 0.45 * g["w"]}, g)
    first, second, _ = updates._falls(updates.without_momentum, evidence)
    assert "multiplied by 0.5 with each step" in first.says
    assert "multiplied by 0.9 from step to step" in second.says
    hp = Decay(4, 1.0, 0.9, (), weight_decay=0.0, depth=29)
    for cause, factors in ((first, (0.5, 0.25)), (second, (1, 0.9))):
        for step, factor in enumerate(factors, 1):
            assert cause.make.rule(hp, step, g, g, {})["w"] == pytest.approx(-factor * g["w"])


def test_a_later_cause_keeps_changed_constants():
    """A second mistake replaces the rule at the bottom, as for Nesterov momentum."""
    g = {"w": np.array([1.0, -2.0, 3.0])}
    (exchanged,) = [c for c in updates._constants(updates.adam, False) if "exchanged" in c.says]
    hp = Adam(4, 0.1, 0.5, 0.9, 1e-3, ())
    other = hp._replace(beta1=hp.beta2, beta2=hp.beta1)
    stacked = updates.rebased(exchanged.make.rule, updates.not_corrected)
    ours, right = stacked(hp, 1, g, g, {}), updates.not_corrected(other, 1, g, g, {})
    assert np.array_equal(ours["w"], right["w"])
    second = one_step_on(updates.momentum, 0.75)
    _, momentum = updates._of_second_step(updates.momentum, second)
    hp, states = Decay(4, 0.5, 0.9, (), weight_decay=0.0, depth=29), ({}, {})
    stacked = updates.rebased(momentum.make.rule, updates.nesterov)
    ours = stacked(hp, 1, g, g, states[0])
    right = updates.nesterov(hp._replace(momentum=0.75), 1, g, g, states[1])
    assert ours["w"] == pytest.approx(right["w"])


def test_weights_that_came_back_say_what_was_put_in():
    given = {"a.bias": np.zeros(3, np.float32), "b.bias": np.ones(3, np.float32)}
    assert causes.came_back(given, given) == []
    (cause,) = causes.came_back(given, {"a.bias": given["a.bias"] + np.float32(0.01)})
    assert cause.says == "a.bias begins 0.01 too high"
    back = dict(given, **{"b.bias": np.arange(3, dtype=np.float32)})
    (cause,) = causes.came_back(given, back)
    assert cause.says == "other weights than those given are in b.bias"


@pytest.mark.parametrize("folder", list(frameworks.FRAMEWORKS))
def test_a_framework_has_causes_only_for_its_own_traps(folder):
    names = [
        name
        for name, environment in frameworks.ENVIRONMENTS.items()
        if environment.folder == folder
    ]
    pairs = [(name, model.name) for name in names for model in modules.models(name)]
    traps = {trap.name for pair in pairs for trap in modules.traps(*pair)}
    assert {trap for name in names for trap in modules.causes(name)} <= traps


def probed(order=slice(None), limit=None):
    """The losses of the CNN's probe model, with the batches in ``order``, clipped at ``limit``."""
    counts = np.array(2 * (9,) + COUNTS, float)[order]
    largest = 4096.0 if limit is None else limit
    return {"probe/losses1": np.float32(counts * largest / PROBE_BATCH)}


def test_the_order_of_the_batches_is_read_from_their_losses():
    assert direct_evidence._order(None, None, probed(), CNN, None) == []
    ((said, _),) = direct_evidence._order(None, None, probed([0, 1, 3, 2, 4, 5, 6]), CNN, None)
    assert said.endswith("another order: 1, 2, 4, 3, 5, 6, 7")


def test_a_clipped_probability_is_read_from_the_largest_loss():
    assert direct_evidence._clipped(None, None, probed(), CNN, None) == []
    ((said, _),) = direct_evidence._clipped(None, None, probed(limit=16.118), CNN, None)
    assert "16.12" in said and "1e-07" in said


def test_rows_that_sum_to_one_are_probabilities():
    scores = np.random.RandomState(0).normal(size=(5, 10)).astype(np.float32)
    assert not networks.are_probabilities(scores)
    assert networks.are_probabilities(networks.softmax(scores, 1))
    assert not networks.are_probabilities(np.full_like(scores, np.nan))


def test_other_conventions_are_those_that_apply():
    named = dict(USUAL._asdict(), ties="all")
    made = conventions.others(networks_of.find("mnist_cnn"), named)
    assert [cause.convention for cause in made] == [("ties", "one"), ("ties", "shared")]
    assert "(--named ties=one)" in made[0].says
    assert conventions.others(networks_of.find("mlp"), named) == []
    assert protocol.option("adam_scalars", "a b") == "--named 'adam_scalars=a b'"


def test_every_choice_of_a_convention_has_words():
    for key, (_, words) in conventions.WORDS.items():
        assert set(words) == set(getattr(CHOICES, key))
