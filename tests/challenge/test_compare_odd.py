"""Odd recordings: nothing vouches for a wrong layer, nothing ends in a traceback."""

import numpy as np
import pytest

from common.challenge import challenge
from common.compare.functions import bfloat16
from common.system import commands
from tests.challenge.conftest import normal


def named(names, *arrays):
    return dict(zip(names.split(), arrays))


X, Y = normal(16, 8), normal(16, 32, seed=1)
WRONG = [normal(16, 32, seed=seed) for seed in range(2, 8)]


@pytest.mark.parametrize(
    "last", [normal(16, 1, seed=9), normal(16, 32, seed=9), (normal(16, 12) > 0).astype("f")]
)
@pytest.mark.parametrize("names", ["arr_0 arr_1 arr_2 arr_3", "x dense dense_1 target"])
def test_what_was_given_does_not_vouch_for_a_network(compared, last, names):
    a = named("x h1 h2 y" if "x" in names else names, X, *WRONG[:2], last)
    code, difference, _ = compared(a, named(names, X, *WRONG[2:4], last))
    assert code == 3 and difference["a_place"] == 1


def test_more_exact_layers_than_new_ones_vouch_for_them(compared):
    """One side records a layer that the other does not have, and both are computed alike."""
    a = named("x scaled h1 h2 y", X, WRONG[0], *WRONG[1:4])
    assert compared(a, named("x other h1 h2 y", X, WRONG[5], *WRONG[1:4]))[0] == 0


def test_a_head_under_another_name_is_mentioned(compared):
    near = [array * np.float32(1 + 1e-7) for array in WRONG[:2]]
    a = named("x trunk policy value", X, WRONG[0], normal(16, 4, seed=8), WRONG[1])
    b = named("x body actor critic", X, near[0], normal(16, 4, seed=9), near[1])
    code, _, printed = compared(a, b)
    assert code == 0 and "not compared: policy (16, 4) in A, actor (16, 4) in B" in printed


def test_a_float64_pass_of_something_else_is_refused(compared, tmp_path):
    exact = str(tmp_path / "exact.npz")
    np.savez(exact, **named("x h1 h2", X.astype("d"), *WRONG[:2]))
    right = named("x h1 h2", X, *WRONG[2:4])
    code, _, error = compared(right, right, "--exact", exact)
    assert code == 2 and "is not the pass of" in error and "h1 is another array" in error


def test_weights_from_a_bfloat16_file_do_not_loosen_the_tolerance(compared):
    start = named("x fc1.weight fc2.weight", X, *[bfloat16(w) for w in WRONG[:2]])
    assert compared(dict(start, h=Y), dict(start, h=Y * (1 + 3e-3 * WRONG[2])))[0] == 3


@pytest.mark.parametrize("half", [bfloat16, lambda x: x.astype(np.float16)])
def test_a_wrong_gradient_in_half_precision_is_not_rounding(compared, half):
    w, b, of_w, of_b, other = [
        normal(*s, seed=n) for n, s in enumerate([(32, 9), (9,)] * 2 + [(9,)])
    ]
    parts = [half(x) for x in (X, w, b, of_w, of_b / 10)]
    a = named("x step0.fc.weight step0.fc.bias grad1.fc.weight grad1.fc.bias", *parts)
    code, difference, _ = compared(a, dict(a, **{"grad1.fc.bias": half(other / 10)}))
    assert code == 3 and difference["a"] == "grad1.fc.bias"


def test_constants_of_infinity_agree_and_nan_does_not(compared):
    a = named("x mask h", X, np.full((16, 32), -np.inf, "f"), Y)
    assert compared(a, a)[0] == 0
    code, difference, _ = compared(a, dict(a, mask=np.full((16, 32), np.nan, "f")))
    assert code == 3 and difference["a"] == "mask"


def test_nan_in_the_same_places_of_another_layout_agrees(compared):
    scores = normal(2, 4, 6, 6)
    scores[0, :, 3] = np.nan
    a = named("x scores", normal(2, 6, 8), scores)
    assert compared(a, dict(a, scores=scores.transpose(0, 2, 1, 3)))[0] == 0
    code, difference, _ = compared(a, dict(a, scores=scores.transpose(0, 2, 1, 3) * 2))
    assert code == 3 and difference["relation"].endswith("; A has 24")


def test_complex_numbers_are_compared_by_their_parts(compared):
    a = named("x fft", X, np.fft.fft(Y).astype(np.complex64))
    assert compared(a, a)[0] == 0
    assert compared(a, dict(a, fft=a["fft"].conj()))[0] == 3


def test_a_layer_that_repeats_its_first_row_is_blamed_itself(compared):
    x, places, h = (normal(16, 8, 4, seed=n) for n in range(3))
    a = named("x places h y", x, places[:1], h, h @ normal(4, 5))
    same = np.repeat(h[:1], 16, 0)
    code, difference, _ = compared(a, dict(a, h=same, y=same @ normal(4, 5)))
    assert code == 3 and difference["a"] == "h"
    assert compared(a, dict(a, places=np.repeat(places[:1], 16, 0)))[0] == 0


GEMMA = named("x q k s", normal(2, 6, 24), *[normal(2, 6, 32, seed=n) for n in (1, 2)], None)
MAPS = [normal(4, 8, size, size, seed=size) for size in (16, 8, 4)]


@pytest.mark.parametrize(
    "a, wrong",
    [
        (named("x logits out", X[:1], Y[:1], 2 * Y[0]), dict(out=3 * Y[0] + WRONG[0][0])),
        (named("x h delta", X, Y, 0 * X), dict(h=WRONG[0], delta=X)),
        (dict(GEMMA, s=normal(2, 4, 6, 6)), dict(s=normal(2, 4, 6, 6, seed=1))),
        (named("x d2.conv d1.conv out", *MAPS, X[:4]), {"d2.conv": -(MAPS[1] ** 2)}),
        (named("x grad.w w", X, Y[0], Y[:2]), {"grad.w": Y[1]}),
    ],
)
def test_odd_shapes_are_no_traceback(compared, a, wrong):
    code, difference, _ = compared(a, dict(a, **wrong))
    assert code == 3 and difference["a"] == next(iter(wrong))


def test_a_name_cannot_command_the_terminal(compared):
    a = {"x": X, "h\n\x1b[31m": Y}
    code, _, printed = compared(a, a)
    assert code == 0 and "\x1b" not in printed and "h??[31m (16, 32)" in printed


def test_a_wrong_gradient_with_its_axes_in_another_order_is_a_difference(compared):
    """Its kernel is no square, so that no transposition of a tied weight fits it."""
    ours, theirs = normal(16, 8, 3, 5), normal(3, 5, 8, 16, seed=1)
    code, difference, _ = compared({"x": X, "grad1 w": ours}, {"x": X, "grad1 w": theirs})
    assert code == 3 and difference["a"] == "grad1 w"


def test_a_kernel_whose_heads_are_joined_in_another_order_is_shown(compared):
    w = normal(4, 6, 5)
    joined = w.transpose(1, 2, 0).reshape(1, 30, 4)
    code, _, printed = compared({"x": X, "w": w, "h": Y}, {"x": X, "w": joined, "h": Y})
    assert code == 0 and "transposed by (1, 2, 0)" in printed


def test_large_values_that_vary_are_no_mask(compared):
    ours, theirs = Y.copy(), Y.copy()
    ours[:, 3], theirs[:, 3] = (-20000 + 1000 * normal(16, seed=seed) for seed in (2, 9))
    code, difference, _ = compared({"x": X, "h": ours}, {"x": X, "h": theirs})
    assert code == 3 and difference["a"] == "h"
    scores = np.where(normal(16, 32, seed=3) > 0, Y, Y - 10000)  # a mask that is added
    code, _, printed = compared({"x": X, "h": scores}, {"x": X, "h": scores - 10 * (scores < -99)})
    assert code == 0 and "masks with" in printed


def test_an_infinite_value_on_both_sides_does_not_change_the_precision(compared):
    ours = Y.astype(np.float16)
    theirs = (Y * (1 + 2e-4 * normal(16, 32, seed=2))).astype(np.float16)
    ours[0, 0] = theirs[0, 0] = np.inf
    assert compared({"x": X, "h": ours}, {"x": X, "h": theirs})[0] == 0
    assert compared({"x": X, "h": ours}, {"x": X, "h": 1.1 * theirs})[0] == 3


def test_the_first_arrays_are_named_where_batches_differ(compared):
    code, _, error = compared({"x": X, "h": Y}, {"h": Y + 1, "x": normal(16, 8, seed=5)})
    assert code == 2 and "x (16, 8) in A, x (16, 8) in B" in error


def test_an_update_of_another_shape_is_no_step(compared):
    arrays = dict(x=X, w=Y[0], grad_w=Y[1])
    arrays["update w"] = Y[2, :16]
    assert compared(arrays, arrays)[0] == 0


def test_names_in_an_error_are_printed_without_their_control_characters(compared):
    code, _, error = compared({"x": X}, {"x\n\x1b[31m": np.zeros((0, 3))})
    assert code == 2 and "x??[31m is empty" in error


def test_whole_numbers_too_large_for_a_float_are_compared(compared):
    ids = np.arange(16) + 2**60
    assert compared({"x": X, "ids": ids, "h": Y}, {"x": X, "ids": ids, "h": Y})[0] == 0
    code, difference, _ = compared({"x": X, "ids": ids}, {"x": X, "ids": ids + 1})
    assert code == 3 and difference["a"] == "ids"


def test_arrays_of_seven_axes_are_compared_as_they_are(compared):
    ours = normal(*[2] * 7)
    _, difference, _ = compared({"x": X, "h": ours}, {"x": X, "h": ours[::-1]})
    assert "transposed" not in difference["relation"]


def test_arrays_of_one_name_are_compared_wherever_they_stand(compared):
    """B computes a branch later, and has one more array, so it is not put in A's order."""
    near = [array * np.float32(1 + 1e-7) for array in WRONG]
    a = named("x aux t1 t2 t3", X, WRONG[3], *WRONG[:3])
    b = named("x t1 aux t2 t3 extra", X, near[0], near[3], *near[1:3], near[4])
    assert compared(a, b)[0] == 0
    code, difference, _ = compared(a, dict(b, aux=near[5]))
    assert code == 3 and difference["a"] == difference["b"] == "aux"


def test_a_loss_behind_them_does_not_hide_that_results_have_moved(compared):
    y = normal(16, 6, 10, seed=2)
    a = named("x y loss", X, y, np.float32((y**2).mean()))
    code, difference, _ = compared(a, dict(a, y=y[:, ::-1]))
    assert code == 3 and difference["relation"] == "B is A, flipped along axis 1"


def test_zeros_in_another_layout_agree(compared):
    a = {"x": X, "step0 head.weight": np.zeros((10, 8), "f"), "y": Y}
    assert compared(a, dict(a, **{"step0 head.weight": np.zeros((8, 10), "f")}))[0] == 0
    assert compared(a, dict(a, **{"step0 head.weight": np.zeros((8, 10), "f") + 1}))[0] == 3


def test_a_mask_on_one_side_alone_is_a_difference(compared):
    hidden = np.where(normal(16, 32, seed=3) > 0, 0, np.float32(-1))
    code, difference, _ = compared(
        named("x mask y", X, hidden * np.float32(1e9), Y), named("x mask y", X, hidden, Y)
    )
    assert code == 3 and difference["a"] == "mask"


def in_float64(folder, arrays, **other):
    """The path of the same recording in float64, with float32's rounding taken off."""
    path = str(folder / "exact.npz")
    np.savez(
        path, **{n: array.astype("d") * (1 + 1e-8) for n, array in dict(arrays, **other).items()}
    )
    return path


def test_another_sample_in_float64_allows_no_other_in_the_port(compared, tmp_path):
    a = named("x h1 h2 h3 sample", X, *WRONG[:3], WRONG[3])
    exact = in_float64(tmp_path, a, sample=WRONG[4])
    assert compared(a, a, "--exact", exact)[0] == 0
    code, difference, _ = compared(a, dict(a, sample=WRONG[5]), "--exact", exact)
    assert code == 3 and difference["a"] == "sample"


def test_a_recording_that_is_not_in_float64_is_refused_as_exact(compared, tmp_path):
    a = named("x h1 h2", X, *WRONG[:2])
    np.savez(str(tmp_path / "b32.npz"), **a)
    code, _, error = compared(a, a, "--exact", str(tmp_path / "b32.npz"))
    assert code == 2 and "record it in float64" in error


def test_a_small_gradient_is_no_rounding_if_float64_has_it_too(compared, tmp_path):
    w, v = normal(32, 9, seed=2), normal(9, 4, seed=3)
    a = {"x": X, "step0 a.weight": w, "step0 b.weight": v}
    a.update(
        {"grad1 b.weight": normal(9, 4, seed=4), "grad1 a.weight": 1e-6 * normal(32, 9, seed=5)}
    )
    b = dict(a, **{"grad1 a.weight": -a["grad1 a.weight"]})
    code, difference, _ = compared(a, b, "--exact", in_float64(tmp_path, a))
    assert code == 3 and difference["a"] == "grad1 a.weight"


def test_one_number_s_error_may_be_small_by_chance(compared, tmp_path):
    """Such as a loss whose float32 value lies nearer to the exact one than others' do."""
    a = named("x h1 h2", X, *WRONG[:2])
    exact = {name: array * (1 + 1e-7 * normal(*array.shape, seed=9)) for name, array in a.items()}
    a["loss1"], exact["loss1"] = np.float32(2.5), np.float64(2.5 + 1e-8)
    path = str(tmp_path / "exact.npz")
    np.savez(path, **{name: np.asarray(array, "d") for name, array in exact.items()})
    near, far = (dict(a, loss1=np.float32(2.5 + off)) for off in (1e-6, 1e-4))
    assert compared(a, near, "--exact", path)[0] == 0
    assert compared(a, far, "--exact", path)[0] == 3


def test_an_array_that_is_mostly_rounding_does_not_agree_with_any(compared, tmp_path):
    a = named("x h1 h2", X, *WRONG[:2])
    a.update({"grad1 w": WRONG[2], "grad1 v": WRONG[3]})
    exact = {n: array.astype("d") * (1 + 1e-8) for n, array in a.items()}
    exact["grad1 w"] = a["grad1 w"] + 0.1 * normal(*a["grad1 w"].shape, seed=8).astype("d")
    path = str(tmp_path / "exact.npz")
    np.savez(path, **exact)
    off = 0.15 * normal(*a["grad1 w"].shape, seed=7)
    assert compared(a, dict(a, **{"grad1 w": a["grad1 w"] + off}), "--exact", path)[0] == 0
    code, difference, _ = compared(a, dict(a, **{"grad1 w": WRONG[4]}), "--exact", path)
    assert code == 3 and difference["a"] == "grad1 w"


def test_statistics_from_a_shorter_file_do_not_loosen_the_rest(compared):
    a = named("x h1 h2", X, *WRONG[:2])
    for n in range(6):
        for step in (0, 1):
            short = normal(64, seed=n).astype("f2").astype("f")
            a["step%d norm%d.running_mean" % (step, n)] = short
    a["scores"] = WRONG[2]
    b = dict(a, scores=a["scores"] * np.float32(1.0005))
    assert compared(a, a)[0] == 0
    assert compared(a, b)[0] == 3


def test_a_port_in_fewer_digits_is_a_hint(compared):
    a = named("x h1 h2 h3", X, *WRONG[:3])
    b = {name: np.ascontiguousarray(array) for name, array in a.items()}
    for name in list(b)[1:]:
        bits = b[name].view(np.uint32) & np.uint32(0xFFFF0000)
        b[name] = bits.view(np.float32)
    code, _, out = compared(a, b)
    assert code == 0 and "B has fewer digits than A" in out
    assert "fewer digits" not in compared(b, a)[2]


def test_a_result_on_one_side_alone_is_a_hint(compared):
    a = named("x h1 h2", X, *WRONG[:2])
    b = dict(a, output=np.exp(a["h2"]))
    for pair, side in (((a, b), "B"), ((b, a), "A")):
        code, _, out = compared(*pair)
        assert code == 0 and "output (" in out and "which only %s has" % side in out
    assert "not compared" not in compared(a, dict(a, output=a["h2"]))[2]


def test_another_order_before_a_second_result_is_a_hint(compared):
    boxes, scores = normal(8, 100, 4, seed=1), normal(8, 100, seed=2)
    a = dict(x=normal(8, 5), boxes=boxes, scores=scores)
    code, _, out = compared(a, dict(a, boxes=boxes[..., [1, 0, 3, 2]]))
    assert code == 0 and "in another order: boxes (8, 100, 4), axis 2" in out
    assert "in another order" not in compared(a, a)[2]


def test_one_name_with_two_sizes_is_a_hint(compared):
    a = named("x table h1 h2", X, normal(50, 4, seed=1), *WRONG[:2])
    noise = {name: a[name] * (1 + np.float32(1e-7) * WRONG[2]) for name in ("h1", "h2")}
    code, _, out = compared(a, dict(a, table=normal(56, 4, seed=1), **noise))
    assert code == 0 and "table (50, 4) in A, table (56, 4) in B: they differ in size" in out


def test_places_behind_a_mask_make_no_difference_under_one_name(compared):
    ids, mask = np.arange(24).reshape(4, 6), (np.arange(6) < [[6], [2], [5], [3]]).astype("f")
    hidden, scores = normal(4, 6, 16), normal(4, 30, seed=2)
    a = dict(ids=ids, mask=mask, hidden=hidden, scores=scores)
    b = dict(a, hidden=np.where(mask[..., None] > 0, hidden, np.float32(0)))
    b["scores"] = scores * (1 + np.float32(1e-7) * normal(4, 30, seed=3))
    code, _, out = compared(a, b)
    assert code == 0 and "no difference where it counts: mask leaves out" in out
    wrong = dict(b, hidden=b["hidden"] + np.float32(0.01) * normal(4, 6, 16, seed=4))
    assert compared(a, wrong)[0] == 3


def test_a_mask_of_what_does_not_count_hides_nothing(compared):
    x, scores = normal(4, 6, 16), normal(4, 30, seed=2)
    padding = (np.arange(6) >= np.array([[6], [2], [5], [3]])).astype("f")
    right, wrong = (normal(4, 6, 16, seed=n) * (1 - padding[..., None]) for n in (3, 4))
    a = dict(x=x, pad=padding, h=right, scores=scores)
    b = dict(a, h=wrong, scores=scores * (1 + np.float32(1e-7) * normal(4, 30, seed=5)))
    code, difference, _ = compared(a, b)
    assert code == 3 and difference["a"] == "h"


def test_a_result_does_not_overwrite_a_recording(tmp_path, capsys):
    path = str(tmp_path / "a.npz")
    np.savez(path, **named("x h1 h2", X, *WRONG[:2]))
    before = open(path, "rb").read()
    code = commands.guarded(challenge.command, ["compare", path, path, "--json", path])
    assert code == 2 and "cannot be both a result and another file" in capsys.readouterr().err
    assert open(path, "rb").read() == before


def test_a_number_of_a_step_may_have_any_length(compared):
    a = named("x h1 h2", X, *WRONG[:2])
    a["step" + "1" * 5000 + " w"] = WRONG[2]
    assert compared(a, a)[0] == 0
