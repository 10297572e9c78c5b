"""Two recordings: the first difference, its relation, and no relation between unrelated arrays."""

import zipfile

import numpy as np
import pytest

from common.challenge import challenge
from common.compare.arrays import TOLERANCE, Array
from common.compare.functions import bfloat16, float16, sigmoid, softmax, tf32
from common.compare.layouts import agreement
from common.compare.relations import Comparison
from common.system import array_files, commands
from tests.challenge.conftest import normal, rounded

LAST = (0, 2, 3, 1)  # NCHW to NHWC


def network(x, order=None, wrong=()):
    """A recording of a small network, with its images' axes in ``order``, or with a mistake."""
    image = [axis for axis in order or (0, 1, 2, 3)]
    recording = {"x": x.transpose(image)}
    if "images" in wrong:
        x = x * 255
        recording["x"] = x.transpose(image)
    kernel = normal(3, 8, seed=1)
    conv = np.einsum("nchw,co->nohw", x, kernel)
    recording["conv"] = conv.transpose(image)
    relu = conv if "relu" in wrong else np.maximum(conv, 0)
    recording["relu"] = relu.transpose(image)
    flat = (relu.transpose(LAST) if "flatten" in wrong else relu).reshape(len(x), -1)
    recording["flat"] = flat
    weight = normal(flat.shape[1], flat.shape[1], seed=2) / 16
    hidden = np.tanh(np.dot(flat, weight.T if "dense" in wrong else weight))
    recording["hidden"] = hidden
    recording["out"] = np.dot(hidden, normal(hidden.shape[1], 5, seed=3))
    return {name: rounded(array, 1 if order else 0) for name, array in recording.items()}


X = normal(16, 3, 6, 8)


def nameless(arrays):
    return {"arr_%d" % n: array for n, array in enumerate(arrays.values())}


@pytest.mark.parametrize("change", [dict, nameless])
def test_a_right_port_agrees_in_another_layout(compared, change):
    code, _, printed = compared(network(X), change(network(X, LAST)))
    assert code == 0
    assert "6 pairs agree" in printed and printed.count("transposed by (0, 2, 3, 1)") == 3


@pytest.mark.parametrize("change", [dict, nameless])
@pytest.mark.parametrize(
    "wrong, a, b, says",
    [
        ("images", "x", 0, "B is A times 255, transposed by (0, 2, 3, 1)"),
        ("relu", "relu", 2, "A is the ReLU of B, transposed by (0, 3, 1, 2)"),
        ("flatten", "flat", 3, "B is A, axis 1 read as (8, 48) and transposed by (1, 0)"),
        ("dense", "hidden", 4, "no relation found; correlation "),
    ],
)
def test_a_mistake_is_found_at_its_place(compared, change, wrong, a, b, says):
    code, difference, _ = compared(network(X), change(network(X, LAST, [wrong])))
    assert code == 3
    assert (difference["a"], difference["b_place"], difference["agree_before"]) == (a, b, b)
    assert difference["relation"].startswith(says)
    if difference["apart_with_relation"] is not None:
        assert difference["apart_with_relation"] < TOLERANCE < 1e-2 < difference["apart"]


def test_layers_that_one_side_recorded_as_one_are_passed_over(compared):
    b = network(X, LAST)
    del b["conv"], b["flat"]
    code, _, printed = compared(network(X), b)
    assert code == 0 and "only in A conv" in printed and "4 pairs agree" in printed


def test_one_name_for_two_places_is_no_difference(compared):
    """One recording's conv1 includes the ReLU; the other's does not."""
    b = network(X)
    b["conv"] = b.pop("relu")
    b = {name: b[name] for name in ("x", "conv", "flat", "hidden", "out")}
    assert compared(network(X), b)[0] == 0


def test_repeated_values_are_paired_at_their_first_place(compared):
    """After a dropout that is off; and one side also has the sum without the bias."""
    a, b = nameless(network(X)), network(X)
    a = dict(zip("abcdefg", list(a.values())[:2] + list(a.values())[1:]))
    b = dict(b, conv=b["conv"] - normal(8, 1, 1, seed=8), sum=b["conv"])
    order = ("x", "conv", "sum", "relu", "flat", "hidden", "out")
    code, _, printed = compared(a, {name: b[name] for name in order})
    assert code == 0 and "6 pairs agree" in printed


def test_one_name_for_two_things_at_the_end_is_a_difference(compared):
    a, b = network(X), network(X)
    a["dense"] = a["out"]
    b["dense"], b["out"] = b["out"], softmax(b["out"], 1)
    order = ("x", "conv", "relu", "flat", "hidden", "dense", "out")
    code, difference, _ = compared({n: a[n] for n in order}, {n: b[n] for n in order})
    assert code == 3 and difference["a"] == difference["b"] == "out"
    assert difference["relation"] == "B is the softmax along axis 1 of A"


def test_a_last_layer_that_passes_its_input_on_is_a_difference(compared):
    a, b = nameless(network(X)), nameless(network(X))
    b["arr_5"] = b["arr_4"]
    code, difference, _ = compared(a, b)
    assert code == 3 and (difference["a"], difference["b"]) == ("arr_5", "arr_5")


def test_what_follows_a_difference_is_counted_and_not_explained_away(compared):
    a, b = network(X), network(X)
    b["relu"] = 3 * b["relu"]
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["a"] == "relu" and difference["relation"] == "B is A times 3"
    assert (difference["agree_behind"], difference["behind"]) == (3, 3)


def test_weights_and_gradients_may_be_in_between(compared):
    weights = {"w": normal(8, 3, 3, 3, seed=4), "bias": np.zeros(8, "f")}
    gradients = {"g.w": normal(8, 3, 3, 3, seed=5), "g.bias": normal(8, seed=6)}
    a = dict(weights, **network(X), **gradients)
    b = dict(weights, **network(X), **gradients)
    b["w"] = b["w"][:, :, ::-1, ::-1]  # true convolution
    b["g.w"] = b["g.w"].transpose(2, 3, 1, 0)
    assert compared(a, b)[0] == 0
    b["g.w"] = 64 * b["g.w"]
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["a"] == "g.w"
    assert difference["relation"] == "B is A times 64, transposed by (2, 3, 1, 0)"


def test_rows_in_another_order_throughout_are_the_same_network(compared):
    order = np.random.RandomState(0).permutation(16)
    a, b = network(X), {name: array[order] for name, array in network(X).items()}
    assert compared(a, b)[0] == 0
    b["out"] = a["out"]
    code, difference, _ = compared(a, dict(a, out=a["out"][order]))
    assert code == 3 and difference["relation"].startswith("B is A, axis 0 in the order 1, 6, 8, ")


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda x: x[:, ::-1], "B is A, flipped along axis 1"),
        (lambda x: x[:, [1, 2, 0]], "B is A, axis 1 in the order 1, 2, 0"),
        (lambda x: x[..., ::-1], "B is A, flipped along axis 3"),
    ],
)
def test_inputs_that_were_moved_are_the_difference(compared, change, says):
    code, difference, _ = compared(
        network(X), dict(network(normal(16, 3, 6, 8, seed=9)), x=change(X))
    )
    assert code == 3 and difference["a"] == "x" and difference["relation"] == says


def test_a_flatten_in_another_order_is_not_blamed_for_what_is_known_of_the_next_layer(compared):
    a, b = network(X), network(X)
    b["flat"] = b["relu"].transpose(LAST).reshape(16, -1)  # and weights to go with it
    b["hidden"] = np.maximum(b["hidden"], 0)
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["relation"] == "B is the ReLU of A"
    b["hidden"] = np.where(b["hidden"] > 0, b["hidden"], np.nan)
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["a"] == "hidden" and "NaN" in difference["relation"]


def test_height_and_width_swapped_at_the_end_are_a_difference(compared):
    x, out = normal(16, 3, 8, 8), normal(16, 2, 8, 8, seed=1)
    code, difference, _ = compared({"x": x, "out": out}, {"x": x, "out": out.transpose(0, 1, 3, 2)})
    assert code == 3 and difference["relation"] == "B is A, transposed by (0, 1, 3, 2)"
    last = {"x": x.transpose(LAST), "out": out.transpose(LAST)}
    assert compared({"x": x, "out": out}, last)[0] == 0


def test_a_value_that_is_not_finite_in_one_of_both_is_the_difference(compared):
    b = network(X)
    b["hidden"][3, 7] = np.nan
    b["out"][3] = np.nan
    code, difference, printed = compared(network(X), b)
    assert code == 3 and difference["a"] == "hidden" and "(3, 7)" in difference["relation"]
    assert "NaN" in printed


def test_scalars_labels_and_zeros_are_compared_and_prove_nothing(compared):
    a = dict(network(X), zeros=np.zeros(9, "f"), loss=np.float32(2.5), labels=np.arange(16))
    code, _, printed = compared(nameless(a), nameless(a))
    assert code == 0 and printed.count("too few values to be proof") == 2
    code, difference, _ = compared(a, dict(a, loss=np.float32(160)))
    assert code == 3 and difference["relation"] == "2.5 and 160: one number each shows no relation"
    assert compared(nameless(a), nameless(dict(a, loss=np.float32(160))))[0] == 3
    code, difference, _ = compared(a, dict(a, labels=np.arange(16) + 1))
    assert code == 3 and difference["relation"] == "B is A plus 1"
    assert compared(a, dict(a, labels=a["labels"].astype("f")))[0] == 0


def test_the_tolerance_is_that_of_the_coarser_type_or_what_is_asked(compared):
    half = {name: array.astype(np.float16) for name, array in network(X).items()}
    assert compared(network(X), half)[0] == 0
    off = dict(network(X), out=network(X)["out"] * (1 + 1e-4 * normal(16, 5, seed=8)))
    assert compared(network(X), off)[0] == 3
    assert compared(network(X), off, "--tolerance", "1e-3")[0] == 0


def test_safetensors_are_in_the_order_of_their_names_unless_the_other_file_knows(compared):
    a, b = network(X), network(X, LAST, ["dense"])
    code, difference, _ = compared(a, b, kinds=("npz", "safetensors"))
    assert code == 3 and difference["a"] == "hidden" and difference["agree_before"] == 4


BATCHES = "the first arrays must be the same batch: x (16, 3, 6, 8) in A, x "


@pytest.mark.parametrize(
    "a, b, line",
    [
        ({}, network(X), "a.npz contains no array"),
        (network(X), network(X[:8]), BATCHES + "(8, 3, 6, 8) in B: A has 2304 values, B has 1152"),
        (network(X), network(normal(16, 3, 6, 8, seed=7)), BATCHES + "(16, 3, 6, 8) in B: no"),
        (network(X), {"x": np.zeros((0, 3), "f")}, "b.npz: x is empty"),
        (network(X), {"x": np.array([object()])}, "b.npz: x is object, not numbers"),
        (network(X), {"x": np.array(["x"])}, "b.npz: x is <U1, not numbers"),
        (network(X), {"x": X * np.nan}, "b.npz: x contains NaN or infinity already"),
        (
            dict(network(X), out=np.full(9, np.nan)),
            dict(network(X), out=np.full(9, np.nan)),
            "out of ",
        ),
    ],
)
def test_what_cannot_be_compared_is_one_line(compared, a, b, line):
    code, _, error = compared(a, b)
    assert code == 2 and line in error


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_files_that_are_none_are_one_line(tmp_path, kind, capsys):
    path = str(tmp_path / ("a." + kind))
    for content in (None, b"", b"PK\x03\x04 and so on", b"\xff" * 20):
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        assert commands.guarded(challenge.command, ["compare", path, path]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_member_larger_than_memory_is_not_unpacked(tmp_path, monkeypatch, capsys):
    path = str(tmp_path / "bomb.npz")
    header = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': "
    for shape, line in (("(1000000000000,)", "shorter than its shape"), ("(4,)", "memory")):
        with zipfile.ZipFile(path, "w") as archive:
            text = (header + shape.encode() + b", }").ljust(127) + b"\n"
            archive.writestr("x.npy", text + bytes(16))
        if line == "memory":
            monkeypatch.setattr(array_files, "available", lambda: 100)
        assert commands.guarded(challenge.command, ["compare", path, path]) == 2
        assert line in capsys.readouterr().err


def relation(a, b):
    """(what is said of two arrays, whether it is proven)."""
    a, b = Array("a", np.asarray(a)), Array("b", np.asarray(b))
    same = agreement(a, b, TOLERANCE)
    if same is not None:
        return ("the same" if same.proof else "no proof"), same.proof
    result = Comparison(a, b, TOLERANCE).relation()
    return result.says, result.after is not None


A = normal(8, 6, 10, 12)
KEPT = np.random.RandomState(3).random_sample(A.shape) >= 0.25
FRAME = np.pad(
    np.zeros((8, 6, 8, 10), "f"), ((0, 0), (0, 0), (1, 1), (1, 1)), "constant", constant_values=1
)


@pytest.mark.parametrize(
    "b, says",
    [
        (A / 10, "B is A divided by 10"),
        (A * np.float32(0.3), "B is A times 0.3"),
        (-A, "B is A times -1"),
        (A + np.float32(0.5), "B is A plus 0.5"),
        ((3 * A - 1).transpose(LAST), "B is A times 3, minus 1, transposed by (0, 2, 3, 1)"),
        (2 * A[:, [2, 1, 0, 3, 4, 5]], "B is A times 2, axis 1 in the order 2, 1, 0, 3, 4, 5"),
        (sigmoid(A), "B is the sigmoid of A"),
        (softmax(A, 1).transpose(LAST), "B is the softmax along axis 1 of A, transposed by"),
        (np.clip(A, -1, 1), "B is A held between -1 and 1"),
        (np.where(A > 0, A, 0.01 * A).astype("f"), "B is A with its negative part times 0.01"),
        (np.where(KEPT, A / 0.75, 0).astype("f"), "B is A with 25."),
        (A + normal(6, 1, 1, seed=5), "B is A plus a number for each place on axis 1, from"),
        (A * normal(6, 1, 1, seed=5), "B is A times a number for each place on axis 1, from"),
        (bfloat16(rounded(A)), "B is A rounded to bfloat16, and has its digits alone"),
        (float16(rounded(A)), "B is A rounded to float16 or TF32, and has its digits alone"),
        (
            tf32(rounded(A) / 2**16) * 2**16,
            "B is A rounded to float16 or TF32, and has its digits alone",
        ),
        (A + FRAME, "they differ at the border of axes 2 and 3 alone"),
        (np.concatenate([A[:7], A[:1]]), "they differ at 7 of axis 0 alone"),
    ],
)
def test_a_relation_is_said_both_ways(b, says):
    said, holds = relation(A, b)
    assert said.startswith(says) and holds
    assert relation(b, A)[1]


def test_an_error_of_a_lower_precisions_size_is_said_to_be_no_more_than_that():
    said, holds = relation(A, A + np.float32(2e-3) * normal(*A.shape, seed=6))
    assert not holds and said.startswith("no relation found; correlation 0.99999")
    assert said.endswith("of the size of rounding to bfloat16 (0.00169)")


KINDS = {
    "normal": lambda r, s: r.standard_normal(s).astype("f"),
    "relu": lambda r, s: np.maximum(r.standard_normal(s) - 1, 0).astype("f"),
    "binary": lambda r, s: r.randint(0, 2, s),
    "labels": lambda r, s: r.randint(0, 10, s),
    "probabilities": lambda r, s: softmax(r.standard_normal(s), -1).astype("f"),
    "sorted": lambda r, s: np.sort(r.standard_normal(s).ravel()).reshape(s).astype("f"),
    "nearly constant": lambda r, s: (100 + 1e-5 * r.standard_normal(s)).astype("f"),
    "huge": lambda r, s: 1e200 * r.standard_normal(s),
    "tiny": lambda r, s: 1e-200 * r.standard_normal(s),
}


@pytest.mark.parametrize("kind", KINDS)
def test_unrelated_arrays_have_no_relation(kind):
    """Not even small arrays, where everything is alike, or a transposed square."""
    random = np.random.RandomState(0)
    for other in KINDS:
        for shape in ((1,), (2,), (3,), (10,), (2, 2), (4, 4), (3, 3, 3), (64, 10), (2, 3, 4, 5)):
            a, b = KINDS[kind](random, shape), KINDS[other](random, shape)
            said, holds = relation(a, b)
            assert not holds, (said, kind, other, shape)


def test_symmetric_arrays_are_not_said_to_be_transposed():
    a = normal(12, 12)
    a = a + a.T
    assert relation(a, a.T) == ("the same", True)
    assert relation(a, 2 * a.T) == ("B is A times 2", True)
    assert relation(np.ones((4, 4), "f"), np.ones((4, 4), "f")) == ("no proof", False)
