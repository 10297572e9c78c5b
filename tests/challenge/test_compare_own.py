"""What ``compare`` names of layers from each side's own inputs: after an earlier mistake, too."""

import numpy as np
import pytest

from common.compare.functions import SHAPES, softmax
from common.compare.layers.normalisation import normalised
from tests.challenge.test_compare_published import noisy, normal


def norm(x, epsilon=1e-12):
    """A LayerNorm with a gain."""
    gain = 1 + normal(x.shape[-1], seed=50) / 8
    return normalised(x.reshape(-1, x.shape[-1]), "LayerNorm", epsilon).reshape(x.shape) * gain


def attended(q, k, v, seen):
    """The context of 4 heads; ``seen``: 1 where a key is seen."""
    split = lambda t: t.reshape(4, 12, 4, 8).transpose(0, 2, 1, 3)  # noqa: E731
    scores = np.matmul(split(q), split(k).transpose(0, 1, 3, 2)) / 8**0.5
    scores = (scores - 1e4 * (1 - seen[:, None, None])).astype("f")
    context = np.matmul(softmax(scores, -1), split(v)).transpose(0, 2, 1, 3)
    return context.reshape(4, 12, 32)


def blocks(first=(), second=()):
    """Two blocks of attention and a gated layer after a norm; each with mistakes of its own."""
    arrays = {"x": normal(4, 12, 32), "mask": (np.arange(12) < [[12], [7], [9], [5]]) * 1.0}
    h = arrays["x"]
    for n, wrong in enumerate((first, second)):
        name = ("block.%d." % n + "%s").__mod__
        w = lambda k, i=32, o=32: normal(i, o, seed=10 * n + k) / i**0.5  # noqa: E731,B023
        x = h = arrays[name("norm")] = norm(h, 1e-2 if "epsilon" in wrong else 1e-12)
        weights = [w(1), w(2), w(3)]
        if "exchanged" in wrong:
            weights[:2] = weights[1::-1]
        for part, weight in zip(("query", "key", "value"), weights):
            arrays[name(part)] = x.dot(weight)
        seen = arrays["mask"]
        if "mask ignored" in wrong:
            seen = np.ones_like(seen)
        if "mask inverted" in wrong:
            seen = 1 - seen
        q, k, v = (arrays[name(part)] for part in ("query", "key", "value"))
        context = arrays[name("context")] = attended(q, k, v, seen)
        dense = w(4).T if "transposed" in wrong else w(4)
        h = arrays[name("output")] = context.dot(dense) + normal(32, seed=3)
        if "scaled" in wrong:
            arrays[name("output")] = h = 8 * context.dot(dense)
        if "reordered" in wrong:
            arrays[name("output")] = h = np.roll(h, 8, -1)
        h = arrays[name("result")] = norm(h if "no residual" in wrong else h + x)
    return arrays


def said(text):
    return text[text.index("first difference") :]


SECOND = [
    ("mask ignored", "block.1.context", "mask masks keys in A, all keys are seen in B"),
    ("mask inverted", "block.1.context", "mask masks keys, where it is 1 in B"),
    ("transposed", "block.1.output", "is transposed on one side only"),
    ("scaled", "block.1.output", "a dense layer of block.1.context in both, times 8 in B"),
    ("reordered", "block.1.output", "with B's outputs in the order 24, 25, 26"),
    ("exchanged", "block.1.query", "block.1.key and block.1.query are swapped in B"),
]


@pytest.mark.parametrize("wrong, place, says", SECOND)
def test_a_layer_after_an_earlier_mistake_is_named_from_each_side_s_own_input(
    compared, wrong, place, says
):
    code, difference, printed = compared(
        noisy(blocks(), 1), noisy(blocks(first=["epsilon"], second=[wrong]), 2)
    )
    assert code == 3 and difference["a"] == "block.0.norm" and "epsilon" in difference["computes"]
    later = [line for line in said(printed).splitlines() if line.startswith("also different")]
    assert any(place in line and says in line for line in later)
    assert all("block.1." in line for line in later)


def test_layers_after_a_mistake_are_not_accused(compared):
    code, difference, printed = compared(noisy(blocks(), 1), noisy(blocks(first=["epsilon"]), 2))
    assert code == 3 and difference["a"] == "block.0.norm"
    assert "also different" not in printed
    assert compared(noisy(blocks(), 1), noisy(blocks(), 2))[0] == 0


def test_a_mask_the_other_way_round_is_named_though_it_hides_whole_rows(compared):
    code, difference, _ = compared(noisy(blocks(), 1), noisy(blocks(["mask inverted"]), 2))
    assert code == 3 and difference["a"] == "block.0.context"
    assert "mask masks keys in A, mask masks keys, where it is 1 in B" in difference["computes"]


@pytest.mark.parametrize("first", [(), ("epsilon",)])
def test_a_missing_residual_is_named(compared, first):
    b = noisy(blocks(first=first, second=["no residual"]), 2)
    code, difference, printed = compared(noisy(blocks(), 1), b)
    assert code == 3 and difference["a"] == ("block.0.norm" if first else "block.1.result")
    assert "block.1.output and block.1.norm" in said(printed)


def test_a_missing_residual_of_a_branch_that_one_side_recorded_is_no_traceback(compared):
    x, branch = normal(8, 12, 32), normal(8, 12, 32, seed=1)
    a = noisy({"x": x, "attention": branch, "norm": norm(x + branch)}, 1)
    b = noisy({"x": x, "norm": norm(branch)}, 2)
    for sides in ((a, b), (b, a)):
        code, difference, _ = compared(*sides)
        assert code == 3 and difference["a"] == "norm"


def encoded(left=False, recorded=True):
    """Cross-attention's keys of an encoder's result, whose last norm may be left out."""
    h, other = normal(4, 14, 32) * 3, normal(4, 10, 32, seed=1)
    h = h * (1 + normal(4, 14, 1, seed=2) ** 2)
    arrays = {"x": normal(4, 14, 7, seed=3), "encoder.block": h}
    n = normalised(h.reshape(-1, 32), "RMSNorm", 1e-6).reshape(h.shape) * (1 + normal(32, seed=4))
    if not left and recorded:
        arrays["encoder.final_layer_norm"] = n
    arrays["decoder.embed"] = other
    arrays["decoder.q"] = other.dot(normal(32, 32, seed=5) / 6)
    arrays["decoder.k"] = (h if left else n).dot(normal(32, 32, seed=6) / 6)
    return arrays


def test_a_norm_that_one_side_leaves_out_is_the_first_difference(compared):
    code, difference, _ = compared(noisy(encoded(), 1), noisy(encoded(left=True), 2))
    assert code == 3 and difference["a"] == "encoder.final_layer_norm"
    assert "A is B after a norm: RMSNorm, epsilon" in difference["computes"]
    code, difference, _ = compared(noisy(encoded(left=True), 1), noisy(encoded(), 2))
    assert code == 3 and difference["b"] == "encoder.final_layer_norm"
    # A right port may leave it out of its recording.
    assert compared(noisy(encoded(), 1), noisy(encoded(recorded=False), 2))[0] == 0


def placed(start=0):
    """Tokens and positions."""
    table, tokens = normal(20, 16, seed=1), normal(4, 12, 16, seed=2)
    positions = table[None, start : start + 12]
    arrays = {"x": normal(4, 12, 5), "tokens": tokens}
    arrays["positions"] = positions
    arrays["sum"] = tokens + positions
    return arrays


def repeated(arrays):
    """The positions once for each observation."""
    return dict(arrays, positions=np.repeat(arrays["positions"], 4, 0))


@pytest.mark.parametrize("start", [1, 2])
def test_positions_that_begin_elsewhere_are_named_though_one_side_repeats_them(compared, start):
    a = noisy(placed(), 1)
    assert compared(a, repeated(noisy(placed(), 2)))[0] == 0
    code, difference, _ = compared(a, repeated(noisy(placed(start), 2)))
    assert code == 3 and difference["a"] == "positions"
    assert "moved by -%d" % start in difference["relation"]


def test_an_input_that_one_side_alone_records_scaled_is_no_other_weight(compared):
    """B's last array before the head is an eighth of A's, which A does not record scaled."""
    x, inner, head = normal(8, 12, 32), normal(32, 32, seed=1), normal(32, 20, seed=2)

    def run(activation, times):
        h = SHAPES[activation](x).dot(inner)
        hidden = {"last.dropout": h} if times == 1 else {"mul": h * times}
        return {"x": x, "act": SHAPES[activation](x), **hidden, "head": (h / 8).dot(head)}

    code, difference, printed = compared(
        noisy(run("SiLU", 1), 1), noisy(run("tanh", np.float32(0.125)), 2)
    )
    assert code == 3 and difference["a"] == "act" and "also different" not in printed


def test_values_in_another_order_after_a_mistake_are_named(compared):
    """They agree with A's, but for their order, so that they are no difference by themselves."""
    x = normal(4, 12, 32)
    weight = normal(32, 48, seed=1) / 6
    norms = [norm(x, epsilon) for epsilon in (1e-5, 2e-5)]
    order = np.roll(np.arange(48), 16)
    sides = []
    for y, moved in zip(norms, (np.arange(48), order)):
        sides.append({"x": x, "block.0.norm": y, "block.0.qkv": norms[0].dot(weight)[..., moved]})
    code, difference, printed = compared(noisy(sides[0], 1), noisy(sides[1], 2))
    assert code == 3 and difference["a"] == "block.0.norm"
    assert "also different: block.0.qkv in A, block.0.qkv in B: B is A, axis 2" in printed
