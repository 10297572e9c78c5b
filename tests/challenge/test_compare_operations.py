"""A recording of modules beside one of operations; steps whose tensors have other names and places.

So recorders of different frameworks give the same network.
"""

from collections import OrderedDict

import numpy as np
import pytest

from common.compare import layouts, names
from common.compare.functions import gelu, gelu_exact, softmax
from tests.challenge.conftest import normal

BATCH, TOKENS, WIDTH, HEADS = 4, 12, 32, 4


def split(x):
    return x.reshape(BATCH, TOKENS, HEADS, -1).transpose(0, 2, 1, 3)


def normalised(x, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)


class Encoder:
    """One block after the embeddings; A keeps what modules return, B what operations do."""

    def __init__(self, **other):
        self.options = dict(
            epsilon=1e-12, active=gelu_exact, masked=True, scale=0.35355338, start=0, swapped=False
        )
        self.options.update(other)

    def arrays(self):
        """[(name in A or None, name in B, values)]"""
        o, made = self.options, []
        mask = (np.arange(TOKENS) < np.array([12, 7, 9, 5])[:, None]).astype("f")
        word, kind = normal(BATCH, TOKENS, WIDTH), normal(BATCH, TOKENS, WIDTH, seed=1)
        table = normal(TOKENS + 2, WIDTH, seed=2)[o["start"] : o["start"] + TOKENS]

        def keep(a, b, values):
            made.append((a, b, np.asarray(values, "f")))
            return values

        keep("mask", "mask", mask)
        keep("embed.word", "m/embed/Gather", word)
        keep(None, "m/embed/Gather_1", table[None])
        keep("embed.kind", "m/embed/Gather_2", kind)
        keep("embed.place", None, table[None])
        h = keep(None, "m/embed/add", word + kind + table)
        keep(None, "m/embed/norm/mean", h.mean(-1, keepdims=True))
        h = keep("embed.norm", "m/embed/norm/add_1", normalised(h, o["epsilon"]))
        q, k, v = (h.dot(normal(WIDTH, WIDTH, seed=3 + n) / 5) for n in range(3))
        q, k = (k, q) if o["swapped"] else (q, k)
        keep("layer.0.self.query", "m/layer_._0/self/query/add", q)
        keep("layer.0.self.key", "m/layer_._0/self/key/add", k)
        keep("layer.0.self.value", "m/layer_._0/self/value/add", v)
        scores = np.matmul(split(q), split(k).transpose(0, 1, 3, 2)) * o["scale"]
        keep(None, "m/layer_._0/self/mul", scores)
        if o["masked"]:
            scores = np.where(mask[:, None, None] > 0, scores, -1e9)
        context = np.matmul(softmax(scores, -1), split(v)).transpose(0, 2, 1, 3)
        context = context.reshape(BATCH, TOKENS, WIDTH)
        keep("layer.0.self", "m/layer_._0/self/Reshape_3", context)
        h = h + context.dot(normal(WIDTH, WIDTH, seed=6) / 5)
        h = keep("layer.0.norm", "m/layer_._0/norm/add_1", normalised(h, o["epsilon"]))
        up = keep("layer.0.up.dense", "m/layer_._0/up/dense/add", h.dot(normal(32, 48, seed=7) / 5))
        keep(None, "m/layer_._0/up/act/mul", up * 0.5)
        up = o["active"](up.astype(np.float64))
        keep("layer.0.up.act", None, up)
        keep("layer.0.up", "m/layer_._0/up/act/mul_1", up)
        keep("layer.0.down", "m/layer_._0/down/add", up.dot(normal(48, WIDTH, seed=8) / 5))
        return made


def both(**other):
    """A as modules, the right one; B as operations, with another setting."""
    ours, theirs = Encoder().arrays(), Encoder(**other).arrays()
    random = np.random.RandomState(9)
    a = OrderedDict((name, x) for name, _, x in ours if name)
    b = OrderedDict(
        (name, (x * (1 + 6e-8 * random.standard_normal(x.shape))).astype("f"))
        for _, name, x in theirs
        if name
    )
    return a, b


def test_a_right_port_is_not_accused(compared):
    assert compared(*both())[0] == 0


@pytest.mark.parametrize(
    "other, place, says",
    [
        (dict(epsilon=1e-3), "embed.norm", "LayerNorm, epsilon 1e-06 or less in A, 0.001 in B"),
        (dict(active=gelu), "layer.0.up.act", "GELU (by erf) in A, GELU (by tanh) in B"),
        (dict(masked=False), "layer.0.self", "mask masks keys in A, all keys are seen in B"),
        (dict(scale=1.0), "layer.0.self", "1 / root of a head's width in A, the scores are"),
        (dict(start=2), "embed.place", "moved by -2 along axis 1"),
        (dict(swapped=True), "layer.0.self.query", "are swapped in B"),
    ],
)
def test_a_mistake_is_named_from_modules_beside_operations(compared, other, place, says):
    code, difference, text = compared(*both(**other))
    assert code == 3 and difference["a"] == place
    assert says in text
    assert "its input" not in text  # what only one side recorded is no function of the other


def test_a_module_returns_what_the_last_operation_in_its_scope_does():
    ours = ("layer.0.self", "layer.0.up")
    theirs = ("m/layer_._0/self/q/add", "m/layer_._0/self/Reshape", "m/layer_._1/up/add")
    assert names.scopes(ours, theirs) == {0: [0, 1]}


def test_an_order_of_whole_blocks_is_said_in_blocks():
    assert layouts.blocks((2, 3, 0, 1, 4, 5)) == (2, (1, 0, 2))
    assert layouts.blocks((1, 0, 2)) == (1, (1, 0, 2))


def test_dropout_that_is_on_is_named(compared):
    x = normal(8, 16, 32)
    kept = np.random.RandomState(3).uniform(size=x.shape) > 0.1
    dropped = (x * kept / np.float32(0.9)).astype("f")
    a = {"x": x, "drop": 2 * x, "norm": normalised(2 * x, 1e-5)}
    b = {"x": x, "add": 2 * x, "select": 2 * dropped, "norm": normalised(2 * dropped, 1e-5)}
    code, _, text = compared(a, b)
    assert code == 3 and "as by dropout at a rate of 0.1" in text


def buckets(directions):
    """The bias of relative positions of T5, with one direction or both."""
    table, distance = normal(40, HEADS, seed=4), np.arange(TOKENS) - np.arange(TOKENS)[:, None]
    back = np.maximum(-distance, 0)
    return table[back + (20 * (distance > 0) + np.maximum(distance, 0) if directions == 2 else 0)]


def test_buckets_of_both_directions_are_named(compared):
    x = normal(BATCH, TOKENS, WIDTH)
    a, b = ({"x": x, "bias": buckets(n), "y": x + buckets(n).sum()} for n in (1, 2))
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["a"] == "bias"
    assert "(one direction) in A, " in difference["computes"]
    assert difference["computes"].endswith("(both directions) in B")


def trained(named, noise=1, decayed=("weight",), moved=0.1, unbiased=False, wrong=1.0):
    """Three steps of AdamW; the gradient of a key's bias is rounding. named: a tensor's name."""
    random = np.random.RandomState(0)
    shapes = OrderedDict([("key.weight", (24, 24)), ("key.bias", (24,)), ("out.weight", (24, 6))])
    found = OrderedDict(x=random.standard_normal((8, 24)).astype("f"))
    weights = OrderedDict((n, random.standard_normal(s)) for n, s in shapes.items())
    gradients = [OrderedDict((n, random.standard_normal(s)) for n, s in shapes.items())] * 3
    own = np.random.RandomState(noise)
    running, variance = random.standard_normal(12), random.uniform(0.5, 2, 12)
    batch = random.uniform(0.5, 2, 12) * (64 / 63.0 if unbiased else 1)
    state = {n: [0.0, 0.0] for n in shapes}

    def keep(start, arrays):
        found.update((start + " " + named(n), np.asarray(w, "f")) for n, w in arrays.items())

    def statistics():
        return {"norm.running_mean": running, "norm.running_var": variance}

    keep("step0", weights)
    keep("step0", statistics())
    for step in (1, 2, 3):
        g = dict(gradients[step - 1])
        g["key.bias"] = 1e-8 * own.standard_normal(24)
        g["out.weight"] = g["out.weight"] * (wrong if step == 1 else 1.0)
        found["loss%d" % step] = np.float32(1.5)
        keep("grad%d" % step, g)
        for n, w in weights.items():
            m, v = state[n]
            m, v = 0.9 * m + 0.1 * g[n], 0.999 * v + 0.001 * g[n] ** 2
            state[n] = [m, v]
            d = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
            weights[n] = w - 0.01 * (d + 0.1 * w * n.endswith(decayed))
        running, variance = (1 - moved) * running, (1 - moved) * variance + moved * batch
        keep("step%d" % step, weights)
        keep("step%d" % step, statistics())
    return found


def flat(name):
    """A tensor's name in another framework, which comes after the model's own."""
    return "my_model_1/" + name.replace(".", "/").replace("weight", "kernel")


def turned(arrays):
    """The same arrays, those of each kind and step in the other order."""
    blocks = OrderedDict()
    for name, x in arrays.items():
        blocks.setdefault(name.split(" ")[0], []).append((name, x))
    return OrderedDict(pair for block in blocks.values() for pair in block[::-1])


def test_steps_agree_whatever_the_order_and_the_first_words_of_names(compared):
    code, _, text = compared(trained(lambda n: n), turned(trained(flat)))
    assert code == 0, text


def test_a_gradient_that_is_rounding_and_its_weight_are_no_difference(compared):
    code, _, text = compared(trained(lambda n: n), trained(flat, noise=2))
    assert code == 0, text
    assert "the gradient is rounding alone, on both sides: grad1 key.bias" in text


@pytest.mark.parametrize("value", [np.nan, 1e6], ids=["nan", "far"])
def test_rounding_does_not_explain_where_no_step_leads(compared, value):
    b = trained(flat, noise=2)
    (name,) = [n for n in b if n.startswith("step2") and n.endswith("key/bias")]
    b[name] = b[name] + np.float32(value)
    code, difference, _ = compared(trained(lambda n: n), b)
    assert code == 3 and difference["b"] == name


def test_another_gradient_beside_it_is_a_difference(compared):
    code, difference, _ = compared(trained(lambda n: n), trained(flat, noise=2, wrong=1.001))
    assert code == 3 and difference["a"] == "grad1 out.weight"


def test_all_tensors_that_decay_are_named_under_other_names(compared):
    a, b = trained(lambda n: n), trained(flat, noise=2, decayed=("weight", "bias"))
    code, _, text = compared(a, b)
    assert code == 0  # the bias moves at random in any case
    a, b = (trained(n, decayed=d) for n, d in ((lambda n: n, ("weight",)), (flat, ("y.weight",))))
    code, difference, _ = compared(a, b)
    assert code == 3 and "out" in difference["computes"] and "not of" in difference["computes"]


def test_the_divisor_of_a_running_variance_is_a_convention_in_steps(compared):
    code, _, text = compared(trained(lambda n: n), trained(flat, unbiased=True))
    assert code == 0 and "divided by n or by n - 1" in text


@pytest.mark.parametrize("noise", range(4))
def test_half_the_share_of_a_new_batch_is_no_divisor(compared, noise):
    a, b = (trained(n, noise=s, moved=m) for n, s, m in ((str, 1, 0.1), (flat, noise, 0.15)))
    code, difference, _ = compared(a, b)
    assert code == 3 and "moves B's 1.5 times as far" in difference["computes"]


def test_the_momentum_of_running_statistics_is_named(compared):
    code, difference, _ = compared(trained(lambda n: n), trained(flat, moved=0.9, unbiased=True))
    assert code == 3 and "running" in difference["a"]
    assert "share of the new batch 0.1 in A, 0.9 in B" in difference["computes"]
