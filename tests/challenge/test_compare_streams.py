"""What ``compare`` says of two streams, an image's and a text's, of a diffusion transformer.

A records the image's layers first, B the text's; neither records x + gate * branch before a norm.
"""

import numpy as np
import pytest

from common.compare.functions import SHAPES
from tests.challenge.conftest import normal
from tests.challenge.test_compare_published import noisy

BATCH, WIDTH, TOKENS = 6, 32, {"image": 20, "text": 9}
ORDER = (0, 1, 5, 3, 4, 2)  # gates exchanged
silu, gelu, gelu_erf = (SHAPES[name] for name in ("SiLU", "GELU (by tanh)", "GELU (by erf)"))


def normed(x, epsilon=1e-6, centered=True):
    """Rows, normalised."""
    x = x - x.mean(-1, keepdims=True) if centered else x
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)


def dense(x, width, seed):
    return x.dot(normal(x.shape[-1], width, seed=seed) / x.shape[-1] ** 0.5)


def stream(name, wrong=None, turned=False):
    """Yield (name, array) of a stream's layers. turned: the parts' order is B's convention."""
    seed = 10 * len(name)
    x = normal(BATCH, TOKENS[name], WIDTH, seed=seed)
    yield name + ".in", x
    parts = np.split(dense(silu(normal(BATCH, 8)), 6 * WIDTH, seed + 1), 6, -1)
    if wrong == "order" and name == "text":
        parts = [parts[n] for n in ORDER]
    kept = [parts[n] for n in ORDER] if turned else parts
    yield name + ".parts", np.concatenate(kept, -1)
    parts = [part[:, None] for part in parts]
    if wrong == "table" and name == "image":
        x = x + 0.3 * normal(WIDTH, seed=9)
    x = x + normal(TOKENS[name], WIDTH, seed=seed + 8)
    yield name + ".placed", x
    yield name + ".norm1", normed(x)
    one = dense(normed(x) * (1 + parts[1]) + parts[0], WIDTH, seed + 2)
    yield name + ".branch", one
    x = x + (1 if wrong == "missing" and name == "text" else parts[2]) * one
    wrong_norm = dict(epsilon=dict(epsilon=1e-3), centered=dict(centered=False))
    rows = normed(x, **wrong_norm.get(wrong if name == "text" else None, {}))
    yield name + ".norm2", rows
    before = dense(rows * (1 + parts[4]) + parts[3], WIDTH, seed + 3)
    if wrong is None:  # B has it inside the next layer
        yield name + ".up", before
    bend = gelu_erf if wrong == "gelu" and name == "text" else gelu
    yield name + ".act", bend(before)
    yield name, x + parts[5] * dense(bend(before), WIDTH, seed + 4)


def recordings(wrong="nothing", turned=False):
    """(A, B)"""
    given = {"x": normal(BATCH, 8)}
    a = dict(given, **dict(stream("image")), **dict(stream("text")))
    b = [dict(stream(name, wrong, turned)) for name in ("text", "image")]
    b = dict(given, **b[0], **b[1])
    a["head"], b["head"] = (
        dense(y["image"].mean(1), 5, 7) + dense(y["text"].mean(1), 5, 8) for y in (a, b)
    )
    return noisy(a, 1), noisy({"given" if n == "x" else "b " + n: b[n] for n in b}, 2)


@pytest.mark.parametrize("turned", [False, True])
def test_a_right_port_has_no_difference(compared, turned):
    assert compared(*recordings(turned=turned))[0] == 0


WRONG = [
    ("missing", "the second times the third of 6 parts of the last"),
    ("order", "b text.parts has the values of text.parts on axis 1 in blocks of 32, in the order"),
    ("centered", "LayerNorm of the sum of 2 arrays, the second times the third of 6 parts"),
    ("epsilon", "by another epsilon in a LayerNorm: B's is larger"),
]


@pytest.mark.parametrize("wrong, says", WRONG)
def test_a_norm_of_an_unrecorded_sum_is_explained(compared, wrong, says):
    code, difference, printed = compared(*recordings(wrong))
    assert code == 3 and difference["a"] == "text.norm2"
    assert says in difference["computes"]
    assert "also different" not in printed


def test_an_activation_is_named_by_an_input_that_the_other_side_alone_recorded(compared):
    """The input's rounding is that of another framework."""
    code, difference, _ = compared(*recordings("gelu"))
    assert code == 3 and difference["a"] == "text.act"
    assert difference["computes"] == "GELU (by tanh) in A, GELU (by erf) in B"


def test_parts_in_another_order_are_not_accused_beside_a_mistake(compared):
    code, difference, printed = compared(*recordings("gelu", turned=True))
    assert code == 3 and difference["a"] == "text.act"
    assert "also different" not in printed


def test_a_wrong_stream_is_found_though_b_computes_the_other_first(compared):
    code, difference, _ = compared(*recordings("table"))
    assert code == 3 and (difference["a"], difference["b"]) == ("image.placed", "b image.placed")


def test_a_few_values_agree_in_another_shape(compared):
    times = np.array([3, 999, 500, 17], "f")
    a = {"x": normal(4, 8), "t": times, "y": normal(4, 8, seed=1)}
    assert compared(a, dict(a, t=times[:, None]))[0] == 0


def test_a_few_values_that_differ_are_printed(compared):
    times = np.array([3, 999, 500, 17], "f")
    a = {"x": normal(4, 8), "t": times, "y": normal(4, 8, seed=1)}
    b = dict(a, t=times / 1000, y=normal(4, 8, seed=2))
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["a"] == "t"
    assert "3, 999, 500, 17 in A, 0.003, 0.999, 0.5, 0.017 in B" in difference["relation"]


def test_the_last_layer_of_a_branch_is_found_though_the_other_branch_agrees(compared):
    """Of two branches with a result each, A computes the text's first, B the image's."""
    a, b = (
        {name: [x for x in stream(name, "epsilon" if b else None)] for name in TOKENS}
        for b in (False, True)
    )
    x = {"x": normal(BATCH, 8)}
    a = noisy(dict(x, **dict(a["text"]), **dict(a["image"])), 1)
    b = noisy(dict(x, **dict(b["image"]), **dict(b["text"])), 2)
    code, difference, _ = compared(a, unnamed(b))
    assert code == 3 and difference["a"] == "text.norm2"


def unnamed(arrays):
    """The arrays, named as operations are."""
    return {"net/op %d" % place: array for place, array in enumerate(arrays.values())}


def with_cache(x, ops, wrong=None):
    """Blocks that split keys and return them at the end; with ``ops``, as soon as they are."""
    arrays, cache = {"x": x}, {}
    for n in range(4):
        both = dense(x, 2 * WIDTH, n)
        arrays["block%d.attn" % n] = both
        keys = both[..., :WIDTH].reshape(BATCH, -1, 4, WIDTH // 4).transpose(0, 2, 1, 3)
        if ops:
            arrays["block%d/reshape %d" % (n, n)] = keys
            arrays["block%d/scale %d" % (n, n)] = 0.3 * keys
        else:
            cache["output.past_key_values, result %d" % n] = keys
        inner = gelu(dense(both, WIDTH, n + 8))
        arrays["block%d.act" % n] = inner
        x = x + (1.1 if wrong == "block2" and n == 2 else 1) * inner
        arrays["block%d" % n] = x
    x = x if wrong == "head" else normed(x)
    return dict(arrays, head=dense(x, 40, 99), **cache)


@pytest.mark.parametrize("wrong", [None, "block2", "head"])
@pytest.mark.parametrize("side", ["a", "b"])
def test_keys_that_a_network_returns_show_no_order(compared, wrong, side):
    """They were computed long before: one side records them at its end, the other within."""
    x = normal(BATCH, 9, WIDTH)
    returned = noisy(with_cache(x, ops=False, wrong=wrong), 1)
    within = unnamed(noisy(with_cache(x, ops=True), 2))
    sides = (returned, within) if side == "a" else (within, returned)
    code, difference, _ = compared(*sides)
    assert code == (3 if wrong else 0)
    assert wrong is None or difference[side] == wrong


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("side", ["a", "b"])
def test_a_result_that_one_side_computes_further_with(compared, wrong, side):
    """One side returns the scores; the other goes on to probabilities."""
    x = normal(BATCH, 9, WIDTH)
    layers = {"x": x, "hidden": dense(x, WIDTH, 1), "norm": normed(dense(x, WIDTH, 1))}
    scores = dense(layers["norm"], 40, 2)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    ops = dict(
        layers, scores=scores, highest=scores.max(-1), off=scores - scores.max(-1)[..., None]
    )
    ops.update(exp=shares, sum=shares.sum(-1), shares=shares / shares.sum(-1, keepdims=True))
    returned = noisy(dict(layers, **{"output.logits": scores * (1.1 if wrong else 1)}), 1)
    within = unnamed(noisy(ops, 2))
    sides = (returned, within) if side == "a" else (within, returned)
    code, difference, _ = compared(*sides)
    assert code == (3 if wrong else 0)
    assert not wrong or difference[side] == "output.logits"
