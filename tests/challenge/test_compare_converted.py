"""What ``compare`` says where KerasHub's converters showed that it was wrong or knew too little."""

import numpy as np

from common.compare.functions import SHAPES
from tests.challenge.conftest import normal
from tests.challenge.test_compare_published import noisy

BATCH, TOKENS, WIDTH = 4, 12, 32


def dense(x, width, seed):
    return x.dot(normal(x.shape[-1], width, seed=seed) / x.shape[-1] ** 0.5)


def every(table):
    """The same rows for each observation."""
    return np.repeat(table[None], BATCH, 0)


def test_tables_that_both_sides_look_up_for_each_observation_are_not_accused(compared):
    """A has positions once, and one row of token types everywhere, as BERT in transformers."""
    words = normal(BATCH, TOKENS, WIDTH)
    types = np.tile(2 * normal(WIDTH, seed=1), (TOKENS, 1))
    places = normal(TOKENS, WIDTH, seed=2)
    total = words + types + places
    total = total - total.mean(-1, keepdims=True)
    up = dense(total, WIDTH, 3)
    erf, tanh = (SHAPES[name](up) for name in ("GELU (by erf)", "GELU (by tanh)"))
    first = {"x": words, "types": every(types), "places": places[None].astype("f")}
    second = {"x": words, "p": every(places), "t": every(types)}
    a = dict(first, **noisy({"norm": total, "up": up, "act": erf}, 1))
    b = dict(second, **noisy({"s": words + types + places, "n": total, "u": up}, 2))
    assert compared(a, dict(b, **noisy({"c": erf}, 3)))[0] == 0
    code, difference, _ = compared(a, dict(b, **noisy({"c": tanh}, 3)))
    assert code == 3 and difference["a"] == "act"


def test_another_activation_is_named_by_the_activation_not_by_its_input(compared):
    """B's layer has it inside."""
    x = normal(BATCH, TOKENS, WIDTH)
    before = dense(x, WIDTH, 1)
    erf, tanh = (SHAPES[name](before) for name in ("GELU (by erf)", "GELU (by tanh)"))
    a = {"x": x, "up": before, "act": erf, "down": dense(erf, WIDTH, 2)}
    b = {"x": x, "dense": tanh, "last": dense(tanh, WIDTH, 2)}
    code, difference, _ = compared(noisy(a, 1), noisy(b, 2))
    assert code == 3 and difference["a"] == "act"
    assert difference["computes"] == "GELU (by erf) in A, GELU (by tanh) in B"


def test_equal_rows_are_no_norm_of_anything(compared):
    x = normal(BATCH, TOKENS, WIDTH)
    types = every(np.tile(normal(WIDTH, seed=1), (TOKENS, 1)))
    a = {"x": x, "types": types, "y": dense(x + types, WIDTH, 2)}
    other = normal(BATCH, TOKENS, WIDTH, seed=3)
    b = {"x": x, "places": other, "y": dense(x + other, WIDTH, 2)}
    code, difference, printed = compared(noisy(a, 1), noisy(b, 2))
    assert code == 3 and difference["a"] == "types" and "Norm" not in printed


def heads(epsilon, merged):
    """Queries, and each head's norm of them, within the tolerance of another epsilon's."""
    x = normal(BATCH, TOKENS, WIDTH)
    q = dense(x, 64, 1)
    parts = q.reshape(BATCH, TOKENS, 4, 16)
    made = parts / np.sqrt((parts**2).mean(-1, keepdims=True) + epsilon)
    normed = made * (1 + 0.1 * normal(16, seed=2))
    q = q if merged else parts
    return {"x": x, "q": q, "norm": normed, "out": dense(normed.reshape(q.shape), 16, 3)}


def test_an_epsilon_of_a_norm_of_each_head_is_named_though_heads_are_merged_before_it(compared):
    code, difference, _ = compared(noisy(heads(1e-6, True), 1), noisy(heads(1e-5, False), 2))
    assert code == 3 and difference["a"] == "norm"
    assert difference["computes"] == "RMSNorm, epsilon 1e-06 in A, 1e-05 in B"


def test_a_network_that_ends_sooner_with_a_copy_has_no_difference(compared):
    """B lists an earlier result again, as a functional model its outputs; A has a head."""
    x = normal(BATCH, 6, 6, 8)
    stem = np.maximum(x + 1, 0)
    last = dense(stem, 16, 1)
    pooled = last.mean((1, 2))
    a = {"x": x, "stem": stem, "last": last, "pool": pooled, "head": dense(pooled, 10, 2)}
    b = {"given": x, "first": stem, "second": last, "outputs": stem}
    assert compared(noisy(a, 1), noisy(b, 1))[0] == 0
