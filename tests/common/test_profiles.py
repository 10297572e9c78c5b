"""Profiles: each operation in its part, a worker's answer whole, clear errors."""

import json
import os
import sys

import jsonschema
import pytest

from common.given import models
from common.host import commands, environments
from common.host.files import ROOT
from common.profiles import kernels, parts, profiles

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "operations.json")) as file:
    # {environment: {part: operations}}: those that took 0.2% or more of the CNN's step, lane best.
    SEEN = json.load(file)


@pytest.mark.parametrize("name", list(SEEN))
def test_what_profilers_say_is_in_its_part(name):
    for part, operations in SEEN[name].items():
        found = {operation: parts.part(name, "cnn", operation) for operation in operations}
        assert set(found.values()) == {part}, found


def test_few_of_the_operations_are_of_no_part():
    others = {name: len(known.get(parts.OTHER, [])) for name, known in SEEN.items()}
    every = sum(len(one) for known in SEEN.values() for one in known.values())
    assert every > 200 and sum(others.values()) < 0.06 * every, others


@pytest.mark.parametrize("name", sorted(set(SEEN) - {"keras-jax"}))
def test_both_ways_through_the_convolutions_are_told_apart(name):
    assert SEEN[name][parts.FORWARD] and SEEN[name][parts.BACKWARD]


@pytest.mark.parametrize(
    "name, model, operation",
    [
        # What is a part's in the CNN alone.
        ("pytorch", "pose", "MulBackward0 > aten::mul"),
        ("tensorflow", "lstm", "Mul"),
        ("mxnet", "lenet5", "Activation"),
        # Names that only begin or end like one that is known.
        ("numpy", "cnn", "train > ConvolutionReLU"),
        ("pytorch", "cnn", "aten::conv2d_weight"),
        ("tensorflow", "cnn", "gradient_tape > DepthwiseConv2D"),
        ("chainer", "cnn", "Convolution2DFunction"),
        ("mxnet", "cnn", "Convolution_v1"),
        ("caffe2", "cnn", "ConvTranspose"),
        ("theano", "cnn", "CorrMM_grad"),
        ("cntk", "cnn", "ConvolutionTranspose, forward"),
        ("cntk", "lstm", "Select, forward"),
        ("keras-jax", "cnn", "fusion_of_convolution"),
    ],
)
def test_nothing_is_guessed(name, model, operation):
    assert parts.part(name, model, operation) == parts.OTHER


def test_an_environment_for_a_gpu_has_its_frameworks_profiler():
    assert parts.part("keras-jax-cuda", "cnn", "dot.1") == "dense"
    assert parts.part("mxnet-cuda", "cnn", "Convolution") == parts.FORWARD
    assert parts.part("cupy", "cnn", "train > Dense.forward") == "dense"


def test_shares_are_of_the_sum_and_in_order():
    shares = parts.shares("caffe2", "cnn", {"Conv": 1.0, "FC": 0.5, "FCGradient": 0.5, "x": 2.0})
    assert list(shares.items()) == [(parts.FORWARD, 0.25), ("dense", 0.25), (parts.OTHER, 0.5)]


def test_phases_are_told_where_a_profiler_tells_them():
    operations = {"Conv": 1.0, "FCGradient": 0.5, "MomentumSGDUpdate": 0.25, "x": 0.25}
    phases = parts.phases("caffe2", "cnn", operations)
    assert list(phases.items()) == [("forward", 0.5), ("backward", 0.25), ("update", 0.125)]
    assert not parts.phases("theano", "cnn", {"CorrMM_gradWeights{half}": 1.0})


@pytest.mark.parametrize("name", [name for name in SEEN if parts.phases(name, "cnn", {"x": 1.0})])
def test_the_ways_of_a_convolution_are_phases(name):
    for part, phase in ((parts.FORWARD, "forward"), (parts.BACKWARD, "backward")):
        for operation in SEEN[name][part]:
            assert parts.phases(name, "cnn", {operation: 1.0})[phase] == 1, operation


def test_multiply_adds_are_those_of_the_convolutions_alone():
    counted = profiles.multiply_adds(models.find("cnn"))
    one, *others = 1024 * 50 * 27, 1024 * 50 * 450, 256 * 100 * 450, 256 * 100 * 900
    assert counted[parts.FORWARD] == one + sum(others)
    assert counted[parts.BACKWARD] == one + 2 * sum(others)
    assert profiles.multiply_adds(models.find("lstm")) is None


@pytest.mark.parametrize(
    "arguments, line",
    [
        ([], "required"),
        (["nothing"], "unknown framework 'nothing'"),
        (["numpy:fast"], "numpy:fast: the lanes are same, best, bf16"),
        (["theano", "--model", "resnet"], "theano has no model 'resnet'"),
        (["numpy:best+freed"], "numpy:best+freed: a profile takes NAME or NAME:LANE"),
        (["numpy@8"], "numpy@8: a profile takes NAME or NAME:LANE"),
        (["numpy", "--steps", "0"], "'0' is not a whole number of 1 or more"),
        (["numpy", "numpy:same", "--out", "x"], "--out takes one profile, and these are 2"),
        (["numpy", "--out", ROOT], "cannot be written: it is not a plain file"),
    ],
)
def test_bad_input_is_one_line(arguments, line, capsys):
    assert commands.guarded(profiles.command, arguments) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def test_lane_best_is_meant_and_none_twice():
    assert profiles.parse(["numpy", "numpy:", "numpy:best", "numpy:same"]).profiled == [
        "numpy:best",
        "numpy:same",
    ]


ANSWERS = """
import json, sys
print("what a framework prints")
answer, told = %r
path = sys.argv[sys.argv.index("caffe2") + 1]
if path == "--lane":
    print(told)
else:
    with open(path, "w") as file:
        json.dump(answer, file)
"""
ANSWER = {
    "versions": {"framework": "1"},
    "settings": {"device": "cpu"},
    "environment": {"allocator": {"MALLOC_TOP_PAD_": "1"}, "cpu_switches": {}},
    "source_sha256": "0" * 64,
    "seconds_per_step": 0.2,
    "passes": [0.1, 0.2, 0.3],
    "operations": {"ConvGradient": 0.1875, "Conv": 0.0625},
}


# As MKL-DNN 0.x, DNNL 1.x and oneDNN 2.x and 3.x print it.
SHAPE = "mb64_%sic50oc100_ih16oh16kh3sh1dh0ph1_iw16ow16kw3sw1dw0pw1,7.4"
WARM = [
    "mkldnn_verbose,exec,convolution,ref:any,forward_training,fsrc:nchw fwei:oihw fbia:x fdst:nchw,"
    "alg:convolution_direct," + SHAPE % "g1"
]
TOLD = [
    "mkldnn_verbose,exec,convolution,jit:avx512_common,forward_training,fsrc:nChw16c "
    "fwei:OIhw16i16o fbia:x fdst:nChw16c,alg:convolution_direct," + SHAPE % "g1",
    "dnnl_verbose,exec,cpu,convolution,x64:gemm:jit,forward_training,src_f32::blocked:abcd:f0 "
    "wei_f32::blocked:abcd:f0 bia_f32::blocked:a:f0 dst_f32::blocked:abcd:f0,,"
    "alg:convolution_direct," + SHAPE % "",
    "noise",
    "onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_bwd:avx512_core+brg_conv_fwd:"
    "avx512_core,backward_data,src:f32::blocked:acdb::f0 wei:f32:ap:blocked:Bcda64b::f0 bia:undef::"
    "undef::: dst:f32::blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct," + SHAPE % "",
    "dnnl_verbose,exec,cpu,convolution,jit:avx2,backward_weights,src_f32::blocked:aBcd8b:f0 "
    "wei_f32:p:blocked:Acdb8a:f0 bia_f32::blocked:a:f0 dst_f32::blocked:aBcd8b:f0,,"
    "alg:convolution_direct," + SHAPE % "",
    "onednn_verbose,v1,primitive,exec,cpu,inner_product,brgemm:avx512_core,forward_training,"
    "src:f32::blocked:ab::f0 wei:f32:ap:blocked:BA16a64b::f0,,,mb64ic6400oc512,0.9",
]


def test_padding_is_counted_by_what_the_kernels_layouts_say():
    found = kernels.read("\n".join(WARM + [kernels.MARK] + TOLD))
    pixels = 64 * 16 * 16 * 9
    assert [one["multiply_adds"] for one in found] == [pixels * 50 * 100] * 4
    computed = [pixels * axes for axes in (64 * 112, 50 * 100, 64 * 100, 50 * 104)]
    assert [one["computed"] for one in found] == computed
    assert kernels.own_share(found) == pytest.approx(4 * 5000 / (7168 + 5000 + 6400 + 5200))
    assert kernels.read("\n".join(TOLD[:2] + [kernels.MARK])) == []


def worker_that(says, tmp_path, monkeypatch):
    """One of this interpreter, whatever the environment and other benches; no machine is timed."""
    monkeypatch.setenv("ROSETTA_CACHE", "%s-cache" % tmp_path)
    said = [sys.executable, "-c", says]
    monkeypatch.setattr(environments, "make", lambda names: None)
    monkeypatch.setattr(environments, "inside", lambda _, *arguments: said + list(arguments))
    monkeypatch.setattr(profiles.machine, "matmul_flops", lambda: 1e11)


def schema():
    with open(os.path.join(ROOT, "reports", "profile.schema.json")) as file:
        return json.load(file)


def test_an_answer_becomes_a_result_file(tmp_path, monkeypatch, capsys):
    worker_that(
        ANSWERS % ((ANSWER, "\n".join(WARM + [kernels.MARK] + TOLD)),), tmp_path, monkeypatch
    )
    out = tmp_path / "profile.json"
    assert commands.guarded(profiles.command, ["caffe2", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    jsonschema.validate(found, schema())
    assert found["parts"] == {parts.FORWARD: 0.25, parts.BACKWARD: 0.75}
    assert found["machine"]["allocator"] == {"MALLOC_TOP_PAD_": "1"}
    assert found["lane"] == "best" and found["matmul_flops"] == [1e11, 1e11]
    assert [one["direction"] for one in found["kernels"]] == ["forward_training"] * 2 + [
        "backward_data",
        "backward_weights",
    ]
    assert "slowest: ConvGradient (75%)" in capsys.readouterr().out
    jsonschema.Draft7Validator.check_schema(schema())
    found["parts"]["convolutions"] = 0.1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema())


def test_a_worker_that_fails_is_quoted_and_nothing_is_written(tmp_path, monkeypatch, capsys):
    says = "import sys; print('noise'); print('error: not proven'); sys.exit(2)"
    worker_that(says, tmp_path, monkeypatch)
    out = tmp_path / "profile.json"
    assert commands.guarded(profiles.command, ["caffe2", "--out", str(out)]) == 2
    assert capsys.readouterr().err == "error: caffe2:best: error: not proven\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the NumPy environment's profile needs 3.11")
def test_the_lstm_is_proven_and_profiled(tmp_path, monkeypatch):
    """By the worker itself, in this interpreter."""
    monkeypatch.setattr(environments, "make", lambda names: None)
    monkeypatch.setattr(environments, "inside", lambda _, *rest: [sys.executable, *rest])
    monkeypatch.setenv("PYTHONPATH", ROOT)
    out = tmp_path / "profile.json"
    arguments = ["numpy:same", "--model", "lstm", "--threads", "1", "--steps", "3"]
    assert commands.guarded(profiles.command, arguments + ["--out", str(out)]) == 0
    found = json.loads(out.read_text())
    jsonschema.validate(found, schema())
    assert sum(found["parts"].values()) == pytest.approx(1) and found["parts"]["update"] > 0
    assert found["seconds_per_step_profiled"] > found["seconds_per_step"] / 10
    assert any("LSTM.forward" in operation for operation in found["operations"])
