"""What ``compare`` says of a diffusion model's block, which a time embedding changes halfway.

A records what modules return, with channels first; B every operation, with channels last.
"""

import numpy as np
import pytest

from common.compare.functions import SHAPES, softmax
from tests.challenge.conftest import normal
from tests.challenge.test_compare_published import noisy

BATCH, CHANNELS, SIDE, GROUPS = 6, 16, 6, 4
silu, gelu = SHAPES["SiLU"], SHAPES["GELU (by erf)"]


class Block:
    """Computes the block with channels last, and keeps each operation's result."""

    def __init__(self):
        self.kept = {}

    def keep(self, name, values):
        self.kept["%s %d" % (name, len(self.kept))] = values
        return values

    def dense(self, x, seed, width):
        x = self.keep("dot", x.dot(normal(x.shape[-1], width, seed=seed) / x.shape[-1] ** 0.5))
        return self.keep("add", x + normal(width, seed=seed + 100))

    def norm(self, x, seed, interleaved=False):
        sizes = (CHANNELS // GROUPS, GROUPS) if interleaved else (GROUPS, CHANNELS // GROUPS)
        parts = self.keep("reshape", x.reshape(x.shape[:3] + sizes))
        axes = (1, 2, 3) if interleaved else (1, 2, 4)
        centred = self.keep("sub", parts - self.keep("mean", parts.mean(axes, keepdims=True)))
        variance = self.keep("mean", np.square(centred).mean(axes, keepdims=True))
        made = self.keep("reshape", (centred / np.sqrt(variance + 1e-5)).reshape(x.shape))
        made = self.keep("mul", made * (1 + normal(CHANNELS, seed=seed) / 4))
        return self.keep("add", made + normal(CHANNELS, seed=seed + 100) / 4)

    def silu(self, x):
        return self.keep("silu", silu(x))


def recordings(wrong=None, without=None):
    """(A, B), where B has a mistake, and lacks the last operation of a module."""
    (_, a), (kept, modules) = made(None), made(wrong)
    first = {name: np.moveaxis(x, -1, 1) if x.ndim == 4 else x for name, x in a.items()}
    b = dict(x=a["x"], t=a["t"])
    b.update((name, x) for name, x in kept.items() if x is not modules.get(without))
    return noisy(first, 1), noisy(b, 2)


def made(wrong):
    """(each operation's result, what each module returns)"""
    block, x, t = Block(), normal(BATCH, SIDE, SIDE, CHANNELS), normal(BATCH, 8, seed=1)
    modules = {"x": x, "t": t}
    hidden = block.dense(t, 2, 32)
    bent = block.keep("gelu", gelu(hidden)) if wrong == "time" else block.silu(hidden)
    modules["time"] = block.dense(bent, 3, 32)
    modules["stem"] = block.dense(x, 4, CHANNELS)
    modules["norm1"] = block.norm(modules["stem"], 5, wrong == "norm1")
    modules["conv1"] = block.dense(block.silu(modules["norm1"]), 6, CHANNELS)
    modules["emb"] = block.dense(block.silu(modules["time"]), 7, CHANNELS)
    both = block.keep("add", modules["conv1"] + modules["emb"][:, None, None])
    modules["norm2"] = block.norm(both, 8, wrong == "norm2")
    modules["conv2"] = block.dense(block.silu(modules["norm2"]), 9, CHANNELS)
    return block.kept, modules


def test_a_right_port_has_no_difference(compared):
    assert compared(*recordings())[0] == 0


@pytest.mark.parametrize("wrong", ["time", "norm1", "norm2"])
def test_a_wrong_layer_is_found_though_another_branch_agrees_after_it(compared, wrong):
    code, difference, printed = compared(*recordings(wrong))
    assert code == 3 and difference["a"] == wrong
    assert "also different" not in printed


def test_a_step_on_the_way_to_a_layer_is_not_accused(compared):
    """B has no array with the bias of conv1, but one without it."""
    code, difference, _ = compared(*recordings("norm2", without="conv1"))
    assert code == 3 and difference["a"] == "norm2"


def sinusoids(times, order="sine", exponent=8, base=1e4):
    """(times, 16) values of the embedding that these are usual arguments of."""
    angles = times[:, None] * base ** (-np.arange(8) / exponent)
    sine, cosine = np.sin(angles), np.cos(angles)
    if order == "turn":
        return np.stack([sine, cosine], -1).reshape(len(times), -1)
    return np.concatenate([sine, cosine] if order == "sine" else [cosine, sine], -1)


TIMES = np.array([3, 999, 500, 17, 250, 42, 801, 128])
EXPONENTS = [
    (dict(exponent=7), "exponents i over half the width less 1, base 10000 in B"),
    (dict(exponent=16), "exponents i over the width, base 10000 in B"),
    (dict(base=1e3), "exponents i over half the width, base 10000 in A, 1000 in B"),
]


@pytest.mark.parametrize("wrong, says", EXPONENTS)
def test_the_frequencies_of_time_steps_are_named(compared, wrong, says):
    a, b = ({"t": TIMES, "emb": sinusoids(TIMES, **kind)} for kind in ({}, wrong))
    code, difference, _ = compared(noisy(a, 1), noisy(b, 2))
    assert code == 3 and difference["a"] == "emb"
    assert says in difference["computes"]
    assert difference["docs"] == "sine-and-cosine"


@pytest.mark.parametrize("wrong", [dict(order="cosine"), dict(order="turn"), dict(exponent=7)])
def test_the_order_and_frequencies_of_positions_are_named(compared, wrong):
    x = normal(6, 12, 16)
    sides = [x + sinusoids(np.arange(12), **kind) for kind in ({}, wrong)]
    a, b = ({"x": x, "sum": y, "next": 2 * y**3} for y in sides)
    code, difference, _ = compared(noisy(a, 1), noisy(b, 2))
    assert code == 3 and difference["a"] == "sum"
    assert "sinusoids, sines, then cosines" in difference["computes"]


def modulated(wrong=None, last=False):
    """A recording of an input, an embedding and the SiLU of the input, scaled and shifted."""
    x, embedding = normal(6, 16, 6, 6), normal(6, 32, seed=1)
    scale, shift = np.split(embedding[:, :, None, None], 2, 1)
    if wrong == "swapped":
        scale, shift = shift, scale
    y = silu(x * (scale + (wrong != "plain")) + shift)
    if wrong == "gelu":
        y = gelu(x * (1 + scale) + shift)
    x, y = (np.moveaxis(z, 1, -1) if last else z for z in (x, y))
    return {"x": x, "emb": embedding, "act": y}


MODULATIONS = [
    ("swapped", "times 1 + the second of 2 parts, plus the first in B", "scale-and-shift"),
    (
        "plain",
        "SiLU of its input times the first of 2 parts, plus the second in B",
        "scale-and-shift",
    ),
    (
        "gelu",
        "GELU (by erf) of its input times 1 + the first of 2 parts, plus the second in B",
        "activations",
    ),
]


@pytest.mark.parametrize("wrong, says, page", MODULATIONS)
def test_a_scale_and_shift_of_channels_is_named(compared, wrong, says, page):
    code, difference, _ = compared(noisy(modulated(), 1), noisy(modulated(wrong, last=True), 2))
    assert code == 3 and difference["a"] == "act"
    assert says in difference["computes"]
    assert difference["docs"] == page


def gated(wrong=None, last=False, parts=6):
    """A recording of a block's input, its two branches, an embedding and the gated sum."""
    x, first, second = (normal(6, 16, 6, 6, seed=seed) for seed in range(3))
    embedding = normal(6, parts * 16, seed=3)
    part = np.split(embedding[:, :, None, None], parts, 1)
    gates = [part[2], part[-1]]
    if wrong == "order":
        gates[0] = part[1]
    if wrong == "tanh":
        gates = [np.tanh(gate) for gate in gates]
    if wrong == "plus":
        gates[1] = 1 + gates[1]
    if wrong == "none":
        gates = [1, 1]
    block = {"x": x, "one": first, "two": second, "sum": x + gates[0] * first + gates[1] * second}
    if last:
        block = {name: np.moveaxis(y, 1, -1) for name, y in block.items()}
    return {"emb": embedding, **block}


GATED = [
    ("order", "the second times the second of 6 parts of the last, the third times the sixth"),
    ("tanh", "the second times the tanh of the third of 6 parts of the last"),
    ("plus", "1 + the sixth of 6 parts of the last in B"),
    ("none", "the sum of 3 arrays; computed from "),
]


@pytest.mark.parametrize("wrong, says", GATED)
def test_a_wrong_gate_of_a_branch_is_named(compared, wrong, says):
    code, difference, _ = compared(noisy(gated(), 1), noisy(gated(wrong, last=True), 2))
    assert code == 3 and difference["a"] == "sum"
    before, after = difference["computes"].split(" in A")
    assert "the second times the third of 6 parts of the last" in before
    assert says in after
    assert difference["docs"] == ("scale-and-shift" if wrong != "none" else None)


@pytest.mark.parametrize("parts", [1, 2, 9])
def test_gates_that_differ_by_rounding_are_no_difference(compared, parts):
    part = min(2, parts - 1)
    x, branch, embedding = normal(6, 9, 16), normal(6, 9, 16, seed=1), normal(6, parts * 16, seed=2)
    gate = np.split(embedding, parts, 1)[part][:, None]
    a = {"emb": embedding, "x": x, "branch": branch, "sum": x + gate * branch}
    assert compared(noisy(a, 1), noisy(a, 2))[0] == 0


def attention(scale=None, heads_first=False):
    """A recording of an image's queries, keys and values, and a dense layer of their attention."""
    heads, places, each = 2, SIDE * SIDE, CHANNELS // 2
    x = normal(BATCH, places, CHANNELS)
    fused = x.dot(normal(CHANNELS, 3 * CHANNELS, seed=1)) / 2
    if heads_first:
        q, k, v = np.moveaxis(fused.reshape(BATCH, places, heads, 3, each), 3, 0)
    else:
        q, k, v = np.moveaxis(fused.reshape(BATCH, places, 3, heads, each), 2, 0)
    scores = np.einsum("bihd,bjhd->bhij", q, k) * (scale or each**-0.5)
    context = np.einsum("bhij,bjhd->bihd", softmax(scores, -1), v).reshape(x.shape)
    result = context.dot(normal(CHANNELS, CHANNELS, seed=3)) + normal(CHANNELS, seed=4)
    arrays = {"x": x, "qkv": fused, "proj": result}
    return {name: y.transpose(0, 2, 1).reshape(BATCH, -1, SIDE, SIDE) for name, y in arrays.items()}


@pytest.mark.parametrize(
    "wrong, says",
    [
        (dict(scale=CHANNELS**-0.5), "the scores are scaled by 1 / root of the whole width in B"),
        (dict(heads_first=True), "the fused array holds heads first in B"),
    ],
)
def test_a_wrong_attention_over_places_is_named(compared, wrong, says):
    code, difference, _ = compared(noisy(attention(), 1), noisy(attention(**wrong), 2))
    assert code == 3 and difference["a"] == "proj"
    assert says in difference["computes"]


def test_a_kernel_is_not_called_swapped_if_results_are_almost_the_same(compared):
    """Few equations are left: a symmetric kernel makes both, whatever the images are."""
    a = {"x": normal(6, 32, 4, 4), "result": normal(6, 32, 4, 4, seed=1)}
    b = dict(a, result=a["result"] + 2e-5 * normal(6, 32, 4, 4, seed=2))
    code, difference, printed = compared(a, b)
    assert code == 3 and difference["a"] == "result"
    assert "kernel is" not in printed
