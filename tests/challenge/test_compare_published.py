"""What ``compare`` names in recordings as published implementations leave them."""

import numpy as np
import pytest

from common.compare import names
from common.compare.functions import softmax
from common.compare.layers import convolution


def normal(*shape, seed=0):
    return np.random.RandomState(seed).standard_normal(shape)


def noisy(arrays, seed):
    """Float32, with rounding of its own."""
    random = np.random.RandomState(seed)
    made = {}
    for name, x in arrays.items():
        whole = (x == np.rint(x)).all() or name == "x"
        made[name] = np.asarray(x if whole else x * (1 + 1e-7 * random.standard_normal(x.shape)))
    return {name: x.astype("f") for name, x in made.items()}


def attention(scale=1.0, masked=True, biased=True):
    """Queries, keys, values and a dense layer of the context; neither it nor the weight."""
    x = normal(4, 12, 32)
    arrays = {"x": x, "mask": (np.arange(12) < np.array([12, 7, 9, 5])[:, None]) * 1.0}
    split = lambda t: t.reshape(4, 12, 4, 8).transpose(0, 2, 1, 3)  # noqa: E731
    q, k, v = (x.dot(normal(32, 32, seed=n) / 8) for n in (1, 2, 3))
    arrays.update(q=q, k=k, v=v, relative=normal(12, 12, 4, seed=4))
    scores = np.matmul(split(q), split(k).transpose(0, 1, 3, 2)) * scale
    scores = scores + biased * arrays["relative"].transpose(2, 0, 1)
    if masked:
        scores = np.where(arrays["mask"][:, None, None] > 0, scores, -1e9)
    context = np.matmul(softmax(scores, -1), split(v)).transpose(0, 2, 1, 3).reshape(x.shape)
    arrays["o"] = context.dot(normal(32, 32, seed=5) / 5)
    return arrays


@pytest.mark.parametrize(
    "change, says",
    [
        (dict(scale=8**-0.5), "scaled by 1 in A, the scores are scaled by 1 / root"),
        (dict(masked=False), "mask masks keys in A, all keys are seen in B"),
        (dict(biased=False), "a bias of relative positions in A, no bias in B"),
    ],
)
def test_an_attention_before_a_dense_layer_of_unknown_weight(compared, change, says):
    assert compared(noisy(attention(), 1), noisy(attention(), 2))[0] == 0
    code, difference, _ = compared(noisy(attention(), 1), noisy(attention(**change), 2))
    assert code == 3 and difference["a"] == "o" and says in difference["computes"]


def embedded(change=None):
    """Tokens, their vectors and a dense layer of these; neither the table nor the weight."""
    tokens, table = np.random.RandomState(1).randint(0, 30, (4, 16)), normal(30, 24)
    if change == "moved":
        table = np.roll(table, 1, 0)
    if change == "padding":
        table[tokens[0, 0]] = 0
    x = table[tokens]
    bias = normal(20, seed=3) * (change != "lost")
    return {"tokens": tokens, "embed": x, "dense": x.dot(normal(24, 20, seed=2) / 5) + bias}


@pytest.mark.parametrize(
    "change, place, says",
    [
        ("moved", "embed", "its rows are moved: B's token n has the vector of A's token n - 1"),
        ("padding", "embed", "an embedding: only the vectors of tokens 5 differ; B's are 0"),
        ("lost", "dense", "a bias: a number for each feature is added on one side only"),
    ],
)
def test_an_embedding_or_a_bias_of_unknown_weight(compared, change, place, says):
    right = noisy(embedded(), 1)
    assert compared(right, noisy(embedded(), 2))[0] == 0
    code, difference, _ = compared(
        dict(right, tokens=embedded()["tokens"]),
        dict(noisy(embedded(change), 2), tokens=embedded()["tokens"]),
    )
    assert code == 3 and difference["a"] == place and says in difference["computes"]


def norm(operations, centred):
    """A norm; its operations, if they are recorded."""
    x, gain = normal(4, 16, 32) + 0.3, 1 + normal(32, seed=1) / 8
    arrays = {"x": normal(4, 16, 32, seed=2), "h": x}
    if centred:
        x = x - x.mean(-1, keepdims=True)
    if operations:
        arrays["norm/sub"] = x
    root = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
    if operations:
        arrays.update({"norm/sqrt": root, "norm/div": x / root})
    arrays["norm/mul" if operations else "norm"] = x / root * gain
    return arrays


def test_the_operations_of_a_norm_do_not_hide_that_it_subtracts_the_mean(compared):
    code, difference, _ = compared(noisy(norm(False, False), 1), noisy(norm(True, True), 2))
    assert code == 3 and difference["a"] == "norm"
    assert "RMSNorm, epsilon 1e-06 in A, LayerNorm, epsilon 1e-06 in B" in difference["computes"]
    assert compared(noisy(norm(False, True), 1), noisy(norm(True, True), 2))[0] == 0


def gated(swapped=False):
    """Two blocks of a gated layer; the matrices of the first may be exchanged."""
    arrays = {"x": normal(4, 16, 24)}
    h = arrays["x"]
    for n in (0, 1):
        up, gate = (normal(24, 40, seed=10 * n + k) / 5 for k in (1, 2))
        up, gate = (gate, up) if swapped and not n else (up, gate)
        place = "block.%d.ff." % n
        arrays[place + "wi_0"] = h.dot(up)
        arrays[place + "act"] = np.tanh(arrays[place + "wi_0"])
        arrays[place + "wi_1"] = h.dot(gate)
        arrays[place + "mul"] = arrays[place + "act"] * arrays[place + "wi_1"]
        h = arrays[place + "wo"] = arrays[place + "mul"].dot(normal(40, 24, seed=3 + n) / 6)
    return arrays


def test_two_layers_that_are_exchanged(compared):
    code, difference, _ = compared(noisy(gated(), 1), noisy(gated(swapped=True), 2))
    assert code == 3 and difference["a"] == "block.0.ff.wi_0"
    assert "are swapped in B" in difference["relation"]


def images(side, epsilon=1e-5, stride=(2, 1), kernel=None, lost=False, shortcut=False):
    """Convolutions before norms; A's have biases, which B's norms take in.

    stride: of each. kernel: what is done to the second one's. lost: B's norms do not. shortcut:
    past the second convolution, to a sum that only A records.
    """
    x = normal(6, 4, 16, 16)
    arrays, called = (
        {"x": x},
        ("conv%d", "bn%d", "relu%d") if side == "A" else ("c%d", "n%d", "r%d"),
    )
    for n in range(1, len(stride) + 1):
        before = x
        weight, bias = normal(6, x.shape[1], 3, 3, seed=n) / 5, normal(6, seed=n + 2) / 5
        if n == 2 and kernel:
            weight = kernel(weight)
        constants = dict(kind="convolution", kernel=3, stride=stride[n - 1], padding=1)
        size = x.shape[2] // stride[n - 1]
        seen = convolution.patches(x, constants, (size, size))
        y = np.moveaxis(seen.dot(weight.reshape(6, -1).T), 3, 1)
        mean, variance = normal(6, seed=n + 4) / 5, 0.5 + normal(6, seed=n + 6) ** 2
        columns = lambda v: v[:, None, None]  # noqa: E731
        arrays[called[0] % n] = y = y + columns(bias) if side == "A" else y
        start = mean if side == "A" or lost else mean - bias
        x = (y - columns(start)) / np.sqrt(columns(variance) + epsilon)
        arrays[called[1] % n] = x
        if n == 2 and shortcut:
            x = x + before
            arrays.update({"add": x} if side == "A" else {})
        x = arrays[called[2] % n] = np.maximum(x, 0)
    return arrays


@pytest.mark.parametrize(
    "change, place, says",
    [
        (dict(epsilon=1e-3), "bn1", "epsilon"),
        (dict(stride=(1, 2)), "conv1", "so only a stride differs"),
        (dict(kernel=lambda w: w.swapaxes(2, 3)), "conv2", "with height and width swapped"),
        (dict(kernel=lambda w: w[..., ::-1, ::-1]), "conv2", "flipped along height and width"),
        (dict(lost=True), "conv1", "a bias: a number for each channel"),
    ],
)
def test_a_convolution_whose_bias_a_norm_takes_in(compared, change, place, says):
    assert compared(noisy(images("A"), 1), noisy(images("B"), 2))[0] == 0
    code, difference, _ = compared(noisy(images("A"), 1), noisy(images("B", **change), 2))
    said = "%s %s" % (difference["computes"], difference["relation"])
    assert code == 3 and difference["a"] == place and says in said


def test_a_sum_that_only_a_recorded_is_not_a_convolution_before_it(compared):
    a = noisy(images("A", stride=(2, 1, 2), shortcut=True), 1)
    b = [noisy(images("B", stride=(2, 1, n), shortcut=True), 2) for n in (1, 2)]
    code, difference, _ = compared(a, b[0])
    assert code == 3 and (difference["a"], difference["b"]) == ("conv3", "c3")
    assert compared(a, b[1])[0] == 0


def test_scopes_of_methods_are_no_part_of_a_module_and_flat_names_no_scopes():
    ours = ("block.0.attention.bias_table", "conv1")
    theirs = ("net/block/0/attention/attention._make/attention.bias/bias_table/take", "conv1_relu")
    assert names.scopes(ours, theirs) == {0: [0]}
