"""Lanes bf16 and tf32: products have fewer digits, and nothing else has.

In lane bf16, the factors and results of products have 8 significant bits, all other values 24.

A tolerance cannot show that: if half of the roundings are left out, a result is closer to float64,
not farther. So these checks are exact. Digits that bfloat16 lacks must not matter in a factor, must
not be in a product, and must be everywhere else. In lane tf32, factors have 11 significant bits and
products 24, where the library takes TF32.
"""

import numpy as np

from common.proof import probes
from common.proof.check import Check
from common.proof.oracle import SEED
from common.proof.reference import distance

IMAGES = 64
SMALL = 2.0**-12  # what 1 + SMALL has and bfloat16 lacks
STEP = 2.0**-6  # a learning rate that adds no digits
VELOCITY = 2.0**-14  # allowed relative error of a velocity; bfloat16's would be about 2**-10


def has_more(x):
    """Where a float32 array has more than 8 significant bits, as booleans."""
    return np.ascontiguousarray(x, np.float32).view(np.uint32) & 0xFFFF != 0


def cut(x):
    """``x`` cut to numbers that bfloat16 can hold."""
    return (np.ascontiguousarray(x).view(np.uint32) & 0xFFFF0000).view(np.float32)


def frayed(x, random):
    """Other float32 numbers that round to ``x``, some larger, some smaller; 0 remains 0."""
    noise = random.randint(1 - 2**15, 2**15, x.shape)
    return np.where(x == 0, x, (x.view(np.uint32) + noise).astype(np.uint32).view(np.float32))


def in_force(oracle, build, predict):
    """Some products take TF32, and none takes bfloat16.

    A library may use TF32 for some sizes of a product only. So scores are to be farther from
    float64's than float32's may be, and digits that TF32 has and bfloat16 lacks are to matter in
    every kernel. build, predict: as for ``forward``.
    """
    plain = type(oracle)(oracle.model, oracle.threads, oracle.cache)
    exact, one = plain.scores("scores", plain.biased, plain.test_images)
    scores = predict(build(oracle.gradient_hp, plain.biased), plain.test_images)
    wrong = distance(scores, exact) <= plain.multiple * one
    yield Check("TF32", wrong, 0, "the scores are as exact as float32's: TF32 is not in force")
    random = np.random.RandomState(SEED)
    images, weights = oracle.test_images[:IMAGES], _kernels(cut, oracle.biased)
    scores = predict(build(oracle.gradient_hp, weights), images)
    for name, w in [(name, w) for name, w in weights.items() if w.ndim > 1]:
        noise = random.randint(2**13, 2**15, w.shape).astype(np.uint32)  # bfloat16 rounds it away
        other = dict(weights, **{name: np.where(w == 0, w, (w.view(np.uint32) + noise).view("f"))})
        share = np.mean(predict(build(oracle.gradient_hp, other), images) == scores)
        detail = "%s: digits that bfloat16 lacks do not matter" % name
        yield Check("TF32, " + name, share, 0.5, detail)


def _kernels(change, weights):
    return {name: change(w) if w.ndim > 1 else w for name, w in weights.items()}


def forward(oracle, build, predict):
    """The first product's input, all weights and all results are rounded.

    build: makes a model from (hyperparameters, weights). predict: scores of (model, images).
    """
    random = np.random.RandomState(SEED)
    images, weights = cut(oracle.test_images[:IMAGES]), _kernels(cut, oracle.biased)
    last = list(weights)[-1]
    weights[last] = 0 * weights[last]  # without the last bias, scores are a product's results
    model = build(oracle.gradient_hp, weights)
    scores = predict(model, images)
    other = build(oracle.gradient_hp, _kernels(lambda w: frayed(w, random), weights))
    for what, other_scores in (
        ("images", predict(model, frayed(images, random))),
        ("weights", predict(other, images)),
    ):
        detail = "digits that bfloat16 lacks, in %s, change scores" % what
        yield Check("bfloat16, " + what, np.mean(scores != other_scores), 0, detail)
    share = np.mean(has_more(scores))
    detail = "%.0f%% of the scores have more digits than bfloat16" % (100 * share)
    yield Check("bfloat16, scores", share, 0, detail)
    small = np.zeros_like(images[:1])
    small[0, :2] = np.reshape([1, SMALL], (2, 1, 1))
    layers = list(probes.layers(oracle.model))[:-1]
    (remainders,) = predict(build(oracle.gradient_hp, probes.sums(oracle.model)), small)
    for layer, remainder in zip(layers, remainders):
        detail = "what %s gives has more digits than bfloat16" % layer
        yield Check("bfloat16, result of " + layer, abs(float(remainder)), 0, detail)


def gradient(oracle, build, train, batch):
    """Gradients of weights and between layers are rounded; weights and velocities are not.

    train: yields (loss, weights) of each step of (model, pairs). batch: (images, labels).
    """
    momentum = oracle.model.hp.momentum
    hp = oracle.gradient_hp._replace(learning_rate=STEP, momentum=momentum)
    start = oracle.task.fixed_output(probes.blank(oracle.model, SEED))
    zero_gradient = batch[0], oracle.task.zero_gradient_targets(len(batch[0]))
    steps = [start] + [
        after for _, after in train(build(hp, start), [batch, zero_gradient, zero_gradient])
    ]
    updates = [
        {name: after[name].astype(np.float64) - before[name] for name in start}
        for before, after in zip(steps, steps[1:])
    ]
    for name in [name for name, w in start.items() if w.ndim > 1]:
        share = np.mean(has_more(steps[1][name][0]))
        detail = "%.0f%% of %s's gradient has more digits than bfloat16" % (100 * share, name)
        yield Check("bfloat16, " + name, share, 0, detail)
        moved = steps[1][name][updates[0][name] != 0]
        detail = "%s has lost digits in a step: weights are to remain float32" % name
        yield Check("float32, " + name, np.mean(~has_more(moved)), 0.5, detail)
        second, third = (update[name][0] for update in updates[1:])
        error = distance(third, momentum * second) / (momentum * distance(second, 0))
        detail = "the velocity of %s has lost digits: it is to remain float32" % name
        yield Check("float32, velocity of " + name, error, VELOCITY, detail)
    # Every value of an image, and of a gradient between layers, is the same number, or 0. A bias's
    # gradient is a power of two times that number.
    images, labels = (np.repeat(each[:1], len(each), axis=0) for each in batch)
    images = np.ones_like(images) * np.float32([0.5, 1, 0.75]).reshape(-1, 1, 1)
    start = probes.even(oracle.model, SEED)
    ((_, after),) = train(build(oracle.gradient_hp, start), [(images, labels)])
    for name in [name for name, w in start.items() if w.ndim == 1][:-1]:
        share = np.mean(has_more(after[name]))
        detail = "gradients of what %s is added to have more digits than bfloat16" % name
        yield Check("bfloat16, " + name, share, 0.1, detail)
