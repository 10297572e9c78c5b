"""A right port is not accused, and a mistake is found at its own place."""

import json
import struct

import numpy as np
import pytest

from common.compare import digits, masks, names
from common.compare.arrays import Array, factor
from common.compare.functions import bfloat16, softmax, tf32
from common.compare.noise import looks_like_rounding
from common.system import array_files
from tests.challenge.conftest import all_pairs, normal

LOWEST = np.finfo("f").min


def relu(x):
    return np.maximum(x, 0)


def residual(seed, sums, wrong=False):
    """Two blocks with a shortcut after a ReLU. Recorded: their sums, or their branches twice."""
    weights = [normal(8, 8, seed=10 * seed + n) / 3 for n in range(4)]
    x = normal(4, 8, 16, 16, seed=seed + 100)
    mix = [lambda t, w=w: np.einsum("oc,nchw->nohw", w, t) for w in weights]
    arrays = {"x": x, "h": relu(mix[0](x))}
    for n in (1, 2):
        start = arrays["h"] if n == 1 else arrays["block1"]
        branch = mix[n](start)
        arrays["conv%d" % n] = branch
        if sums:
            arrays["add%d" % n] = start + branch
        else:
            arrays["identity%d" % n] = branch
        arrays["block%d" % n] = relu(start + branch)
    last = weights[3].T if wrong else weights[3]
    arrays["y" if sums else "logits"] = np.einsum("oc,nchw->nohw", last, arrays["block2"])
    return arrays


@pytest.mark.parametrize(
    "seed", [0] + [pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3)]
)
def test_a_sum_that_equals_its_branch_in_half_the_values_is_no_difference(compared, seed):
    assert compared(residual(seed, True), residual(seed, False))[0] == 0
    code, difference, _ = compared(residual(seed, True), residual(seed, False, wrong=True))
    assert code == 3 and (difference["a"], difference["b"]) == ("y", "logits")


@pytest.mark.parametrize("named", [True, False])
def test_a_parameter_with_a_row_per_image_does_not_vouch_for_the_scores(compared, named):
    """Eight images and eight filters: a kernel that follows is not computed from the images."""
    x, kernel, dense = normal(8, 3, 6, 6), normal(8, 3, 1, 1, seed=1), normal(5, 288, seed=2)
    maps = np.einsum("oc,nchw->nohw", kernel[..., 0, 0], x)
    ours = {"x": x, "maps": maps, "scores": maps.reshape(8, -1).dot(dense.T)}
    flat = maps.transpose(0, 2, 3, 1).reshape(8, -1)
    theirs = {"x": x, "out1": maps + np.float32(1e-7) * normal(*maps.shape, seed=3)}
    theirs["out2"] = flat.dot(dense.T)
    parameters = ("conv.weight", "dense.weight") if named else ("p1", "p2")
    for side in (ours, theirs):
        side.update(zip(parameters, (kernel, dense)))
    code, difference, _ = compared(ours, theirs)
    assert code == 3 and (difference["a"], difference["b"]) == ("scores", "out2")


def feed_forward(separator, quick, inner):
    """A network of two layers, with a GELU or its quick form between, recorded or not."""
    x, h = normal(4, 32, 16), normal(4, 32, 16).dot(normal(16, 64, seed=1) / 4)
    slope = 1.702 if quick else 1.6
    act = h / (1 + np.exp(-slope * h))
    out = act.dot(normal(64, 16, seed=2) / 8)
    arrays = {"x": x, "h.0.c_fc": h, "h.0.act": act, "h.0.c_proj": out}
    arrays["h.1.c_fc"] = out.dot(normal(16, 64, seed=3) / 4)
    if not inner:
        del arrays["h.0.act"]
    return {name.replace(".", separator): array for name, array in arrays.items()}


@pytest.mark.parametrize("separator", ["/", ".", "_"])
def test_names_come_before_sizes(compared, separator):
    code, difference, _ = compared(
        feed_forward(".", False, True), feed_forward(separator, True, False)
    )
    assert code == 3 and difference["a"] == "h.0.c_proj"
    assert difference["b"] == "h.0.c_proj".replace(".", separator)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        ("transformer.h.0.mlp.c_fc", "transformer/h/0/mlp/c_fc"),
        ("model.layers.3.mlp", "layers_3/mlp"),
        ("LayerNorm_0", "layer_norm.0"),
        ("encoder.Dense_2/kernel", "dense2.weight"),
        ("running_mean after 1", "moving_mean after 1"),
        ("bn.running_var", "bn/moving_variance"),
    ],
)
def test_a_name_is_the_same_in_another_writing(ours, theirs):
    assert names.same(["x", ours, "z"], ["y", theirs]) == {1: 1}


def test_names_with_other_numbers_or_with_two_partners_are_not_the_same():
    assert names.same(["h.1.1", "arr_0"], ["h.11", "arr_0"]) == {}
    assert names.same(["a.norm", "b.norm"], ["norm"]) == {}
    assert names.same(["a.norm", "b.norm"], ["c.b.norm", "c.a.norm"]) == {0: 1, 1: 0}


def test_a_later_pair_by_name_does_not_hide_what_differs_before_it(compared):
    x, h = normal(16, 8), normal(16, 8, seed=1)
    a = {"x": x, "first": h, "out": h.dot(normal(8, 8, seed=2))}
    other = h + normal(16, 8, seed=3)
    b = {"x": x, "erster": other, "out": other.dot(normal(8, 8, seed=2))}
    code, difference, _ = compared(a, b)
    assert code == 3 and (difference["a"], difference["b"]) == ("first", "erster")


def test_a_branch_that_is_off_counts_though_the_other_branch_agrees(compared):
    """An encoder in front of a decoder, whose embedding agrees; and only the sum shows both."""

    def run(slope, prefix):
        x, y = normal(8, 16), normal(8, 16, seed=1)
        arrays = {"x": x, "y": y}
        for n in range(4):
            x = np.tanh(slope * x.dot(normal(16, 16, seed=2 + n) / 4))
            arrays["%s%d" % (prefix, n)] = x
        y = y.dot(normal(16, 16, seed=9))
        return dict(arrays, decoder=y, both=x + y)

    assert compared(run(1, "enc"), run(1, "left"))[0] == 0
    code, difference, _ = compared(run(1, "enc"), run(1.1, "left"))
    assert code == 3 and (difference["a"], difference["b"]) == ("enc0", "left0")


def attention(value, scale=0.25, offset=0, scores=True):
    """A recording of causal attention that masks with a value."""
    q, k, v = (normal(2, 2, 8, 16, seed=n) for n in range(3))
    there = np.tril(np.ones((8, 8), bool), offset)
    s = np.where(there, np.einsum("nhik,nhjk->nhij", q, k) * np.float32(scale), np.float32(value))
    p = softmax(s, -1)
    mask = np.where(there, 0, value).astype("f")
    arrays = {"q": q, "k": k, "v": v, "mask": mask, "scores": s, "p": p, "out": np.matmul(p, v)}
    return {n: x.astype("f") for n, x in arrays.items() if scores or n not in ("mask", "scores")}


VALUES = [-np.inf, LOWEST, -1e9, -65504.0]


@pytest.mark.parametrize("ours, theirs", list(all_pairs(VALUES)))
def test_what_a_mask_puts_in_does_not_matter_after_a_softmax(compared, ours, theirs):
    assert compared(attention(ours), attention(theirs))[0] == 0
    code, difference, printed = compared(attention(ours), attention(theirs, scale=1))
    assert code == 3 and difference["a"] == "scores"
    assert difference["relation"] == "B is A times 4"
    code, difference, _ = compared(attention(ours), attention(theirs, offset=1))
    assert code == 3 and difference["a"] == "mask"


def test_large_values_are_no_mask():
    for scale in (1e3, 1e6, 1e30):
        assert masks.of(scale * normal(50, 50)) is None
    heavy = normal(1000) / normal(1000, seed=1) ** 3
    assert masks.of(-np.abs(heavy)) is None or masks.of(-np.abs(heavy)).places.sum() < 3
    assert masks.of(np.full(8, -np.inf, "f")) is None


def layers(rounded, wrong=None, embedding=lambda x: x):
    """Eight layers, each rounded."""
    h = embedding(normal(8, 64))
    arrays = {"x": normal(8, 64), "embedding": h}
    for n in range(8):
        h = rounded(h + np.tanh(rounded(h.dot(normal(64, 64, seed=1 + n) / 8))))
        if n == wrong:
            h = rounded(h * np.float32(1.25))
        arrays["layer%d" % n] = h
    return arrays


def test_a_recording_in_bfloat16_has_its_own_digits(compared):
    """Kept in float32: one port rounds after each product, one in other places."""
    noisy = lambda x: bfloat16(x * (1 + 1e-3 * normal(*x.shape, seed=7)))  # noqa: E731
    assert compared(layers(bfloat16), layers(noisy))[0] == 0
    assert compared(layers(lambda x: x), layers(noisy))[0] == 0
    code, difference, _ = compared(layers(bfloat16), layers(noisy, wrong=4))
    assert code == 3 and difference["a"] == "layer4"


def test_a_table_in_bfloat16_does_not_make_the_network_bfloat16(compared):
    a = layers(lambda x: x, embedding=bfloat16)
    b = dict(a, layer3=a["layer3"] * np.float32(1.002))
    assert compared(a, b)[0] == 3


def test_whole_numbers_and_inputs_have_few_digits_without_being_rounded():
    arrays = [Array("x", bfloat16(normal(99))), Array("y", np.arange(64).astype("f"))]
    arrays.append(Array("z", normal(99)))
    digits.settle(arrays, names.is_parameter)
    assert {array.epsilon for array in arrays} == {float(np.finfo("f").eps)}


def test_bfloat16_is_read_from_safetensors(tmp_path):
    path = str(tmp_path / "a.safetensors")
    values = bfloat16(normal(3, 4))
    raw = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    entry = {"dtype": "BF16", "shape": [3, 4], "data_offsets": [0, len(raw)]}
    head = json.dumps({"w": entry}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + raw)
    arrays = array_files.read(path)
    assert arrays["w"].dtype == np.float32 and np.array_equal(arrays["w"], values)


def test_units_are_those_of_an_exact_recording(compared, tmp_path):
    exact = {name: array.astype(np.float64) for name, array in layers(lambda x: x).items()}
    path = str(tmp_path / "exact.npz")
    np.savez(path, **exact)
    noise = {name: 1e-6 * normal(*array.shape, seed=5) for name, array in exact.items()}
    a = {name: (array + noise[name]).astype("f") for name, array in exact.items()}
    a["x"] = exact["x"].astype("f")
    off = lambda units: dict(  # noqa: E731
        a, layer7=(exact["layer7"] + 1e-6 * units * normal(8, 64, seed=6)).astype("f")
    )
    assert compared(a, off(8), "--exact", path)[0] == 0
    assert compared(a, off(40), "--exact", path)[0] == 3
    cast = dict(exact, layer7=a["layer7"].astype("d"))  # the model itself computes it in float32
    np.savez(path, **cast)
    assert compared(a, off(4), "--exact", path)[0] == 0
    del exact["layer7"]
    np.savez(path, **exact)
    code, _, error = compared(a, a, "--exact", path)
    assert code == 2 and "lacks layer7" in error


def test_rounding_is_noise_and_a_function_of_the_value_is_not():
    x = normal(64, 256)
    noise = np.float32(2e-4) * normal(64, 256, seed=1)
    assert looks_like_rounding(x, x + noise)
    assert looks_like_rounding(
        tf32(x).dot(tf32(normal(256, 99, seed=2))), x.dot(normal(256, 99, seed=2))
    )
    cubic = np.float32(1e-4) * (x**3 - 3 * x)
    rows = 1 + np.float32(1e-4) * normal(64, 1, seed=3)
    columns = np.float32(1e-4) * normal(256, seed=4)
    few = np.where(np.arange(256) < 20, noise, 0)
    for other in (x + cubic, x * rows, x + columns, x * (1 + columns), x + few):
        assert not looks_like_rounding(x, other)


def test_a_layer_is_not_called_rounding_where_earlier_ones_were_not_rounded(compared):
    x, h = normal(64, 32), normal(64, 32, seed=1)
    off = h + np.float32(2e-4) * normal(64, 32, seed=2)
    assert "TF32" in compared({"x": x, "h": h}, {"x": x, "h": off})[1]["relation"]
    g = normal(64, 32, seed=3)
    close = g * np.float32(1 + 2e-7)
    difference = compared({"x": x, "g": g, "h": h}, {"x": x, "g": close, "h": off})[1]
    assert difference["a"] == "h" and "TF32" not in difference["relation"]


@pytest.mark.parametrize(
    "value, text",
    [(1 - 1 / 2304.0, "1 - 1/2304"), (1.00012345, "1 + 0.000123"), (0.75, "0.75"), (1, "1")],
)
def test_a_factor_near_one_is_shown_by_its_distance(value, text):
    assert factor(value) == text


def test_a_relation_must_explain_nine_tenths_of_the_difference(compared):
    x, h = normal(16, 64), normal(16, 64, seed=1)
    off = h * np.float32(1.0001) + np.float32(3e-5) * normal(16, 64, seed=2)
    difference = compared({"x": x, "h": h}, {"x": x, "h": off}, "--tolerance", "4e-5")[1]
    assert difference["apart_with_relation"] is None


def deep(side, jump=0, follows=False, growth=1.1, last=np.tanh):
    """Forty layers; in B each adds rounding, so that the distance grows by ``growth`` in each.

    jump: a layer that adds ten times as much. follows: its difference follows from the values.
    last: what each layer does at its end.
    """
    x, arrays, off = normal(8, 128), {}, 3e-7
    arrays["x"] = x
    for n in range(1, 41):
        x = last(2 * normal(8, 128, seed=n))
        noise = normal(8, 128, seed=100 + n)
        off *= growth
        if n == jump:
            noise, off = (np.abs(x) ** 3 if follows else noise), 10 * off
        arrays["layer%d" % n] = x + (x != 0) * np.float32(off if side == "B" else 0) * noise
    arrays["scores"] = arrays["layer40"][:, :5]  # too few values to show noise
    return arrays


@pytest.mark.parametrize("last", [np.tanh, relu])
def test_rounding_that_grows_from_layer_to_layer_is_no_mistake(compared, last):
    """After 40 layers it is 3e-5 of a standard deviation, more than the tolerance."""
    ours, theirs = (deep(side, last=last, growth=1.12) for side in "AB")
    code, difference, printed = compared(ours, theirs)
    assert (code, difference) == (0, None)
    assert "by rounding that grew from layer to layer" in printed


def test_a_loss_may_differ_by_as_much_as_rounding_that_has_grown(compared):
    ours, theirs = (deep(side, growth=1.12) for side in "AB")
    ours["loss1"] = np.float32([2.5])
    for loss in ([2.50002], 2.50002):  # some frameworks return a list of one
        assert compared(ours, dict(theirs, loss1=np.float32(loss)))[0] == 0
    code, difference, _ = compared(ours, dict(theirs, loss1=np.float32([2.502])))
    assert code == 3 and difference["a"] == "loss1"


def test_a_bias_that_a_norm_takes_in_does_not_hide_that_rounding_has_grown(compared):
    """It stands before the first array that differs by more than the tolerance."""
    ours, theirs = (list(deep(side, growth=1.12).items()) for side in "AB")
    place = [name for name, _ in ours].index("layer30")
    product, bias = normal(8, 128, seed=200), normal(128, seed=201)
    ours.insert(place, ("product", product + bias))
    theirs.insert(place, ("mul", product))
    code, difference, _ = compared(dict(ours), dict(theirs))
    assert (code, difference) == (0, None)


@pytest.mark.parametrize("layer", [25, 38])
@pytest.mark.parametrize("follows", [False, True])
def test_what_jumps_or_follows_from_the_values_is_no_grown_rounding(compared, layer, follows):
    code, difference, _ = compared(deep("A"), deep("B", jump=layer, follows=follows))
    assert code == 3 and difference["a"] == "layer%d" % layer


def test_a_jump_within_the_tolerance_that_grows_beyond_it_is_a_difference(compared):
    code, difference, printed = compared(deep("A"), deep("B", jump=5))
    assert code == 3 and difference["a"] == "layer11"
    assert "a jump within the tolerance, which may be a mistake: layer5" in printed


def test_rounding_that_grows_without_end_is_a_difference(compared):
    assert compared(deep("A"), deep("B", growth=1.25))[0] == 3


def adamw(side, decay=0.1, forgets=False):
    """Three steps of two tensors; at some places of one, the first gradient is its rounding alone.

    forgets: gradients add up, as without ``zero_grad``.
    """
    random = np.random.RandomState(0)
    arrays, tensors = {"x": normal(8, 16)}, {}
    for name, shape in (("a.weight", (48, 16)), ("b.weight", (16, 24))):
        w, mix = random.standard_normal(shape) * 0.7, random.standard_normal((shape[0],) * 2)
        wanted = random.standard_normal(shape)
        if name[0] == "a":
            wanted[1, :8] = (mix @ w)[1, :8]
        tensors[name] = dict(w=w, mix=mix, wanted=wanted, m=0.0, v=0.0, g=0.0)
        arrays["step0 " + name] = w
    noise = np.random.RandomState(1 if side == "A" else 2)
    for n in (1, 2, 3):
        for name, t in tensors.items():
            g = t["mix"] @ t["w"] - t["wanted"]
            g = g + 3e-7 * noise.standard_normal(g.shape) * g.std() + forgets * t["g"]
            t["g"], arrays["grad%d %s" % (n, name)] = g, g
            t["m"], t["v"] = 0.9 * t["m"] + 0.1 * g, 0.999 * t["v"] + 0.001 * g**2
            move = t["m"] / (1 - 0.9**n) / (np.sqrt(t["v"] / (1 - 0.999**n)) + 1e-8)
            t["w"] = t["w"] - 0.01 * (move + decay * t["w"])
            arrays["step%d %s" % (n, name)] = t["w"]
    return {name: np.asarray(values, "f") for name, values in arrays.items()}


def test_a_step_that_a_gradient_of_rounding_alone_does_not_determine_is_no_mistake(compared):
    code, difference, printed = compared(adamw("A"), adamw("B"))
    assert (code, difference) == (0, None)
    assert "does not determine a whole step" in printed


def test_what_rounding_of_a_step_does_not_explain_is_a_difference(compared):
    code, difference, _ = compared(adamw("A"), adamw("B", decay=0.2))
    assert code == 3 and "decay" in difference["computes"]
    code, difference, _ = compared(adamw("A"), adamw("B", forgets=True))
    assert code == 3 and difference["a"] == "grad2 a.weight"
