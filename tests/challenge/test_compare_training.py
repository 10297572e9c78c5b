"""What ``compare`` names of a training step, besides the optimiser."""

import numpy as np
import pytest

from common.compare.functions import softmax
from tests.challenge.test_compare_published import noisy, normal

LENGTHS = np.array([6, 2, 5, 3])


def step(weights):
    """A recording of a head's loss and gradient; each token has its weight in the loss."""
    h, head = normal(4, 6, 40), normal(30, 40, seed=1) / 6
    logits = h.dot(head.T)
    labels = np.random.RandomState(2).randint(0, 30, 24)
    p = softmax(logits.reshape(24, 30).astype(float), 1)
    shares = (weights / weights.sum()).reshape(24)
    slopes = shares[:, None] * (p - np.eye(30)[labels])
    loss = np.dot(shares, -np.log(p[np.arange(24), labels]))
    arrays = {"ids": np.random.RandomState(3).randint(0, 99, (4, 6)), "norm": h, "head": logits}
    arrays["step0 head.weight"] = head
    arrays["loss1"] = np.float32(loss)
    arrays["grad1 head.weight"] = slopes.T.dot(h.reshape(24, 40).astype(float)).astype("f")
    arrays["step1 head.weight"] = head - arrays["grad1 head.weight"] / 10
    return arrays


VALID = (np.arange(6) < LENGTHS[:, None]).astype(float)
COUNTED = [
    (VALID, "16 of 24 tokens count, each as much as another in A"),
    (np.ones((4, 6)), "all 24 tokens count, each as much as another in B"),
    (VALID / LENGTHS[:, None], "16 of 24 tokens count, in the mean of each sequence's own mean"),
    (VALID * [[1], [1], [1], [2]], "16 of 24 tokens count, by up to 2 times as much as others"),
]


@pytest.mark.parametrize("weights, says", COUNTED[1:])
def test_the_tokens_that_count_in_a_loss_are_named(compared, weights, says):
    code, difference, _ = compared(noisy(step(VALID), 1), noisy(step(weights), 2))
    assert code == 3 and difference["a"] == "loss1"
    assert COUNTED[0][1] in difference["computes"] and says in difference["computes"]


def two_steps(cleared=True, stopped=False):
    """A recording of two steps of two tensors; their gradients may be added up, or not there."""
    arrays = {"x": normal(8, 5)}
    w = {name: normal(9, 7, seed=n) for n, name in enumerate(("first", "second"))}
    arrays.update(("step0 " + name, value) for name, value in w.items())
    for n in (1, 2):
        for seed, name in enumerate(w):
            gradient = normal(9, 7, seed=10 * n + seed)
            if n == 2 and not cleared:
                gradient = gradient + arrays["grad1 " + name]
            if stopped and name == "first":
                continue
            arrays["grad%d %s" % (n, name)] = gradient
        for name in w:
            moved = arrays.get("grad%d %s" % (n, name), 0 * w[name])
            arrays["step%d %s" % (n, name)] = w[name] = w[name] - moved / 8
    return arrays


def test_gradients_that_are_not_cleared_are_named(compared):
    a, b = noisy(two_steps(), 1), noisy(two_steps(cleared=False), 2)
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["a"] == "grad2 first"
    assert "they are not cleared between the steps" in difference["computes"]
    assert "of step 1 in B" in difference["computes"]
    assert "of step 1 in A" in compared(b, a)[1]["computes"]


def test_a_gradient_that_never_arrives_is_named(compared):
    a, b = noisy(two_steps(), 1), noisy(two_steps(stopped=True), 2)
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["a"] == "step1 first"
    assert difference["computes"].startswith("no gradient of 1 tensors in B")


def normed(frozen):
    """A recording of a step of a batch norm, whose running statistics may stay as they are."""
    arrays = {"x": normal(8, 5), "step0 fc.weight": normal(6, 5, seed=1)}
    arrays["step0 bn.running_mean"] = normal(6, seed=2)
    arrays["loss1"] = np.float32(3.5 if frozen else 3)
    for n in range(1, 3):
        arrays["grad%d fc.weight" % n] = normal(6, 5, seed=20 + n + 5 * frozen)
        weight = arrays["step%d fc.weight" % (n - 1)] - arrays["grad%d fc.weight" % n] / 8
        arrays["step%d fc.weight" % n] = weight
        moved = 0 if frozen else normal(6, seed=30 + n)
        arrays["step%d bn.running_mean" % n] = arrays["step0 bn.running_mean"] + moved
    return arrays


def test_norms_that_are_frozen_in_training_are_named(compared):
    for sides, name in (((False, True), "B"), ((True, False), "A")):
        code, difference, _ = compared(*(normed(frozen) for frozen in sides))
        assert code == 3 and difference["a"] == "loss1"
        assert "%s's batch norms are frozen" % name in difference["computes"]


def masked(changed, zero=False):
    """A recording whose embedding differs at places that the mask leaves out."""
    tokens = np.where(VALID == 1, np.random.RandomState(1).randint(1, 12, (4, 6)), 0)
    table = normal(12, 8, seed=2)
    if changed:
        table[0] = 0 if zero else table[0] + 1
    vectors = table[tokens]
    result = (vectors * VALID[..., None]).sum(1).dot(normal(8, 8, seed=3))
    return {"ids": tokens, "mask": VALID, "embedding": vectors, "result": result}


def test_differences_behind_a_mask_are_a_hint(compared):
    a, b = masked(False), masked(True, zero=True)
    b["table"] = b.pop("embedding")
    b["result"] = b.pop("result")
    code, _, printed = compared(a, b)
    assert code == 0 and "mask leaves out the places where 1 arrays differ" in printed
    assert "only the vectors of tokens 0 differ; B's are 0, as of a padding index" in printed


def test_inputs_that_were_reshaped_are_refused_and_named(compared):
    x = normal(4, 6, 6, 3)
    a = {"x": x, "y": x.mean((1, 2))}
    b = {"x": x.reshape(4, 3, 6, 6), "y": x.reshape(4, 3, 6, 6).mean((2, 3))}
    code, _, error = compared(a, b)
    assert code == 2 and "reshaped, where axes have to be transposed" in error


def test_a_norm_without_its_weight_is_named(compared):
    x = normal(6, 10, 32)
    bare = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    whole = bare * (1 + normal(32, seed=1) / 4) + normal(32, seed=2)
    a, b = ({"ids": np.arange(60).reshape(6, 10), "norm": y} for y in (whole, bare))
    code, difference, _ = compared(noisy(a, 1), noisy(b, 2))
    assert code == 3 and "a LayerNorm without its weight in B" in difference["computes"]


def shortcut(wrong):
    """A residual block whose shortcut is recorded before the branch in A, after it in B."""
    x = normal(4, 6, 6, 8)
    branch = np.maximum(x.dot(normal(8, 8, seed=1)), 0)
    beside = x.dot(normal(8, 8, seed=2) + (0.5 if wrong else 0))
    return x, branch, beside, np.maximum(branch + beside, 0)


def test_a_shortcut_that_differs_is_found_before_its_sum(compared):
    names = ("x", "beside", "branch", "sum"), ("x", "main", "side", "out")
    x, branch, beside, total = shortcut(False)
    a = dict(zip(names[0], (x, beside, branch, total)))
    x, branch, beside, total = shortcut(True)
    b = dict(zip(names[1], (x, branch, beside, total)))
    code, difference, _ = compared(noisy(a, 1), noisy(b, 2))
    assert code == 3 and (difference["a"], difference["b"]) == ("beside", "side")
