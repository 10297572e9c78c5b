"""What ``compare`` names of an attention whose weights and probabilities were not recorded."""

import numpy as np
import pytest

from common.compare.functions import softmax
from common.compare.layers import rotary
from tests.challenge.test_compare_published import noisy, normal

BATCH, TOKENS, WIDTH = 6, 12, 32


def attention(heads=4, window=TOKENS, causal=True, axis=-1, joined=False, sign=None):
    """A recording of queries, keys and values, and a dense layer of their attention.

    sign: of the distances that have a bias; None without a bias.
    """
    x = normal(BATCH, TOKENS, WIDTH)
    fused = x.dot(normal(WIDTH, 3 * WIDTH, seed=1)) / WIDTH**0.5
    arrays = {"x": x, "attn.qkv": fused}
    q, k, v = (
        part.reshape(BATCH, TOKENS, heads, -1).transpose(0, 2, 1, 3)
        for part in np.split(fused, 3, -1)
    )
    scores = np.matmul(q, k.transpose(0, 1, 3, 2)) / q.shape[-1] ** 0.5
    distance = np.arange(TOKENS) - np.arange(TOKENS)[:, None]
    if sign is not None:
        table = normal(2 * TOKENS, heads, seed=2)
        arrays["attn.bias"] = table[sign * distance + TOKENS]
        scores = scores + arrays["attn.bias"].transpose(2, 0, 1)
    seen = (distance <= 0 if causal else distance < TOKENS) & (distance > -window)
    context = np.matmul(softmax(np.where(seen, scores, -1e30), axis), v)
    context = context if joined else context.transpose(0, 2, 1, 3)
    context = context.reshape(BATCH, TOKENS, WIDTH)
    arrays["attn.proj"] = context.dot(normal(WIDTH, WIDTH, seed=3)) + normal(WIDTH, seed=4)
    return arrays


CASES = [
    (dict(window=5), "a window of 5 tokens alone, itself and the 4 before it in B"),
    (dict(heads=8), "4 heads in A, 8 heads in B"),
    (dict(axis=-2, causal=False), None),
    (dict(joined=True), "heads joined in the order heads, tokens in B"),
    (
        dict(causal=False),
        "itself and all before it in A, a token sees all tokens (later ones are not masked) in B",
    ),
]


@pytest.mark.parametrize("wrong, says", CASES)
def test_an_unusual_attention_is_named(compared, wrong, says):
    right = dict(causal=False) if says is None else {}
    code, difference, _ = compared(noisy(attention(**right), 1), noisy(attention(**wrong), 2))
    assert code == 3 and difference["a"] == "attn.proj"
    assert (says or "the softmax is over the queries in B") in difference["computes"]


def test_distances_of_the_other_sign_are_named(compared):
    a, b = (noisy(attention(causal=False, sign=sign), n) for n, sign in ((1, 1), (2, -1)))
    b["other.name"] = b.pop("attn.bias")
    b["attn.proj"] = b.pop("attn.proj")
    code, difference, printed = compared(a, b)
    assert code == 3 and "the other sign" in printed


def test_attentions_that_are_the_same_are_not_accused(compared):
    for options in (dict(window=5), dict(heads=8), dict(joined=True), dict(sign=1)):
        assert compared(noisy(attention(**options), 1), noisy(attention(**options), 2))[0] == 0


def shared(order="repeated", by="halves", base=1e4, transposed=False, first=1.0):
    """A recording of queries, and of keys and values that pairs of heads share, before turning.

    first: a factor of an earlier array, which makes both sides' inputs differ.
    """
    x = normal(8, TOKENS, WIDTH)
    hidden = first * np.tanh(x) + x
    arrays = {"x": x, "hidden": hidden}
    for n, (name, width) in enumerate((("q", WIDTH), ("k", 16), ("v", 16)), 1):
        arrays["attn." + name] = hidden.dot(normal(WIDTH, width, seed=n)) / WIDTH**0.5
    q, k, v = (
        arrays["attn." + name].reshape(8, TOKENS, -1, 8).transpose(0, 2, 1, 3) for name in "qkv"
    )
    k, v = (np.tile(y, (1, 2, 1, 1)) if order == "tiled" else np.repeat(y, 2, 1) for y in (k, v))
    q, k = (rotary.turned(y, by, base) for y in (q, k))
    scores = np.matmul(q, k.transpose(0, 1, 3, 2)) / 8**0.5
    seen = np.tril(np.ones((TOKENS, TOKENS), bool))
    context = np.matmul(softmax(np.where(seen, scores, -1e30), -1), v)
    context = context.transpose(0, 2, 1, 3).reshape(8, TOKENS, WIDTH)
    weight = normal(WIDTH, WIDTH, seed=5)
    arrays["attn.out"] = context.dot(weight.T if transposed else weight)
    return arrays


SHARED = [
    (dict(order="tiled"), "heads that share keys and values tiled in B"),
    (dict(by="pairs"), "rotary by pairs, base 10000 in B"),
    (dict(base=5e5), "rotary by halves, base 500000 in B"),
    (dict(transposed=True), "weight is transposed|weight after it transposed in B"),
]


@pytest.mark.parametrize("wrong, says", SHARED)
def test_an_attention_of_shared_heads_is_named(compared, wrong, says):
    code, difference, _ = compared(noisy(shared(), 1), noisy(shared(**wrong), 2))
    assert code == 3 and difference["a"] == "attn.out"
    assert any(words in difference["computes"] for words in says.split("|"))


def test_a_transposed_weight_behind_an_earlier_mistake_is_named(compared):
    a, b = noisy(shared(), 1), noisy(shared(first=1.1, transposed=True), 2)
    code, difference, printed = compared(a, b)
    assert code == 3 and difference["a"] == "hidden"
    assert "also different: attn.out in A, attn.out in B" in printed
    assert "the square weight after it transposed in B" in printed


def test_attentions_of_shared_heads_that_are_the_same_are_not_accused(compared):
    code, difference, printed = compared(noisy(shared(), 1), noisy(shared(first=1.1), 2))
    assert code == 3 and difference["a"] == "hidden" and "also different" not in printed
