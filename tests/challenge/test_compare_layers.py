"""What the layers of two recordings compute is named, with the constants of both."""

import math
import re
from collections import OrderedDict

import numpy as np
import pytest

from common.compare.functions import SHAPES, bfloat16, softmax
from common.compare.layers import convolution, docs, resize, search
from common.compare.layers.attention import context
from common.compare.layers.layer import Layer
from common.compare.optimizers import fit, steps, walk
from common.compare.pairing import Array
from tests.challenge.conftest import all_pairs, normal, rounded

X = normal(8, 12, 32)


def recording(*arrays, seed=0):
    return {"layer%d" % n: rounded(array, seed + n) for n, array in enumerate(arrays)}


def computes(compared, a, b):
    """(exit code, what differs) of two recordings."""
    code, difference, _ = compared(a, b)
    return code, difference and difference["computes"]


def layer_norm(x, epsilon, mean=True, shift=0.1):
    center = x - x.mean(-1, keepdims=True) if mean else x
    variance = (center**2).mean(-1, keepdims=True)
    return center / np.sqrt(variance + epsilon) * (1 + normal(32, seed=5) / 4) + shift


@pytest.mark.parametrize("mean, kind", [(True, "LayerNorm"), (False, "RMSNorm")])
@pytest.mark.parametrize("size", [1, 0.02])
@pytest.mark.parametrize("ours, theirs", [(1e-5, 1e-3), (1e-5, 1e-6), (1e-12, 1e-5)])
def test_an_epsilon_is_named(compared, mean, kind, size, ours, theirs):
    x = X * np.float32(size)
    shift = 0.1 if mean else 0
    a, b = (
        recording(x, layer_norm(x, epsilon, mean, shift), seed=n)
        for n, epsilon in enumerate((ours, theirs))
    )
    code, says = computes(compared, a, b)
    assert code == 3 and says == "%s, epsilon %g in A, %g in B" % (kind, ours, theirs)
    assert compared(a, recording(x, layer_norm(x, ours, mean, shift), seed=7))[0] == 0


@pytest.mark.parametrize("mean, kind", [(True, "LayerNorm"), (False, "RMSNorm")])
def test_an_epsilon_within_the_tolerance_is_named_by_the_norm_s_own_input(compared, mean, kind):
    """An earlier layer's error hides it: it is no jump, and agrees."""

    def run(epsilon, seed, start=1e-6):
        shift = 0.1 if mean else 0
        first = layer_norm(X, start, mean, shift)
        error = 4e-6 * (seed > 0) * normal(*X.shape, seed=seed)
        middle = (first + error).astype("f")
        second = layer_norm(middle, epsilon, mean, shift)
        return recording(X, first, middle, second, second.dot(normal(32, 16, seed=7)), seed=seed)

    a, right, wrong = run(1e-6, 0), run(1e-6, 1), run(1e-5, 2)
    assert compared(a, right)[0] == 0
    code, difference, _ = compared(a, wrong)
    assert code == 3 and difference["a"] == "layer3"
    assert difference["computes"] == "%s, epsilon 1e-06 in A, 1e-05 in B" % kind


@pytest.mark.parametrize("ours, theirs", [(1e-5, 1e-3), (1e-3, 1e-5), (1e-5, 1e-4)])
def test_the_epsilon_of_a_fresh_batch_norm_is_no_scale(compared, ours, theirs):
    x = normal(8, 6, 10, 10)
    a, b = (
        recording(x, (x / np.sqrt(1 + e)).astype("f"), seed=n) for n, e in enumerate((ours, theirs))
    )
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["docs"] == docs.EPSILON
    says = "a BatchNorm whose running variance is 1, epsilon %g in A, %g in B" % (ours, theirs)
    assert difference["computes"] == says


def test_an_epsilon_that_does_not_show_is_no_difference(compared):
    x = 1000 * X
    a, b = (recording(x, layer_norm(x, epsilon), seed=n) for n, epsilon in enumerate((1e-6, 1e-5)))
    assert compared(a, b)[0] == 0


def test_one_plus_the_weight_is_named(compared):
    unit = layer_norm(X, 1e-6, mean=False, shift=0) / (1 + normal(32, seed=5) / 4)
    w = normal(32, seed=9)
    code, says = computes(compared, recording(X, unit * (1 + w)), recording(X, unit * w, seed=3))
    assert code == 3 and says == "RMSNorm, epsilon 1e-06, times 1 + w in A, times w in B"


TOLD_APART = [
    ("GELU (by tanh)", "GELU (by erf)"),
    ("GELU (by erf)", "GELU (x sigmoid(1.702 x))"),
    ("SiLU", "Mish"),
    ("ReLU", "squared ReLU"),
    ("ELU", "SELU"),
    ("hard sigmoid (x / 6 + 0.5)", "hard sigmoid (0.2 x + 0.5)"),
    ("tanh", "softsign"),
]


@pytest.mark.parametrize("ours, theirs", TOLD_APART)
@pytest.mark.parametrize("gated", [False, True])
def test_an_activation_is_named(compared, ours, theirs, gated):
    x, gate = 2 * X, normal(8, 12, 32, seed=1)
    apply = lambda name: SHAPES[name](x) * (gate if gated else 1)  # noqa: E731
    a, b = (recording(x, gate, apply(name), seed=n) for n, name in enumerate((ours, theirs)))
    code, says = computes(compared, a, b)
    assert code == 3 and says == "%s in A, %s in B" % (ours, theirs)
    assert compared(a, recording(x, gate, apply(ours), seed=8))[0] == 0


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "identity"])
def test_every_activation_is_found(name):
    arrays = [Array("x", 2 * X), Array("y", rounded(SHAPES[name](2 * X.astype(np.float64))))]
    found = search.fit(Layer(arrays, 1))
    assert found.family.words(found.constants) == name


def test_leaky_slopes_are_named(compared):
    leaky = lambda slope: np.where(X < 0, np.float32(slope) * X, X)  # noqa: E731
    code, says = computes(compared, recording(X, leaky(0.01)), recording(X, leaky(0.2), seed=4))
    assert code == 3 and says == "leaky ReLU, slope 0.01 in A, 0.2 in B"


IMAGES = normal(4, 3, 16, 16)
ONE = dict(kind="convolution", kernel=3, stride=1)


def convolved(x, weight, **constants):
    """A convolution by its patches; weight (in, kernel, kernel, out)."""
    shape = constants.pop("shape")
    seen = convolution.patches(x.astype(np.float64), constants, shape)
    return seen.dot(weight.reshape(-1, weight.shape[-1])).transpose(0, 3, 1, 2)


@pytest.mark.parametrize("layout", [(0, 1, 2, 3), (0, 2, 3, 1)])
def test_a_padding_is_named_without_the_weight(compared, layout):
    weight = normal(3, 3, 3, 8, seed=1)
    made = lambda low: convolved(  # noqa: E731
        IMAGES, weight, kind="convolution", kernel=3, stride=2, padding=low, shape=(8, 8)
    )
    move = lambda arrays: {n: x.transpose(layout) for n, x in arrays.items()}  # noqa: E731
    a, b = recording(IMAGES, made(1)), move(recording(IMAGES, made(0), seed=2))
    code, says = computes(compared, a, b)
    start = "convolution, 3 x 3, stride 2, top and left padding "
    assert code == 3 and says == start + "1 in A, 0 in B"
    assert compared(a, move(recording(IMAGES, made(1), seed=2)))[0] == 0


@pytest.mark.parametrize("layout", [(0, 1, 2, 3), (0, 2, 3, 1)])
def test_a_convolution_whose_result_has_another_size_is_named(compared, layout):
    weight, sizes = normal(3, 3, 3, 8, seed=1), {1: (16, 16), 0: (14, 14)}
    a, b = (
        recording(IMAGES, convolved(IMAGES, weight, padding=low, shape=sizes[low], **ONE), seed=low)
        for low in (1, 0)
    )
    code, says = computes(compared, a, {n: x.transpose(layout) for n, x in b.items()})
    assert code == 3 and says == "convolution, 3 x 3, stride 1, top and left padding 1 in A, 0 in B"


def test_a_flipped_kernel_is_named_without_the_weight(compared):
    weight = normal(3, 3, 3, 8, seed=1)
    options = dict(kind="transposed", kernel=3, stride=2, padding=0, shape=(33, 33))
    a = recording(IMAGES, convolved(IMAGES, weight, **options))
    b = recording(IMAGES, convolved(IMAGES, weight[:, ::-1, ::-1], **options), seed=2)
    code, says = computes(compared, a, b)
    assert code == 3 and says.startswith("transposed convolution, 3 x 3, stride 2")
    assert says.endswith("B's kernel is A's, flipped along height and width")


@pytest.mark.parametrize("down", [False, True])
def test_a_resize_is_named(compared, down):
    size = 7 if down else 40
    apply = lambda **k: np.einsum(  # noqa: E731
        "ih,nchw,jw->ncij", resize.matrix(16, size, **k), IMAGES, resize.matrix(16, size, **k)
    )
    ours = dict(mode="linear", grid="half pixels", antialias=False)
    for theirs in (
        dict(ours, grid="aligned corners"),
        dict(ours, mode="cubic, a = -0.75"),
        dict(ours, antialias=True) if down else dict(ours, grid="from the corner"),
    ):
        a, b = recording(IMAGES, apply(**ours)), recording(IMAGES, apply(**theirs), seed=2)
        code, says = computes(compared, a, b)
        assert code == 3 and resize.words(ours) in says and resize.words(theirs) in says


def test_a_flatten_in_another_order_is_named_where_it_was_not_recorded(compared):
    weight = normal(10, 3 * 6 * 8, seed=1) / 12
    x = normal(24, 3, 6, 8)
    last = (0, 2, 3, 1)
    right = x.reshape(24, -1).dot(weight.T)
    a = dict(recording(x, right), weight=weight)
    code, says = computes(
        compared, a, recording(x.transpose(last), x.transpose(last).reshape(24, -1).dot(weight.T))
    )
    assert code == 3 and "order 1, 2, 3" in says and "2, 3, 1" in says
    assert compared(a, recording(x.transpose(last), right, seed=5))[0] == 0


def test_a_square_weight_that_is_transposed_is_named_without_it(compared):
    w = normal(32, 32, seed=1) / 6
    a, b = recording(X, X.dot(w) + 1), recording(X, X.dot(w.T) + 1, seed=2)
    code, says = computes(compared, a, b)
    assert code == 3 and says.endswith("layer0 is transposed on one side only")
    few = [{name: x[:, :3] for name, x in side.items()} for side in (a, b)]  # too few to compute it
    code, says = computes(compared, *few)
    assert code == 3 and says.startswith("the square weight of a dense layer is transposed")
    other = normal(32, 32, seed=3) / 6
    code, says = computes(compared, a, recording(X, X.dot(other), seed=2))
    assert code == 3 and says.endswith("a dense layer of layer0 in both, with another weight")


def rotary(x, by, base=10000.0, rounding=lambda x: x):
    half = x.shape[-1] // 2
    turn = np.arange(x.shape[1])[:, None] * rounding(base ** (-np.arange(half) / float(half)))
    cosine, sine = np.cos(turn), np.sin(turn)
    first, second = (
        (x[..., :half], x[..., half:]) if by == "halves" else (x[..., 0::2], x[..., 1::2])
    )
    parts = (first * cosine - second * sine, first * sine + second * cosine)
    if by == "halves":
        return np.concatenate(parts, -1)
    return np.stack(parts, -1).reshape(x.shape)


def test_rotary_embeddings_are_named_and_not_where_the_weights_make_up_for_them(compared):
    x = normal(4, 64, 16)
    a = recording(x, rotary(x, "pairs"))
    code, says = computes(compared, a, recording(x, rotary(x, "halves"), seed=2))
    assert code == 3 and "by pairs" in says and "by halves" in says
    code, says = computes(compared, a, recording(x, rotary(x, "pairs", 5e5), seed=2))
    assert code == 3 and says == "rotary embedding by pairs, base 10000 in A, 500000 in B"
    code, says = computes(compared, a, recording(x, rotary(x, "pairs", rounding=bfloat16), seed=2))
    assert code == 3 and "frequencies in bfloat16" in says
    order = np.concatenate([np.arange(0, 16, 2), np.arange(1, 16, 2)])
    moved = x[..., order]
    port = {"q": rounded(moved), "turned": rounded(rotary(moved, "halves"), 2)}
    x0 = {"x": normal(4, 64, 9, seed=4)}
    assert compared(dict(x0, q=a["layer0"], turned=a["layer1"]), dict(x0, **port))[0] == 0


def attention(scale, offset=0, bias=0.0):
    q, k = normal(3, 2, 8, 16), normal(3, 2, 8, 16, seed=1)
    scores = np.einsum("nhik,nhjk->nhij", q, k) * scale + bias
    scores = np.where(np.tril(np.ones((8, 8), bool), offset), scores, -1e9)
    return recording(q, k, softmax(scores, -1))


def test_probabilities_show_what_happened_to_the_scores(compared):
    code, says = computes(compared, attention(0.25), attention(1))
    assert code == 3 and says.endswith("itself and all before it, scale 0.25 in A, 1 in B")
    code, says = computes(compared, attention(0.25), attention(0.25, offset=1))
    assert code == 3 and says.endswith("scale 0.25 in A, 1 after it, too, scale 0.25 in B")
    alone = [{n: x for n, x in r.items() if n != "layer1"} for r in (attention(0.25), attention(1))]
    code, says = computes(compared, *alone)
    assert code == 3 and "multiplied by 4 before the softmax: the root of 16" in says
    bias = normal(1, 2, 8, 8, seed=3)
    code, says = computes(compared, attention(0.25), attention(0.25, bias=bias))
    assert code == 3 and "relative positions" in says


def test_positions_that_ignore_the_padding_are_named(compared):
    table, tokens = normal(12, 16, seed=1), normal(50, 16, seed=2)
    mask = np.ones((4, 12), int)
    mask[0, :5] = mask[1, :2] = 0
    ids = np.random.RandomState(0).randint(1, 50, (4, 12)) * mask
    counted = np.maximum(mask.cumsum(1) - 1, 0)
    run = lambda positions: {  # noqa: E731
        "ids": ids,
        "mask": mask,
        "hidden": rounded(tokens[ids] + table[positions]),
    }
    plain = np.tile(np.arange(12), (4, 1))
    for a, b, says in (
        (counted, plain, "from the mask in A, from the first place in B"),
        (plain, counted, "from the first place in A, from the mask in B"),
    ):
        assert computes(compared, run(a), run(b)) == (3, "positions are counted " + says)


def test_a_norm_whose_input_was_not_recorded_shows_its_epsilon(compared):
    hidden = normal(8, 12, 32, seed=3) * (0.2 + np.abs(normal(8, 12, 1, seed=4)))
    a, b = (recording(X, layer_norm(hidden, e), seed=n) for n, e in enumerate((1e-5, 1e-2)))
    code, says = computes(compared, a, b)
    assert code == 3 and says.endswith("another epsilon in a LayerNorm: B's is larger")


def gru(x, wx, wh, order):
    h, states = np.zeros((len(x), wh.shape[1])), []
    for step in range(x.shape[1]):
        a, b = x[:, step].dot(wx.T), h.dot(wh.T)
        a, b = ({k: y[:, 8 * n : 8 * n + 8] for n, k in enumerate(order)} for y in (a, b))
        r, z = (1 / (1 + np.exp(-a[k] - b[k])) for k in "rz")
        h = (1 - z) * np.tanh(a["n"] + r * b["n"]) + z * h
        states.append(h)
    return np.stack(states, 1)


def test_gates_in_another_order_are_named(compared):
    x, wx, wh = normal(4, 6, 5), normal(24, 5, seed=1), normal(24, 8, seed=2)
    a = {"x": x, "weight_ih": wx, "weight_hh": wh, "gru": gru(x, wx, wh, "rzn").astype("f")}
    b = dict(a, gru=gru(x, wx, wh, "zrn").astype("f"))
    code, says = computes(compared, a, b)
    assert code == 3 and "order r z n in A" in says and "order z r n in B" in says


def batch_norm_step(x, momentum, unbiased):
    flat = x.transpose(1, 0, 2, 3).reshape(x.shape[1], -1).astype(np.float64)
    variance = flat.var(1, ddof=int(unbiased))
    share = 1 - momentum
    return {
        "x": x,
        "running_mean after 1": share * flat.mean(1),
        "running_var after 1": momentum + share * variance,
    }


def test_a_momentum_is_a_mistake_and_a_divisor_of_the_variance_is_a_convention(compared):
    x = 2 * normal(4, 6, 8, 8) + normal(1, 6, 1, 1, seed=2)
    a, b = batch_norm_step(x, 0.9, True), batch_norm_step(x, 0.1, True)
    code, says = computes(compared, a, b)
    assert code == 3 and says.endswith("0.1 in A, 0.9 in B")
    code, _, printed = compared(a, batch_norm_step(x, 0.9, False))
    assert code == 0 and "convention" in printed and "unbiased variance in A" in printed


def stepped(rule, start=True):
    """A recording of one step of an optimiser."""
    arrays = {"x": normal(8, 16)}
    for n, shape in enumerate([(16, 12), (12,), (12, 5)]):
        w, g = normal(*shape, seed=n).astype(np.float64), 0.1 * normal(*shape, seed=n + 9)
        name = "layer%d.weight" % n
        arrays["grad " + name] = g
        if start:
            arrays["step0 " + name] = w.astype("f")
        arrays["step1 " + name] = rule(w, g.astype(np.float64)).astype("f")
    return arrays


RULES = {
    "SGD, rate 0.1, no decay": lambda w, g: w - 0.1 * g,
    "SGD, rate 0.1, decay 0.01 times the rate": lambda w, g: w - 0.1 * (g + 0.01 * w),
    "Adam, rate 0.001, epsilon 1e-08, no decay": lambda w, g: w - 1e-3 * g / (np.abs(g) + 1e-8),
    "Adam, rate 0.001, epsilon 1e-08, decay 0.1 times the rate": lambda w, g: (
        w * (1 - 1e-4) - 1e-3 * g / (np.abs(g) + 1e-8)
    ),
    "Adam, rate 0.001, epsilon 1e-08, decay 0.1, not times the rate": lambda w, g: (
        w * (1 - 0.1) - 1e-3 * g / (np.abs(g) + 1e-8)
    ),
    "Adam with 0.1 w added to the gradient, rate 0.001, epsilon 1e-08, no decay": lambda w, g: (
        w - 1e-3 * (g + 0.1 * w) / (np.abs(g + 0.1 * w) + 1e-8)
    ),
    "SGD with Nesterov momentum 0.9, rate 0.1, no decay": lambda w, g: w - 0.19 * g,
    "Adam without bias correction, rate 0.001, epsilon 1e-08, no decay": lambda w, g: (
        w - 1e-3 * 0.1 * g / (math.sqrt(0.001) * np.abs(g) + 1e-8)
    ),
}


@pytest.mark.parametrize("ours, theirs", list(all_pairs(sorted(RULES))))
def test_an_optimiser_is_named(compared, ours, theirs):
    code, difference, _ = compared(stepped(RULES[ours]), stepped(RULES[theirs]))
    if ours == theirs:
        assert code == 0
    else:
        assert code == 3 and difference["a"] == "step1 layer0.weight"
        assert difference["computes"] == "the optimiser: %s in A; %s in B" % (ours, theirs)


def test_an_optimiser_is_named_from_the_weights_after_a_step_alone(compared):
    names = ("Adam, rate 0.001, ", "Adam without bias correction, rate 0.001, ")
    rules = [RULES[name + "epsilon 1e-08, no decay"] for name in names]
    code, says = computes(compared, *(stepped(rule, False) for rule in rules))
    assert code == 3
    assert "Adam in A, Adam without bias correction in B, both with rate 0.001" in says


def test_a_decay_is_named_from_the_weights_after_a_step_of_a_large_rate(compared):
    rules = (lambda w, g: w - 10 * g), (lambda w, g: w - 10 * (g + 0.01 * w))
    code, says = computes(compared, *(stepped(rule, False) for rule in rules))
    assert code == 3 and says.endswith("none in A, 0.01 times the rate in B")


def test_what_one_side_alone_recorded_before_a_difference_is_said(compared):
    def run(name, seed):
        h = X.dot(normal(32, 64, seed=1) / 4)
        return recording(X, h, SHAPES[name](h), SHAPES[name](h).dot(normal(64, 32, seed=seed)))

    b = run("GELU (by erf)", 3)
    del b["layer2"]
    code, _, printed = compared(run("GELU (by tanh)", 2), b)
    assert code == 3 and "before it, only A recorded layer2: GELU (by tanh)" in printed


@pytest.mark.parametrize("ours, theirs", [((0.25, 0), (1.0, 0)), ((0.25, 0), (0.25, 1))])
def test_scale_and_mask_are_named_behind_another_mistake(compared, ours, theirs):
    def run(scale, offset, q):
        k = normal(3, 2, 8, 16, seed=1)
        p = np.einsum("nhik,nhjk->nhij", q, k) * scale
        seen = np.tril(np.ones((8, 8), bool), offset)
        return recording(q, k, softmax(np.where(seen, p, -1e9), -1))

    q = normal(3, 2, 8, 16)
    a, b = run(*ours, SHAPES["SiLU"](q)), run(*theirs, SHAPES["tanh"](q))
    code, difference, printed = compared(dict(x=q, **a), dict(x=q, **b))
    assert code == 3 and difference["computes"] == "SiLU in A, tanh in B"
    says = "also different: layer2 in A, layer2 in B: scores of attention of 2 heads "
    says += "where a token sees itself and all before it, scale 0.25 in A, "
    more = "1 in B" if theirs[0] == 1 else "1 after it, too, scale 0.25 in B"
    assert says + more in printed


def test_words_of_a_decay():
    assert fit.decay_words(1e-5, 1e-3) == "0.01 times the rate"
    assert fit.decay_words(0.1, 1e-3) == "0.1, not times the rate"
    assert fit.decay_words(0.0123456, 1e-3) == "0.01235"


def test_unrelated_layers_compute_nothing_known():
    shapes = [(8, 12, 32), (8, 12, 32), (8, 4, 9, 9), (8, 4, 9, 9), (8, 10), (8, 4, 3, 3), (8, 20)]
    for seed in range(3):
        arrays = [Array(str(n), normal(*s, seed=seed * 10 + n)) for n, s in enumerate(shapes)]
        weights = [Array("w", normal(10, 20, seed=5)), Array("v", normal(36, 10, seed=6))]
        for place in range(len(arrays)):
            assert search.fit(Layer(arrays, place, weights)) is None


def test_a_number_for_each_token_is_no_input_of_a_recurrent_layer():
    arrays = [Array("mask", normal(4, 6)), Array("states", normal(4, 6, 8, seed=1))]
    weights = [Array("w", normal(24, 8, seed=2)), Array("v", normal(24, 8, seed=3))]
    assert search.fit(Layer(arrays, 1, weights)) is None


def test_every_anchor_is_on_the_page():
    with open(docs.PAGE) as file:
        heads = [line.lstrip("#").strip().lower() for line in file if line.startswith("#")]
    anchors = {re.sub(r"[^a-z0-9 -]", "", head).replace(" ", "-") for head in heads}
    used = {value for name, value in vars(docs).items() if name.isupper() and name != "PAGE"}
    assert used <= anchors


def test_a_vector_that_is_added_before_a_norm_is_named_without_it(compared):
    hidden, types = normal(8, 12, 32, seed=3), normal(2, 32, seed=4) / 2
    run = lambda n: recording(X, layer_norm(hidden + types[n], 1e-5), seed=n)  # noqa: E731
    code, says = computes(compared, run(0), run(1))
    assert code == 3 and says.startswith("the same vector is added to all rows before a norm")
    other = recording(X, layer_norm(hidden + normal(8, 12, 32, seed=6) / 2, 1e-5), seed=2)
    assert computes(compared, run(0), other) == (3, None)


MLP = [normal(32, 128, seed=1) / 3, normal(128, 32, seed=2) / 8, normal(128, 32, seed=3) / 8]


@pytest.mark.parametrize("ours, theirs", [("GELU (by erf)", "GELU (by tanh)"), ("SiLU", "ReLU")])
def test_an_activation_between_dense_layers_is_named_where_it_was_not_recorded(
    compared, ours, theirs
):
    h = X.dot(MLP[0])
    run = lambda name, w=MLP[1]: recording(X, h, SHAPES[name](h).dot(w), seed=3)  # noqa: E731
    for names in ((ours, theirs), (theirs, ours)):
        code, says = computes(compared, *map(run, names))
        a, b = says.split("change as with ")[1].split(" in A, ")
        assert code == 3 and names[0] in a and names[1] in b  # perhaps ReLU6 as well
    assert computes(compared, run(ours), run(ours, MLP[2])) == (3, None)


def test_a_rotary_embedding_that_was_not_recorded_is_named(compared):
    x = normal(4, 16, 32)
    q, k, v = (x.dot(normal(32, 32, seed=n) / 5) for n in (1, 2, 3))
    last = normal(32, 32, seed=4) / 5

    def turned(y, by):
        heads = y.reshape(4, 16, 2, 16).transpose(0, 2, 1, 3).reshape(8, 16, 16)
        return rotary(heads, by).reshape(4, 2, 16, 16).transpose(0, 2, 1, 3).reshape(4, 16, 32)

    def run(by, heads=2, w=last):
        made = context(turned(2 * q, by), turned(2 * k, by), v, heads, 0)
        return recording(x, q, k, v, made.dot(w))

    code, says = computes(compared, run("halves"), run("pairs"))
    assert code == 3 and says.endswith(
        "rotary by halves, base 10000 in A, rotary by pairs, base 10000 in B"
    )
    assert compared(run("pairs"), run("pairs"))[0] == 0
    assert computes(compared, run("pairs"), run("pairs", w=normal(32, 32, seed=8) / 5)) == (3, None)


def test_a_factor_rounded_to_bfloat16_is_named(compared):
    unit = layer_norm(X, 1e-6, mean=False, shift=0) / (1 + normal(32, seed=5) / 4)
    w = 1 + normal(32, seed=9) / 10
    twice = bfloat16(1 + bfloat16(w - 1))
    code, says = computes(compared, recording(X, unit * w), recording(X, unit * twice, seed=3))
    assert code == 3 and says.endswith("with its factor rounded to bfloat16 in B")


def test_other_scores_under_the_same_mask_are_said_to_come_from_queries_or_keys(compared):
    p = attention(0.25)
    q = np.einsum("nhik,nhjk->nhij", normal(3, 2, 8, 16, seed=7), normal(3, 2, 8, 16, seed=8)) / 4
    b = dict(p, layer2=softmax(np.where(np.tril(np.ones((8, 8), bool)), q, -1e9), -1).astype("f"))
    code, says = computes(compared, p, b)
    assert code == 3 and says.startswith("the same mask, but other scores: other queries or keys")


def test_a_running_variance_by_n_less_1_is_a_convention_after_training(compared):
    x = 2 * normal(8, 6, 10, 10) * (0.5 + np.abs(normal(1, 6, 1, 1, seed=2)))
    w, last = normal(1, 6, 1, 1, seed=3), normal(6, 5, seed=4)

    def run(divided, epsilon=1e-5):
        variance = 0.7 + 0.3 * x.astype(np.float64).var((0, 2, 3), ddof=divided)
        y = w * x / np.sqrt(variance + epsilon)[:, None, None]
        return recording(x, y, np.maximum(y, 0).mean((2, 3)).dot(last), seed=divided)

    code, _, printed = compared(run(0), run(1))
    assert code == 0 and "divided by n or by n - 1" in printed
    assert "1 later arrays may differ for the same reason" in printed
    code, says = computes(compared, run(0), run(0, 1e-3))
    assert code == 3 and "epsilon or running variance is larger" in says


@pytest.mark.parametrize("kept", [0.9, 0.1], ids=["after_a_step", "after_training"])
def test_the_divisor_of_a_running_variance_is_told_from_an_epsilon(compared, kept):
    """Its effect goes with the variance of the channel; an epsilon's does not."""
    x = normal(8, 12, 6, 6) * np.exp(normal(1, 12, 1, 1, seed=2) / 2)
    w = 1 + normal(1, 12, 1, 1, seed=3) / 10

    def run(divided, epsilon=1e-5):
        of_batch = x.astype(np.float64).var((0, 2, 3), ddof=divided)
        variance = kept + (1 - kept) * of_batch
        return recording(x, w * x / np.sqrt(variance + epsilon)[:, None, None], seed=divided)

    code, _, printed = compared(run(0), run(1))
    assert code == 0 and "divided by n or by n - 1" in printed
    code, says = computes(compared, run(0), run(0, 3e-4))
    assert code == 3 and "convention" not in says


@pytest.mark.parametrize("alike", [True, False], ids=["channels_alike", "perturbed_statistics"])
def test_an_epsilon_is_no_convention_where_the_variances_do_not_tell(compared, alike):
    x = normal(8, 12, 6, 6) * (1 if alike else np.exp(normal(1, 12, 1, 1, seed=2) / 2))
    variance = 1 + np.abs(normal(12, seed=3)) / (100 if alike else 2)

    def run(epsilon):
        return recording(x, x / np.sqrt(variance + epsilon)[:, None, None])

    code, _, printed = compared(run(1e-5), run(3e-4))
    assert code == 3 and "a convention" not in printed


def walked(rule):
    """A recording of three steps. rule(gradients so far, weights so far): the update."""
    arrays = {"x": normal(8, 16)}
    shapes = OrderedDict([("a.weight", (16, 12)), ("a.bias", (12,)), ("b.weight", (12, 5))])
    weights = {
        name: [normal(*shape, seed=n).astype(np.float64)]
        for n, (name, shape) in enumerate(shapes.items())
    }
    gradients = {name: [] for name in shapes}
    arrays.update(("step0 " + name, w[0].astype("f")) for name, w in weights.items())
    for step in range(1, 4):
        for n, (name, shape) in enumerate(shapes.items()):
            g = normal(*shape, seed=10 * step + n) / (n + 1)
            gradients[name].append(g.astype(np.float64))
            arrays["grad%d %s" % (step, name)] = g
        for name, update in rule(gradients, weights).items():
            weights[name].append(weights[name][-1] + update)
            arrays["step%d %s" % (step, name)] = weights[name][-1].astype("f")
    return arrays


def stepping(words, rate=0.01, clip="", decay=0.0, decayed=lambda name: True):
    """A ``rule`` for ``walked``, by its words in the list of optimisers."""
    directions = next(rule.walk for rule in walk._rules() if rule.words == words)

    def rule(gradients, weights):
        tensors = [walk.whole(steps.Walk(name, g, weights[name])) for name, g in gradients.items()]
        clips = {c.words: c.apply for c in walk._clips(tensors)}
        made = {tensor.name: clips.get(clip, clips[""])(tensor) for tensor in tensors}
        at = rate if np.isscalar(rate) else rate[len(made["a.bias"]) - 1]
        return {
            name: -at * (list(directions(g))[-1] + decay * decayed(name) * weights[name][-1])
            for name, g in made.items()
        }

    return rule


WALKS = [
    (dict(words="SGD, momentum 0.9"), dict(words="SGD, Nesterov momentum 0.9")),
    (dict(words="SGD, momentum 0.9"), dict(words="SGD, momentum 0.9, dampening 0.9")),
    (dict(words="SGD, momentum 0.9"), dict(words="SGD, momentum 0.99")),
    (
        dict(words="Adam, betas 0.9 and 0.999, epsilon 1e-08"),
        dict(words="Adam, betas 0.9 and 0.99, epsilon 1e-08"),
    ),
    (
        dict(words="Adam, betas 0.9 and 0.999, epsilon 1e-08"),
        dict(words="Adamax, betas 0.9 and 0.999"),
    ),
    (
        dict(words="Adam, betas 0.9 and 0.999, epsilon 1e-08"),
        dict(words="NAdam, betas 0.9 and 0.999, epsilon 1e-08"),
    ),
    (dict(words="Lion, betas 0.9 and 0.99"), dict(words="Lion, betas 0.9 and 0.999")),
    (
        dict(words="RMSprop, decay 0.99, epsilon 1e-08"),
        dict(words="RMSprop, decay 0.9, epsilon 1e-08", rate=0.01 / 10**0.5),
    ),
    (
        dict(words="Adagrad, its sums beginning at 0"),
        dict(words="Adagrad, its sums beginning at 0.1"),
    ),
    (dict(words="SGD"), dict(words="SGD", clip="gradients clipped to a global norm of 1")),
    (
        dict(words="SGD", clip="each tensor's gradient clipped to a norm of 1"),
        dict(words="SGD", clip="gradients clipped to a global norm of 1"),
    ),
    (dict(words="SGD"), dict(words="SGD", clip="gradients clipped to 0.5 by value")),
    (dict(words="SGD", rate=(0.1, 0.1, 0.1)), dict(words="SGD", rate=(0.1, 0.05, 0.025))),
    (
        dict(words="SGD, momentum 0.9", decay=0.1),
        dict(words="SGD, momentum 0.9", decay=0.1, decayed=lambda name: "bias" not in name),
    ),
]


@pytest.mark.parametrize("ours, theirs", WALKS)
def test_an_optimiser_is_named_from_several_steps(compared, ours, theirs):
    a, b = (walked(stepping(**side)) for side in (ours, theirs))
    code, says = computes(compared, a, b)
    assert code == 3 and says.startswith("the optimiser: ")
    if ours["words"] != theirs["words"]:
        assert ours["words"] in says.split(" in A; ")[0]
        assert theirs["words"] in says.split(" in A; ")[1]
    for side, text in zip((ours, theirs), says.split(" in A; ")):
        assert side.get("clip", "") in text
    if "decayed" in theirs:
        assert "not of a.bias in B" in says
    if not np.isscalar(theirs.get("rate", 0.01)):
        assert "rate 0.1 in A" in says.replace(", no decay", "")
        assert "0.1, then 0.05, then 0.025" in says
    assert compared(a, walked(stepping(**ours)))[0] == 0


def test_random_updates_are_no_optimisers():
    random = np.random.RandomState(5)
    arrays = walked(
        lambda g, w: {name: random.standard_normal(x[0].shape) / 99 for name, x in w.items()}
    )
    tensors = steps.walks([Array(name, values) for name, values in arrays.items()])
    assert len(tensors) == 3 and walk.side(tensors) is None


def test_another_weight_of_the_same_input_is_said(compared):
    h = X.dot(MLP[0])
    weights = [normal(128, 200, seed=n) for n in (5, 6)]
    a, b = (recording(X, h, h.dot(w), seed=n) for n, w in enumerate(weights))
    code, says = computes(compared, a, b)
    assert code == 3 and says.startswith("a dense layer of layer1 in both, with another weight")
    few = X[:, :6, :32].reshape(48, 32) + 1  # the logarithm of a sigmoid and a square would do
    a, b = (recording(few, few.dot(w[:32])) for w in weights)
    assert computes(compared, a, b)[1].startswith("a dense layer of layer0 in both")


@pytest.mark.parametrize("last", [False, True])
def test_a_stride_in_another_layer_is_found_at_its_own_place(compared, last):
    relu = lambda x: np.maximum(x, 0)  # noqa: E731
    w = [normal(3, 6, seed=1), normal(6, 6, seed=2) / 3]
    mix = lambda x, w: np.einsum("nchw,cd->ndhw", x, w)  # noqa: E731
    one = relu(mix(IMAGES[:, :, ::2, ::2], w[0]))
    other = relu(mix(IMAGES, w[0]))
    smooth = lambda x: x + np.roll(x, 1, 3)  # noqa: E731
    a = recording(IMAGES, one, mix(smooth(one), w[1]))
    b = recording(IMAGES, other, mix(smooth(other)[:, :, ::2, ::2], w[1]))
    move = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    code, difference, _ = compared(a, {n + "x": x.transpose(move) for n, x in b.items()})
    assert code == 3 and (difference["a"], difference["b"]) == ("layer1", "layer1x")
    assert "A is B with a step of 2" in difference["relation"]


def test_a_stride_in_another_layer_of_a_branch_is_found_past_a_shortcut_that_agrees(compared):
    mix = lambda x, w: np.einsum("nchw,cd->ndhw", x, w)  # noqa: E731
    w = [normal(3, 6, seed=1), normal(6, 6, seed=2) / 3, normal(3, 6, seed=3)]
    smooth = lambda x: x + np.roll(x, 1, 3)  # noqa: E731
    one, other = np.tanh(mix(IMAGES[:, :, ::2, ::2], w[0])), np.tanh(mix(IMAGES, w[0]))
    ends = [mix(smooth(one), w[1]), mix(smooth(other)[:, :, ::2, ::2], w[1])]
    cut = mix(IMAGES[:, :, ::2, ::2], w[2])
    a = recording(IMAGES, one, ends[0], cut, cut + ends[0])
    b = recording(IMAGES, other, ends[1], cut, cut + ends[1], seed=4)
    code, difference, _ = compared(a, {n + "x": x for n, x in b.items()})
    assert code == 3 and (difference["a"], difference["b"]) == ("layer1", "layer1x")
    assert "only a stride differs" in difference["relation"]


@pytest.mark.parametrize("change", [lambda x: 2 * x - 1, lambda x: x / 255])
def test_where_a_relation_holds_nothing_else_is_said(compared, change):
    a, b = recording(normal(8, 12, 32, seed=9), X), recording(normal(8, 12, 32, seed=9), change(X))
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["relation_holds"] and difference["computes"] is None


def test_channels_that_one_side_standardises_are_no_batch_norm(compared):
    scale = np.array([4.4, 4.5, 4.3], "f").reshape(1, 3, 1, 1)
    code, difference, _ = compared(recording(IMAGES, IMAGES), recording(IMAGES, scale * IMAGES - 2))
    assert code == 3 and difference["relation_holds"] and difference["computes"] is None


def test_rows_with_their_own_factor_and_shift_have_no_vector_added(compared):
    y = normal(8, 12, 32, seed=3)
    factor, shift = 1 + normal(8, 12, 1, seed=4) / 4, normal(8, 12, 1, seed=5)
    a, b = recording(X, y), recording(X, y * factor + shift, seed=2)
    assert computes(compared, a, b) == (3, None)


@pytest.mark.parametrize("function", [lambda x: SHAPES["SiLU"](1.5 * x), lambda x: np.sin(2 * x)])
def test_a_function_of_each_value_is_not_said_to_be_an_activation_before_a_dense_layer(
    compared, function
):
    a, b = recording(2 * X, SHAPES["SiLU"](2 * X)), recording(2 * X, function(2 * X), seed=2)
    code, says = computes(compared, a, b)
    assert code == 3 and "not recorded" not in (says or "")


def test_a_norm_before_a_sum_is_not_said_to_be_an_activation(compared):
    up = X.dot(MLP[0])
    h, y = normal(8, 12, 32, seed=7), X.dot(normal(32, 32, seed=8) / 5)
    for made, right in ((layer_norm(h + y, 1e-5), True), (h + layer_norm(y, 1e-5), False)):
        a = recording(X, h, up, y, layer_norm(h + y, 1e-5))
        code, says = computes(compared, a, recording(X, h, up, y, made, seed=2))
        assert code == (0 if right else 3) and "not recorded" not in (says or "")


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("kernel", [1, 3])
def test_a_convolution_with_inputs_and_outputs_swapped_is_named(compared, last, kernel):
    x, weight = normal(4, 6, 16, 16), normal(6, kernel, kernel, 6, seed=1)
    options = dict(kind="convolution", kernel=kernel, stride=1, padding=kernel // 2, shape=(16, 16))
    move = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    run = lambda w: [y.transpose(move) for y in (x, convolved(x, w, **options))]  # noqa: E731
    a = recording(x, convolved(x, weight, **options))
    b = recording(*run(weight.transpose(3, 1, 2, 0)), seed=2)
    code, says = computes(compared, a, b)
    assert code == 3 and says.endswith("B's kernel is A's, with inputs and outputs swapped")
    assert compared(a, recording(*run(weight), seed=2))[0] == 0


def clipped_step(size, limit, added, seed=0):
    """A recording of gradients of this global norm, clipped, and the weights before and after."""
    shapes = OrderedDict([("up", (32, 16)), ("down", (16, 32)), ("bias", (32,))])
    drawn = {name: normal(*shape, seed=n) for n, (name, shape) in enumerate(shapes.items())}
    norm = math.sqrt(sum((g.astype("d") ** 2).sum() for g in drawn.values()))
    gradients = {name: (g * (size / norm)).astype("f") for name, g in drawn.items()}
    factor = np.float32(min(1.0, limit / (size + added)))
    arrays = OrderedDict(x=normal(8, 4))
    for name, g in gradients.items():
        arrays["step0 " + name] = normal(*g.shape, seed=9)
    for name, g in gradients.items():
        arrays["grad1 " + name] = rounded(g * factor, seed)
        arrays["step1 " + name] = arrays["step0 " + name] - 0.1 * arrays["grad1 " + name]
    return arrays


SAYS = "gradients clipped to a global norm of %g, which are divided by the norm plus 1e-06 in %s"


@pytest.mark.parametrize("sides", ["AB", "BA"])
@pytest.mark.parametrize("size, limit", [(1e-5, 1e-6), (2e-3, 1e-3)])
def test_a_number_that_is_added_to_the_norm_of_a_clipping_is_named(compared, size, limit, sides):
    pair = clipped_step(size, limit, 1e-6), clipped_step(size, limit, 0, seed=3)
    code, difference, _ = compared(*(pair if sides == "AB" else pair[::-1]))
    assert code == 3 and difference["computes"].startswith(SAYS % (limit, sides[0]))
    assert difference["docs"] == docs.OPTIMISER


def test_a_number_that_is_added_to_a_norm_near_1_is_a_hint(compared):
    a, b = clipped_step(1.5, 1, 1e-6), clipped_step(1.5, 1, 0, seed=3)
    code, _, printed = compared(a, b)
    assert code == 0 and SAYS % (1, "A") in printed
    for pair in ((a, clipped_step(1.5, 1, 1e-6, seed=3)), (b, clipped_step(1.5, 1, 0, seed=4))):
        code, _, printed = compared(*pair)
        assert code == 0 and "clipped" not in printed
    code, _, printed = compared(clipped_step(1.5, 2, 1e-6), clipped_step(1.5, 2, 0, seed=3))
    assert code == 0 and "clipped" not in printed  # no step clips


@pytest.mark.parametrize("steps_recorded", [1, 2])
@pytest.mark.slow
def test_a_tensor_that_decays_on_one_side_is_named_though_the_list_is_long(
    compared, steps_recorded
):
    names = ["bias%d" % n for n in range(6)] + ["table", "up", "down"]

    def run(decaying, seed):
        arrays = {"x": normal(8, 4)}
        weights = {name: normal(16, 8, seed=n) for n, name in enumerate(names)}
        arrays.update(("step0 " + name, w) for name, w in weights.items())
        for step in range(1, steps_recorded + 1):
            for n, name in enumerate(names):
                g = normal(16, 8, seed=20 * step + n)
                decay = 0.1 if name in decaying else 0.0
                weights[name] = (weights[name] * (1 - 0.01 * decay) - 0.01 * g).astype("f")
                arrays["grad%d %s" % (step, name)] = rounded(g, seed)
                arrays["step%d %s" % (step, name)] = weights[name]
        return arrays

    a, b = run(["up", "down"], 0), run(["table", "up", "down"], 1)
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["computes"] == "the optimiser: decay of table in B alone"
    assert compared(b, a)[1]["computes"] == "the optimiser: decay of table in A alone"


CURVES = [
    ("ELU", "ELU, alpha 0.5", lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0)))),
    ("SiLU", "x sigmoid(c x), c 1.5", lambda x: x / (1 + np.exp(-1.5 * x))),
    ("softplus", "softplus, beta 2", lambda x: np.logaddexp(0, 2 * x) / 2),
]


@pytest.mark.parametrize("ours, theirs, function", CURVES)
def test_an_activation_with_another_constant_is_named(compared, ours, theirs, function):
    x = 2 * X.astype(np.float64)
    a, b = recording(x, SHAPES[ours](x)), recording(x, function(x), seed=2)
    code, says = computes(compared, a, b)
    assert code == 3 and says.endswith("%s in B" % theirs)


def test_scores_that_are_capped_are_named(compared):
    y = 9 * normal(8, 12, 40, seed=1)
    a, b = recording(X, y), recording(X, 30 * np.tanh(y / 30), seed=2)
    for left, right, words in ((a, b, "B is A capped"), (b, a, "A is B capped")):
        code, difference, _ = compared(left, right)
        assert code == 3 and difference["relation"] == words + " by a tanh, 30 tanh(x / 30)"


REDUCTIONS = {
    "the mean of all places": lambda x: x.mean(1),
    "the first of all places": lambda x: x[:, 0],
    "the last of all places": lambda x: x[:, -1],
    "the largest of all places": lambda x: x.max(1),
}


@pytest.mark.parametrize("theirs", sorted(REDUCTIONS))
def test_a_reduction_is_named(compared, theirs):
    for ours in sorted(set(REDUCTIONS) - {theirs}):
        a, b = (recording(X, REDUCTIONS[name](X)) for name in (ours, theirs))
        code, says = computes(compared, a, b)
        assert code == 3 and says == "%s in A, %s in B" % (ours, theirs)


def test_a_mean_that_ignores_the_mask_is_named(compared):
    mask = np.ones((8, 12), int)
    mask[1, 5:] = mask[4, 9:] = 0
    kept = np.stack([x[m > 0].mean(0) for x, m in zip(X, mask)])
    a, b = (dict(ids=mask + 3, mask=mask, **recording(X, y)) for y in (kept, X.mean(1)))
    code, says = computes(compared, a, b)
    assert code == 3
    assert says == "the mean of the places that the mask keeps in A, the mean of all places in B"


def test_a_layer_of_another_input_is_named(compared):
    one, other = normal(8, 12, 32, seed=1), normal(8, 12, 32, seed=2)
    a, b = (recording(X, one, other, SHAPES["SiLU"](x)) for x in (one, other))
    code, says = computes(compared, a, b)
    assert code == 3
    assert says == "SiLU; computed from layer1, in A; SiLU; computed from layer2, in B"


def test_a_sum_whose_branch_is_left_out_is_named(compared):
    y = normal(8, 12, 32, seed=1)
    a, b = recording(X, y, np.maximum(X + y, 0)), recording(X, y, np.maximum(y, 0), seed=3)
    code, says = computes(compared, a, b)
    assert code == 3 and says.startswith("the ReLU of the sum of 2 arrays; computed from ")
    assert says.endswith("ReLU; computed from layer1, in B")


def test_a_norm_before_a_sum_and_a_norm_that_is_missing_are_named(compared):
    h, y = normal(8, 12, 32, seed=7), normal(8, 12, 32, seed=8)
    a, b = (recording(h, y, z) for z in (layer_norm(h + y, 1e-5), h + layer_norm(y, 1e-5)))
    code, says = computes(compared, a, b)
    assert code == 3 and says.endswith("and another array added in B")
    a, b = recording(X, layer_norm(h, 1e-5)), recording(X, h, seed=2)
    assert computes(compared, a, b) == (3, "A is B after a norm: LayerNorm, epsilon 1e-05")


def test_groups_of_a_norm_and_channels_first_are_named(compared):
    x = 2 * normal(4, 12, 6, 6) + normal(4, 12, 1, 1, seed=2)

    def grouped(groups):
        rows = x.reshape(4, groups, -1).astype(np.float64)
        rows = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
        return rows.reshape(x.shape)

    code, says = computes(compared, recording(x, grouped(4)), recording(x, grouped(6), seed=2))
    assert code == 3 and says.startswith("GroupNorm of 4 groups, epsilon 1e-05 in A, 6 groups")
    places = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    code, says = computes(compared, recording(x, grouped(1)), recording(x, places, seed=2))
    assert code == 3 and says.startswith("GroupNorm of 1 group, over all places")
    assert "LayerNorm, epsilon 1e-05" in says


FORMS = [
    (dict(groups=1), dict(groups=6), "6 groups, top and left padding 1 in B"),
    (dict(groups=1), dict(groups=2), "2 groups, top and left padding 1 in B"),
    (
        dict(dilation=1, padding=1),
        dict(dilation=2, padding=2),
        "dilation 2, top and left padding 2",
    ),
]


@pytest.mark.parametrize("ours, theirs, words", FORMS)
def test_groups_and_dilation_of_a_convolution_are_named(compared, ours, theirs, words):
    x, weight = normal(4, 6, 16, 16), normal(6, 3, 3, 6, seed=1)

    def made(groups=1, **constants):
        kept = weight.copy()
        for channel in range(6):
            kept[np.arange(6) // (6 // groups) != channel // (6 // groups), :, :, channel] = 0
        options = dict(kind="convolution", kernel=3, stride=1, padding=1, shape=(16, 16))
        return convolved(x, kept, **dict(options, **constants))

    a, b = recording(x, made(**ours)), recording(x, made(**theirs), seed=2)
    code, says = computes(compared, a, b)
    assert code == 3 and words in says
    assert compared(b, recording(x, made(**theirs), seed=5))[0] == 0


UNRECORDED = [  # (between the images and the convolution in A, otherwise in B, what it says)
    (dict(after="ReLU"), dict(low=0), "ReLU, 3 x 3, stride 1, top and left padding 1 in A, 0 in B"),
    (dict(after="ReLU"), dict(after="hard swish"), "after ReLU, .* in A, .* after hard swish, "),
    (
        dict(after="SiLU"),
        dict(after="GELU (by erf)"),
        "after SiLU, .* in A, .* after GELU .by erf., ",
    ),
    (dict(after="ReLU"), dict(after="leaky ReLU of slope 0.01"), "ReLU of slope 0.01, 3 x 3"),
    (dict(pool="max"), dict(low=0), "after a 2 x 2 max pool, .* padding 1 in A, 0 in B"),
    (
        dict(after="ReLU", pool="max"),
        dict(pool="mean"),
        "after ReLU and a 2 x 2 max pool, .* in A, .* after ReLU and a 2 x 2 mean pool, ",
    ),
    (dict(after="tanh", pool="mean"), dict(flip=-1), "tanh and .*kernel is A's, flipped along"),
]


@pytest.mark.parametrize("channels, layout", [(3, (0, 1, 2, 3)), (3, (0, 2, 3, 1)), (72, None)])
@pytest.mark.parametrize("between, change, words", UNRECORDED)
def test_a_convolution_after_what_was_not_recorded_is_named(
    compared, between, change, words, channels, layout
):
    x, weight = normal(8, channels, 16, 16), normal(channels, 3, 3, 6, seed=1)

    def made(seed, after="identity", pool=None, low=1, flip=1):
        h = convolution.BETWEEN.get(after, SHAPES["identity"])(x.astype(np.float64))
        if pool:
            h = convolution.POOLS[pool](h.reshape(8, channels, 8, 2, 8, 2), axis=(3, 5))
        height = h.shape[2] - 2 + 2 * low
        y = convolved(h, weight[:, ::flip, ::flip], padding=low, shape=(height, height), **ONE)
        found = recording(x, y, seed=seed)
        if layout is None:  # too wide to be fitted
            found["kernel"] = weight.transpose(3, 0, 1, 2)
        return found

    a, b = made(0, **between), made(2, **dict(between, **change))
    if layout:
        b = {name: array.transpose(layout) for name, array in b.items()}
    code, says = computes(compared, a, b)
    words = words if layout else words.replace("kernel is A's,", "kernel")
    assert code == 3 and re.search(words, says), says
    assert compared(a, made(5, **between))[0] == 0


WIDE = normal(4, 192, 8, 8)  # too wide for a kernel that is fitted
CHANGES = [  # (of both, of B, what it says of both)
    (dict(stride=2), dict(padding=0), "3 x 3, stride 2, top and left padding 1 in A, 0 in B"),
    ({}, dict(dilation=2, padding=2), "dilation 2, top and left padding 2 in B"),
    (dict(groups=2), dict(padding=0, shape=(6, 6)), "2 groups, top and left padding 1 in A, 0"),
    ({}, dict(way=(3, 2)), ", the kernel with height and width swapped in B"),
    (dict(groups=2), dict(flip=-1), ", the kernel flipped along height and width in B"),
]


def wide(weight, x=WIDE, groups=1, flip=1, way=(2, 3), **constants):
    """A convolution with a weight of (outputs, inputs of a group, height, width)."""
    options = dict(kind="convolution", kernel=3, stride=1, padding=1)
    options.update(constants)
    options.setdefault("shape", (8 // options["stride"],) * 2)
    kernel = weight.transpose((0, 1) + way)[:, :, ::flip, ::flip]
    parts = zip(np.split(x, groups, 1), np.split(kernel.transpose(1, 2, 3, 0), groups, 3))
    return np.concatenate([convolved(*part, **options) for part in parts], 1)


@pytest.mark.parametrize("between", ["identity", "ReLU"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("both, change, words", CHANGES)
def test_a_wide_convolution_is_named_by_its_recorded_kernel(
    compared, both, change, words, last, between
):
    weight = normal(32, 192 // both.get("groups", 1), 3, 3, seed=1) / 40
    other, x = normal(*weight.shape, seed=2), SHAPES[between](WIDE.astype(np.float64))

    def recorded(seed, last=False, kernels=("other.weight", "layer1.weight"), **options):
        made = recording(WIDE, 0.3 + wide(weight, x, **dict(both, **options)), seed=seed)
        made.update(zip(kernels, (other, weight)))
        images, kernel = ((0, 2, 3, 1), (2, 3, 1, 0)) if last else ((0, 1, 2, 3),) * 2
        return {n: y.transpose(kernel if "weight" in n else images) for n, y in made.items()}

    a = recorded(0)
    code, says = computes(compared, a, recorded(2, last, **change))
    assert code == 3 and words in says and says.startswith("convolution")
    assert (between == "identity") == ("after" not in says)
    assert compared(a, recorded(5, last))[0] == 0
    unknown = dict(kernels=("other.weight",))
    assert not computes(compared, recorded(0, **unknown), recorded(2, last, **unknown, **change))[1]


def test_a_recorded_kernel_explains_no_convolution_with_another(compared):
    weights = [normal(32, 192, 3, 3, seed=seed) / 40 for seed in (1, 2)]
    a, b = (recording(WIDE, wide(w), seed=n) for n, w in enumerate(weights))
    code, says = computes(compared, dict(a, w=weights[0]), dict(b, w=weights[0]))
    assert code == 3 and says is None


def test_channels_of_another_order_are_named(compared):
    weight = normal(3, 3, 3, 8, seed=1)
    options = dict(kind="convolution", kernel=3, stride=2, padding=1, shape=(8, 8))
    a, b = (recording(IMAGES, convolved(IMAGES, w, **options)) for w in (weight, weight[::-1]))
    code, says = computes(compared, a, b)
    assert code == 3 and says.endswith("with its input channels in the order 2, 1, 0")


def test_weights_of_a_dense_layer_are_compared(compared):
    w = normal(32, 40, seed=1)
    adapter = normal(32, 2, seed=2).dot(normal(2, 40, seed=3)) / 9
    order = np.random.RandomState(4).permutation(32)
    for other, says in (
        (bfloat16(w), "with its weight rounded to bfloat16 in B"),
        (w + adapter, "with weights that differ by a matrix of rank 2, as of an adapter"),
        (w[order], "with B's inputs in the order %s, ..." % ", ".join(map(str, order[:8]))),
    ):
        a, b = recording(X, X.dot(w)), recording(X, X.dot(other), seed=2)
        assert computes(compared, a, b) == (3, "a dense layer of layer0 in both, " + says)
    b = recording(X, layer_norm(X, 1e-6, shift=0).dot(w), seed=2)
    says = "a dense layer of layer0 in A, a dense layer of the LayerNorm of layer0 in B"
    assert computes(compared, recording(X, X.dot(w)), b) == (3, says)


def test_heads_that_share_keys_and_turns_of_queries_are_named_from_probabilities(compared):
    q, k = normal(3, 4, 10, 8), normal(3, 2, 10, 8, seed=1)
    parts = [y.transpose(0, 2, 1, 3).reshape(3, 10, -1) for y in (q, k)]

    def run(tiled=False, by="halves", base=1e4, cap=None, width=10):
        turned = [rotary(y.reshape(-1, 10, 8), by, base).reshape(y.shape) for y in (q, k)]
        keys = np.tile(turned[1], (1, 2, 1, 1)) if tiled else np.repeat(turned[1], 2, 1)
        scores = np.matmul(turned[0], keys.transpose(0, 1, 3, 2)) * 8**-0.5
        scores = cap * np.tanh(scores / cap) if cap else scores
        place = np.arange(10) - np.arange(10)[:, None]
        seen = (place <= 0) & (place > -width)
        return recording(*(parts + [softmax(np.where(seen, scores, -1e30), -1)]))

    for change, words in (
        (dict(tiled=True), "heads tiled"),
        (dict(by="pairs"), "rotary by pairs"),
        (dict(base=5e5), "500000"),
        (dict(cap=5.0), "capped at 5"),
        (dict(width=4), "4 tokens, itself included"),
    ):
        code, says = computes(compared, run(), run(**change))
        assert code == 3 and says.startswith("scores of attention of 4 heads") and words in says
    assert compared(run(), run())[0] == 0


def test_changes_of_a_recurrent_cell_are_named(compared):
    x, wx, wh = normal(4, 6, 5), normal(24, 5, seed=1), normal(24, 8, seed=2)
    weights = {"x": x, "weight_ih": wx, "weight_hh": wh}
    back = gru(x[:, ::-1], wx, wh, "rzn")[:, ::-1]
    a, b = (dict(weights, gru=y.astype("f")) for y in (gru(x, wx, wh, "rzn"), back))
    code, says = computes(compared, a, b)
    assert code == 3 and says.endswith("from the last step to the first in B")


def test_values_that_moved_and_names_that_were_swapped_are_said(compared):
    table = normal(14, 32, seed=1)
    a, b = (dict(x=X, position=np.tile(table[n : n + 12], (8, 1, 1))) for n in (0, 2))
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["relation"] == "B is A, moved by -2 along axis 1"
    key, value, out = (normal(8, 12, 32, seed=n) for n in (2, 3, 4))
    a = dict(x=X, key=key, value=value, out=out)
    code, difference, _ = compared(a, dict(x=X, key=value, value=key, out=out + key))
    assert code == 3 and difference["a"] == "key"
    assert difference["relation"] == "value and key are swapped in B"
