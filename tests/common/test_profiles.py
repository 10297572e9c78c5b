"""Profiles: each operation in its category, complete answers of workers, clear errors."""

import json
import os
import sys
import time

import jsonschema
import pytest

import frameworks
from common import networks
from common.profiles import categories, kernels, profiles, worker
from common.system import commands, environments, modules
from common.system.files import ROOT


def seen():
    """{environment: {category: operations}}, from the folders' ``operations.json``.

    These took 0.2% or more of the CNN's step in lane best. "unknown" has names, by network, that
    only resemble known ones.
    """
    operations = {}
    for folder in frameworks.FRAMEWORKS:
        path = os.path.join(ROOT, "frameworks", folder, "operations.json")
        if os.path.isfile(path):
            with open(path) as file:
                operations.update(json.load(file))
    return operations


SEEN = seen()
LOOKALIKES = {name: known.pop("unknown", {}) for name, known in SEEN.items()}
NAME = frameworks.REFERENCE
WITHOUT = next(name for name in frameworks.ENVIRONMENTS if not modules.has(name, "resnet"))
UNPROFILED = next(name for name in frameworks.ENVIRONMENTS if not modules.has(name, "profile"))
DIRECTED = [name for name in SEEN if categories.phases(name, "cnn", {"x": 1.0})]


@pytest.mark.parametrize("name", list(SEEN))
def test_operations_are_in_their_category(name):
    for category, operations in SEEN[name].items():
        result = {label: categories.category(name, "cnn", label) for label in operations}
        assert set(result.values()) == {category}, result
    for model, operations in LOOKALIKES[name].items():
        result = {label: categories.category(name, model, label) for label in operations}
        assert set(result.values()) == {categories.OTHER}, result


@pytest.mark.parametrize("name", list(SEEN))
def test_a_table_has_known_categories_only(name):
    for table in ("CATEGORIES", "IN_THE_CNN"):
        assert set(categories._table(name, table)) <= set(categories.CATEGORIES)


def test_few_of_the_operations_are_in_no_category():
    others = {name: len(known.get(categories.OTHER, [])) for name, known in SEEN.items()}
    every = sum(len(labels) for known in SEEN.values() for labels in known.values())
    assert every > 200 and sum(others.values()) < 0.06 * every, others


@pytest.mark.parametrize("name", list(SEEN))
def test_forward_and_backward_convolutions_differ_unless_the_profiler_cannot_say(name):
    known = SEEN[name]
    assert categories.CONVOLUTION in known or known[categories.FORWARD]
    assert categories.CONVOLUTION in known or known[categories.BACKWARD]


def test_an_environment_for_a_gpu_has_its_frameworks_profiler():
    for name, environment in frameworks.ENVIRONMENTS.items():
        if environment.gpu_of in SEEN:
            (operation, *_) = SEEN[environment.gpu_of]["dense"]
            assert categories.category(name, "cnn", operation) == "dense"


TABLE = {
    "CATEGORIES": {categories.FORWARD: "^Conv$", "dense": "^FC", "update": "Update$"},
    "DIRECTIONS": {"forward": "^Conv$", "backward": "Gradient$"},
}


def test_shares_are_of_the_sum_and_in_order(monkeypatch):
    monkeypatch.setattr(categories, "_table", lambda name, table: TABLE.get(table, {}))
    shares = categories.shares("x", "cnn", {"Conv": 1.0, "FC": 0.5, "FCGradient": 0.5, "y": 2.0})
    assert list(shares.items()) == [
        (categories.FORWARD, 0.25),
        ("dense", 0.25),
        (categories.OTHER, 0.5),
    ]


def test_phases_are_known_if_the_profiler_has_directions(monkeypatch):
    monkeypatch.setattr(categories, "_table", lambda name, table: TABLE.get(table, {}))
    operations = {"Conv": 1.0, "FCGradient": 0.5, "SGDUpdate": 0.25, "x": 0.25}
    phases = categories.phases("x", "cnn", operations)
    assert list(phases.items()) == [("forward", 0.5), ("backward", 0.25), ("update", 0.125)]
    monkeypatch.setattr(categories, "_table", lambda name, table: {})
    assert not categories.phases("x", "cnn", operations)


@pytest.mark.parametrize("name", DIRECTED)
def test_the_directions_of_a_convolution_are_phases(name):
    for category, phase in ((categories.FORWARD, "forward"), (categories.BACKWARD, "backward")):
        for operation in SEEN[name][category]:
            assert categories.phases(name, "cnn", {operation: 1.0})[phase] == 1, operation


def test_multiply_adds_are_of_the_convolutions_only():
    counted = profiles.multiply_adds(networks.find("cnn"))
    first, *others = 1024 * 50 * 27, 1024 * 50 * 450, 256 * 100 * 450, 256 * 100 * 900
    assert counted[categories.FORWARD] == first + sum(others)
    assert counted[categories.BACKWARD] == first + 2 * sum(others)
    assert profiles.multiply_adds(networks.find("lstm")) is None


@pytest.mark.parametrize(
    "arguments, line",
    [
        ([], "required"),
        (["nothing"], "unknown framework 'nothing'"),
        ([NAME + ":fast"], NAME + ":fast: the lanes are same, best, bf16"),
        ([WITHOUT, "--model", "resnet"], "%s has no network 'resnet'" % WITHOUT),
        ([NAME, UNPROFILED], "no profiler is known for %s" % UNPROFILED),
        ([NAME + ":best+freed"], NAME + ":best+freed: a profile takes NAME or NAME:LANE"),
        ([NAME + ":plain"], NAME + ":plain: nothing proves a plain script"),
        ([NAME + "@8"], NAME + "@8: a profile takes NAME or NAME:LANE"),
        ([NAME, "--steps", "0"], "'0' is not a whole number of 1 or more"),
        ([NAME, NAME + ":same", "--out", "x"], "--out takes one profile, not 2"),
        ([NAME, "--out", ROOT], "cannot be written: it is not a plain file"),
    ],
)
def test_bad_input_is_one_line(arguments, line, capsys):
    assert commands.guarded(profiles.command, arguments) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def test_best_is_the_default_lane_and_no_contender_comes_twice():
    keys = [NAME + lane for lane in (":best", ":same")]
    assert list(profiles.parse([NAME, NAME + ":"] + keys).contenders) == keys


ANSWERS = """
import json, sys
print("what a framework prints")
answer, kernels = %r
path = sys.argv[sys.argv.index(%r) + 1]
if path == "--lane":
    print(kernels)
else:
    with open(path, "w") as file:
        json.dump(answer, file)
"""
FORWARD, BACKWARD = (SEEN[NAME][way][0] for way in (categories.FORWARD, categories.BACKWARD))
ANSWER = {
    "versions": {"framework": "1"},
    "settings": {"device": "cpu"},
    "environment": {"allocator": {"MALLOC_TOP_PAD_": "1"}, "cpu_switches": {}},
    "source_sha256": "0" * 64,
    "seconds_per_step": 0.2,
    "passes": [0.1, 0.2, 0.3],
    "operations": {BACKWARD: 0.1875, FORWARD: 0.0625},
}


# How MKL-DNN 0.x, DNNL 1.x, oneDNN 2.x and 3.x print one of the CNN's convolutions.
SHAPE = "mb64_%sic50oc100_ih16oh16kh3sh1dh0ph1_iw16ow16kw3sw1dw0pw1,7.4"
OLD = "mkldnn_verbose,exec,convolution,%s,fsrc:%s fwei:%s fbia:x fdst:%s,alg:convolution_direct,"
NEW = (
    "onednn_verbose,v1,primitive,exec,cpu,convolution,%s,src:%s::blocked:acdb::f0 "
    "wei:%s:ap:blocked:%s::f0 bia:undef::undef::: dst:%s::blocked:acdb::f0,attr-scratchpad:user,"
    "alg:convolution_direct,"
)
DNNL = (
    "dnnl_verbose,exec,cpu,convolution,%s,src_f32:p:blocked:%s:f0 wei_f32:p:blocked:%s:f0 "
    "bia_undef::undef::f0 dst_f32:p:blocked:%s:f0,,alg:convolution_direct,"
)
FLOAT = ("f32", "f32")
BRGEMM = "brg_conv_bwd:avx512_core+brg_conv_fwd:avx512_core,backward_data"
PLAIN = ("abcd",) * 3
KERNELS = {  # {a line without its shape: (inputs, outputs) computed for 50 and 100}
    OLD % ("jit:avx512_common,forward_training", "nChw16c", "OIhw16i16o", "nChw16c"): (64, 112),
    OLD % ("jit:avx512_common,backward_data", "nChw16c", "OIhw16o16i", "nChw16c"): (64, 112),
    OLD % ("jit:avx512_common,forward_training", "nchw", "Ohwi16o", "nChw16c"): (50, 112),
    OLD % ("gemm:blas,forward_training", "nchw", "oihw", "nchw"): (50, 100),
    DNNL % (("x64:gemm:jit,backward_weights",) + PLAIN): (50, 100),
    DNNL % ("jit:avx2,backward_weights", "aBcd8b", "ABcd8b8a", "aBcd8b"): (56, 104),
    NEW % ("brg_conv_fwd:avx512_core,forward_training", *FLOAT, "Acdb32a", "f32"): (50, 112),
    NEW % ("brg_conv_fwd:avx10_1_512,forward_training", *FLOAT, "Acdb32a", "f32"): (50, 112),
    NEW % (BRGEMM, *FLOAT, "Bcda64b", "f32"): (64, 100),
    # The weights' gradient is stored in blocks of both, but computed for 50 inputs only.
    NEW % ("jit:avx512_core,backward_weights", *FLOAT, "ABcd16b16a", "f32"): (50, 112),
}
UNKNOWN = [
    NEW % ("brg_conv_fwd:avx512_core_bf16,forward_training", "bf16", "bf16", "AcdB32a2b", "bf16"),
    NEW % ("jit:avx11,forward_training", *FLOAT, "Acdb32a", "f32"),
    DNNL % ("jit_wino:avx512_core,forward_training", "aBcd16b", "ABcd16b16a", "aBcd16b"),
]
# All convolutions of a step, with channels last.
WAYS = (
    ("brg_conv_fwd:avx512_core,forward_training", "Acdb64a"),
    ("jit:avx512_core,backward_weights", "ABcd16b16a"),
    (BRGEMM, "Bcda64b"),
)
STEP = [
    NEW % (kernel, *FLOAT, weights, "f32")
    + "mb64_ic%doc%d_ih%doh%dkh3sh1dh0ph1_iw%dow%dkw3sw1dw0pw1,1" % ((ic, oc) + (side,) * 4)
    for ic, oc, side in ((3, 50, 32), (50, 50, 32), (50, 100, 16), (100, 100, 16))
    for kernel, weights in WAYS[: 2 if ic == 3 else 3]
]


@pytest.mark.parametrize("line", list(KERNELS))
def test_padding_is_counted_by_the_layouts_of_kernels_and_images(line):
    text = "\n".join(["warm", kernels.MARK, "another thread's " + line + SHAPE % "", "noise"])
    (result,) = kernels.read(text)
    assert result["multiply_adds"] == 64 * 16 * 16 * 9 * 50 * 100
    inputs, outputs = KERNELS[line]
    assert kernels.computed(result) == 64 * 16 * 16 * 9 * inputs * outputs
    assert kernels.own_share([result]) == pytest.approx(5000 / (inputs * outputs))


@pytest.mark.parametrize("line", UNKNOWN)
def test_no_padding_is_guessed(line):
    known = list(KERNELS)[0]
    text = "\n".join([kernels.MARK, known + SHAPE % "g1", line + SHAPE % ""])
    assert len(kernels.read(text)) == 2 and kernels.own_share(kernels.read(text)) is None


def test_only_the_last_step_is_counted():
    line = list(KERNELS)[0] + SHAPE % "g1"
    assert kernels.read(line) == kernels.read("\n".join([line, kernels.MARK])) == []
    inner = (
        "onednn_verbose,v1,primitive,exec,cpu,inner_product,brgemm:avx512_core,forward_training,"
    )
    assert (
        kernels.read(kernels.MARK + "\n" + inner + "src:f32::blocked:ab::f0,,,mb64ic64oc512") == []
    )


def fake_worker(code, tmp_path, monkeypatch):
    """Run ``code`` in this interpreter as the worker; the machine is not timed."""
    monkeypatch.setenv("ROSETTA_CACHE", "%s-cache" % tmp_path)
    command = [sys.executable, "-c", code]
    monkeypatch.setattr(environments, "make", lambda names: None)
    monkeypatch.setattr(environments, "inside", lambda _, *arguments: command + list(arguments))
    monkeypatch.setattr(profiles.machine, "matmul_flops", lambda: 1e11)


def schema():
    with open(os.path.join(ROOT, "reports", "profile.schema.json")) as file:
        return json.load(file)


def test_an_answer_becomes_a_result_file(tmp_path, monkeypatch, capsys):
    log = "\n".join(["ready", kernels.MARK] + STEP)
    fake_worker(ANSWERS % ((ANSWER, log), NAME), tmp_path, monkeypatch)
    out = tmp_path / "profile.json"
    assert commands.guarded(profiles.command, [NAME, "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    jsonschema.validate(result, schema())
    assert result["parts"] == {categories.FORWARD: 0.25, categories.BACKWARD: 0.75}
    assert result["machine"]["allocator"] == {"MALLOC_TOP_PAD_": "1"}
    assert result["lane"] == "best" and result["matmul_flops"] == [1e11, 1e11]
    assert len(result["kernels"]) == len(STEP)
    printed = capsys.readouterr().out
    assert "slowest: %s (75%%)" % BACKWARD in printed
    assert "84% of the convolutions' arithmetic" in printed
    jsonschema.Draft7Validator.check_schema(schema())
    result["parts"]["convolutions"] = 0.1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(result, schema())


def test_kernels_of_only_some_convolutions_are_dropped(tmp_path, monkeypatch, capsys):
    log = "\n".join([kernels.MARK] + STEP[1:])
    fake_worker(ANSWERS % ((ANSWER, log), NAME), tmp_path, monkeypatch)
    out = tmp_path / "profile.json"
    assert commands.guarded(profiles.command, [NAME, "--out", str(out)]) == 0
    assert json.loads(out.read_text())["kernels"] == []
    assert "padding" not in capsys.readouterr().out


class Asynchronous:
    """A module that returns from each step at once, and computes in ``wait``."""

    @staticmethod
    def train(model, batches):
        return iter(batches)

    @staticmethod
    def wait(model):
        time.sleep(0.05)


def test_a_profiled_step_ends_when_the_device_has_finished():
    training = worker.Training(Asynchronous, {}, None, None)
    started = time.perf_counter()
    assert list(training.train(None, range(4))) == [0, 1, 2, 3]
    assert time.perf_counter() - started >= 0.05


def test_a_worker_that_fails_is_quoted_and_nothing_is_written(tmp_path, monkeypatch, capsys):
    code = "import sys; print('noise'); print('error: not proven'); sys.exit(2)"
    fake_worker(code, tmp_path, monkeypatch)
    out = tmp_path / "profile.json"
    assert commands.guarded(profiles.command, [NAME, "--out", str(out)]) == 2
    assert capsys.readouterr().err == "error: %s:best: error: not proven\n" % NAME
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the NumPy environment's profile needs 3.11")
@pytest.mark.slow
def test_the_lstm_is_proven_and_profiled(tmp_path, monkeypatch):
    """The real worker, in this interpreter."""
    monkeypatch.setattr(environments, "make", lambda names: None)
    monkeypatch.setattr(environments, "inside", lambda _, *rest: [sys.executable, *rest])
    monkeypatch.setenv("PYTHONPATH", ROOT)
    out = tmp_path / "profile.json"
    arguments = [NAME + ":same", "--model", "lstm", "--threads", "1", "--steps", "3"]
    assert commands.guarded(profiles.command, arguments + ["--out", str(out)]) == 0
    result = json.loads(out.read_text())
    jsonschema.validate(result, schema())
    assert sum(result["parts"].values()) == pytest.approx(1) and result["parts"]["update"] > 0
    assert any("LSTM.forward" in operation for operation in result["operations"])
