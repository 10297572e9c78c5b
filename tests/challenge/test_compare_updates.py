"""A step that is small beside the weights is compared as well; rounding is no other step."""

import numpy as np
import pytest

from common.compare.functions import bfloat16
from tests.challenge.conftest import normal, rounded

STEPS = 3
RATE = 1e-4
SHAPES = {"a.weight": (64, 64), "a.bias": (64,), "norm.weight": (64,), "scale": ()}


def adam(gradients, w, rate=RATE, decay=0.01, epsilon=1e-8):
    """The weights after each step, in float32."""
    m = v = np.zeros_like(w, np.float64)
    for n, g in enumerate(gradients, 1):
        g = g.astype(np.float64)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        step = (m / (1 - 0.9**n)) / (np.sqrt(v / (1 - 0.999**n)) + epsilon)
        w = (w - rate * (step + decay * w)).astype("f")
        yield w


def sgd(gradients, w, rate=RATE):
    """The same for plain SGD."""
    for g in gradients:
        w = (w - rate * g).astype("f")
        yield w


def recording(error=0, **optimizers):
    """Inputs, then weights, gradients and weights after each step of each tensor.

    error: the seed of the rounding error; 0 for none. optimizers: other ones, by tensor's key.
    """
    arrays, steps = {"x": normal(8, 16)}, {}
    for seed, (name, shape) in enumerate(SHAPES.items()):
        w = normal(*shape, seed=seed) / 20 + np.float32(name == "norm.weight") + np.float32(0.3)
        gradients = [np.asarray(normal(*shape, seed=9 * seed + n + 50)) for n in range(STEPS)]
        if error:
            gradients = [rounded(g, seed=error + n) for n, g in enumerate(gradients)]
        arrays["step0 " + name] = np.asarray(w, "f")
        optimizer = optimizers.get(name.replace(".", "_"), optimizers.get("every", adam))
        steps[name] = gradients, list(optimizer(gradients, np.asarray(w, "f")))
    for n in range(STEPS):
        for name, (gradients, _) in steps.items():
            arrays["grad%d %s" % (n + 1, name)] = gradients[n]
        for name, (_, weights) in steps.items():
            arrays["step%d %s" % (n + 1, name)] = weights[n]
    return arrays


def other(**constants):
    return lambda gradients, w: adam(gradients, w, **constants)


RIGHT = recording()
SLOW = dict(every=other(rate=1e-6))  # as in a warm-up
WRONG = {
    "no decay": ({}, dict(every=other(decay=0)), "times the weights"),
    "no decay of one tensor": ({}, dict(a_bias=other(decay=0)), "times the weights"),
    "rate": ({}, dict(every=other(rate=1.003e-4)), "times 1.003"),
    "rate of one tensor": ({}, dict(a_bias=other(rate=1.003e-4)), "times 1.003"),
    "optimiser": (SLOW, dict(every=lambda *given: sgd(*given, rate=1e-6)), ""),
    "a number's direction": ({}, dict(scale=other(rate=-RATE)), "times -1"),
    "a number that does not move": ({}, dict(scale=other(rate=0)), "times 0"),
}


@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_another_step_is_found_although_the_weights_agree(compared, wrong):
    ours, theirs, says = WRONG[wrong]
    code, difference, out = compared(recording(**ours), recording(error=1, **theirs))
    assert code == 3 and difference["a"].startswith("step1 "), out
    assert says in difference["relation"]


@pytest.mark.parametrize("seed", range(1, 5))
def test_rounding_is_no_other_step(compared, seed):
    b = recording(error=seed)
    assert compared(RIGHT, b)[0] == 0


def test_corrections_in_float32_are_no_other_step(compared):
    def single(gradients, w):
        m = v = np.zeros_like(w)
        for n, g in enumerate(gradients, 1):
            m = np.float32(0.9) * m + np.float32(0.1) * g
            v = np.float32(0.999) * v + np.float32(0.001) * g * g
            first = np.float32(1) - np.float32(0.9) ** np.float32(n)
            second = np.float32(1) - np.float32(0.999) ** np.float32(n)
            w = w * np.float32(1 - RATE * 0.01)
            step = m / first / (np.sqrt(v / second) + np.float32(1e-8))
            w = np.asarray(w - np.float32(RATE) * step, "f")
            yield w

    assert compared(RIGHT, recording(error=1, every=single))[0] == 0


def test_a_gradient_that_is_transposed_beside_its_weight_is_found(compared):
    def transposed(gradients, w):
        return adam([g.T for g in gradients], w)

    b = recording(error=1, a_weight=transposed)
    for n in range(1, STEPS + 1):
        b["grad%d a.weight" % n] = b["grad%d a.weight" % n].T
    code, difference, _ = compared(RIGHT, b)
    assert code == 3 and difference["a"] == "grad1 a.weight"
    assert "transposed by (1, 0), and the weights are not" in difference["relation"]
    for n in range(STEPS + 1):  # another framework's layout, in all arrays of the tensor
        b["step%d a.weight" % n] = RIGHT["step%d a.weight" % n].T
    for n in range(1, STEPS + 1):
        b["grad%d a.weight" % n] = RIGHT["grad%d a.weight" % n].T
    assert compared(RIGHT, b)[0] == 0


def zero_start(optimizer, gradients, moved=lambda w: w):
    """A recording of a tensor that begins with zeros, and of one that does not."""
    w = {"zero.weight": np.zeros((24, 24), "f"), "other.weight": normal(24, 24, seed=3)}
    arrays = {"x": normal(8, 16)}
    arrays.update(("step0 " + name, moved(start)) for name, start in w.items())
    steps = {name: list(optimizer(gradients, start)) for name, start in w.items()}
    for n, gradient in enumerate(gradients):
        arrays.update(("grad%d %s" % (n + 1, name), moved(gradient)) for name in w)
        arrays.update(("step%d %s" % (n + 1, name), moved(steps[name][n])) for name in w)
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


# Small: the larger gradients are, the more clippings may explain a step.
GRADIENTS = [rounded(1e-5 * normal(24, 24, seed=5), seed=n) for n in range(STEPS)]


def test_zeros_that_a_step_moves_are_no_decayed_weights(compared):
    """The second step is parallel to the weights then; corrections in float32 scale it."""
    a = zero_start(adam, GRADIENTS)
    b = zero_start(other(rate=RATE * (1 + 6.4e-6)), GRADIENTS)
    assert compared(a, b)[0] == 0
    b = zero_start(other(rate=RATE * 1.01), GRADIENTS)
    assert compared(a, b)[0] == 3


def test_zeros_have_the_layout_of_their_gradient(compared):
    a = zero_start(adam, GRADIENTS)
    assert compared(a, zero_start(adam, GRADIENTS, np.transpose))[0] == 0
    for name in a:  # two tensors, and one of them not transposed
        a[name] = a[name] if "zero" in name else a[name].T
    assert compared(a, zero_start(adam, GRADIENTS, np.transpose))[0] == 0


def test_gradients_of_another_shape_are_compared(compared):
    b = {
        name: array.reshape(-1) if name == "grad2 a.weight" else array
        for name, array in recording(error=1).items()
    }
    assert compared(RIGHT, b)[0] == 0


def test_weights_that_are_not_finite_are_no_traceback(compared):
    def spoilt(array):
        array = array.copy()
        array[0, 0] = np.nan
        return array

    b = {n: spoilt(array) if "a.weight" in n else array for n, array in RIGHT.items()}
    a = {n: array if "grad" in n else b[n] for n, array in RIGHT.items()}
    assert compared(RIGHT, b)[0] == 3
    assert compared(a, b)[0] == 3
    assert compared(b, b)[0] == 0


def test_weights_in_bfloat16_round_more(compared):
    def short(gradients, w):
        w = bfloat16(w)
        for g in gradients:
            w = bfloat16(w - np.float32(1e-3) * np.sign(g))
            yield w

    a, b = recording(every=short), recording(error=1, every=short)
    flipped = np.random.RandomState(0).rand(64, 64) < 0.4  # as another order of sums would do
    for n in range(1, STEPS + 1):
        name = "step%d a.weight" % n
        b[name] = np.where(flipped, bfloat16(b[name] * np.float32(1.003)), b[name])
    assert "B's step" not in str(compared(a, b)[1])


def test_a_tensor_without_gradient_does_not_decay(compared):
    """Some libraries leave it as it is; others have a gradient of zeros, and decay it."""
    unused = normal(32, 32, seed=8)
    a = dict(RIGHT, **{"step%d unused.weight" % n: unused for n in range(STEPS + 1)})
    b = recording(error=1)
    b.update({"grad%d unused.weight" % (n + 1): 0 * unused for n in range(STEPS)})
    still = dict(b, **{"step%d unused.weight" % n: unused for n in range(STEPS + 1)})
    decayed = {
        "step%d unused.weight" % n: np.float32((1 - 1e-6) ** n) * unused for n in range(STEPS + 1)
    }
    assert compared(a, still)[0] == 0
    code, difference, _ = compared(a, dict(b, **decayed))
    assert code == 3 and difference["a"] == "step1 unused.weight"


def test_the_place_of_epsilon_is_no_other_step(compared):
    def late(gradients, w, epsilon=1e-4):
        m = v = np.zeros_like(w, np.float64)
        for n, g in enumerate(gradients, 1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g.astype("d") * g
            rate = RATE * np.sqrt(1 - 0.999**n) / (1 - 0.9**n)
            w = (w - rate * m / (np.sqrt(v) + epsilon)).astype("f")
            yield w

    a = recording(every=other(decay=0, epsilon=1e-4))
    code, difference, out = compared(a, recording(error=1, every=late))
    assert "B's step" not in out


@pytest.mark.parametrize("zeros", [False, True])
def test_gradients_of_two_tensors_that_change_places_are_found(compared, zeros):
    u, v, w = (normal(16, 16, seed=n) for n in (1, 2, 3))
    if zeros:
        v = 0 * v
    a = {"x": normal(8, 16), "grad1 q": u, "grad1 k": v, "grad1 v": w}
    code, difference, _ = compared(a, dict(a, **{"grad1 q": v, "grad1 k": u}))
    assert code == 3 and difference["a"] in ("grad1 q", "grad1 k")
