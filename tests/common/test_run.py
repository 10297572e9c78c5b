"""The run from the command line: its files, and its answers to bad input.

NumPy is the framework here, as it is wherever these tests run.
"""

import json
import os
import platform
import subprocess
import sys
import time
from collections import namedtuple
from unittest import mock

import jsonschema
import numpy as np
import pytest

import frameworks
from common.data import synthetic
from common.data.dataset import Dataset
from common.networks import weights as canonical
from common.networks.cnn import CNN
from common.networks.mlp import MLP
from common.proof import certificate, rungs, scores
from common.run import clocks, console, request, results, runner, weight_files
from common.system import commands, cuda, machine, modules
from common.system.errors import InputError
from common.system.files import ROOT
from tests import some

SCHEMA = os.path.join(ROOT, "reports", "result.schema.json")
SMALL = "--data synthetic --epochs 2 --test-images 70 --threads 1".split()
TINY = SMALL + ["--train-images", "192"]  # three batches of the CNN
WITHOUT_GPU = some.environment(lambda facts: not frameworks.for_gpu(facts.name), gpu=False)
QUICK = SMALL + ["--train-images", "300", "--model", "mlp"]  # three of the MLP, in no time


def has_mixed(environment):
    """Whether it has lane bf16, at least on a CPU."""
    return modules.has(environment.name, "bf16")


@pytest.fixture(scope="module")
def schema():
    with open(SCHEMA) as file:
        return json.load(file)


@pytest.fixture(autouse=True)
def quick_proof(monkeypatch):
    """A certificate of the right form, without a proof; tests/parity makes real ones."""
    rung = {"passed": True, "what": "nothing", "error": 0.0, "tolerance": 0.0, "checks": 1}
    settings = {"device": "cpu", "layout": "NCHW", "precision": "float32"}
    settings.update(threads=1, not_in_force=[])

    def obtain(model, name, module, lane, settings, team=1):
        return {
            "framework": name,
            "lane": lane,
            "passed": True,
            "multiple": 16,
            "rungs": [dict(rung, rung=name, detail="") for name in rungs.RUNGS],
            "losses": {},
            "settings": settings,
            "identity": "0" * 64,
        }

    monkeypatch.setattr(certificate, "obtain", obtain)


MADE = {}  # synthetic data sets, which are the same for all tests


@pytest.fixture(autouse=True)
def quick_data(monkeypatch):
    """Synthetic data, made once for all tests, and a matrix product that takes no time."""
    make = synthetic.make

    def made(*sizes):
        if sizes not in MADE:
            MADE[sizes] = make(*sizes)
        return MADE[sizes]

    monkeypatch.setattr(synthetic, "make", made)
    monkeypatch.setattr(machine, "matmul_flops", lambda: 1e9)


def main(arguments):
    """The command line's exit code."""
    return commands.guarded(runner.command, arguments)


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "result.json")


def read(path):
    with open(path) as file:
        return json.load(file)


@pytest.fixture
def no_work(monkeypatch):
    """NumPy's CNN, whose steps do nothing."""
    module = modules.load("numpy")
    monkeypatch.setattr(module, "train", lambda model, batches: (2.0 for _ in batches))
    monkeypatch.setattr(module, "predict", lambda model, x: x.reshape(len(x), -1)[:, :10])
    monkeypatch.setattr(scores, "problem", lambda *_: "")
    return module


def test_a_run_writes_a_result_that_keeps_the_schema(out, schema, capsys):
    assert main(["numpy", "--out", out] + TINY) == 0
    result = read(out)
    jsonschema.validate(result, schema)
    assert result["status"] == "finished"
    assert len(result["losses"]) == 2 * (192 // 64)
    assert result["accuracy"]["n"] == 70
    assert result["dataset"]["train_images"] == 192
    assert len(result["timings"]["epochs"]) == 2
    printed = capsys.readouterr().out
    for word in ("certificate", "accuracy", "images/s", out, "synthetic"):
        assert word in printed


def test_the_matrix_product_is_timed_before_each_epoch(out, no_work, monkeypatch):
    products = iter([1e9, 4e9, 2e9])
    monkeypatch.setattr(machine, "matmul_flops", lambda: next(products))
    assert main(["numpy", "--out", out] + TINY + ["--epochs", "3"]) == 0
    assert read(out)["timings"]["matmul_flops"] == 2e9


def test_no_time_is_shown_without_a_passed_certificate(out, monkeypatch, capsys):
    proof = certificate.obtain(CNN, "numpy", None, "same", 1)
    proof["passed"] = proof["rungs"][3]["passed"] = False
    monkeypatch.setattr(certificate, "obtain", lambda *_, **__: proof)
    assert main(["numpy", "--out", out] + QUICK) == 1
    printed = capsys.readouterr().out
    assert "FAILED at: gradient" in printed
    assert "images/s" not in printed.split("certificate")[1]


def test_no_time_is_shown_if_updates_are_wrong_at_the_end(out, monkeypatch, capsys):
    late = {"steps": 9, "passed": False, "share_of_tolerance": 50, "detail": "conv1.bias"}
    monkeypatch.setattr(runner, "late_updates", lambda *_: late)
    assert main(["numpy", "--out", out] + QUICK) == 1
    printed = capsys.readouterr().out.split("certificate")[1]
    assert "NOT as the reference's: conv1.bias" in printed and "images/s" not in printed


@pytest.mark.parametrize("moment", ["train", "late_updates"])
def test_an_error_of_the_framework_leaves_the_losses(moment, out, schema, monkeypatch):
    def fail(*_):
        raise RuntimeError("out of memory")

    if moment == "train":
        monkeypatch.setattr(modules.load("numpy", "mlp"), "train", fail)
    else:
        monkeypatch.setattr(runner, moment, fail)
    with pytest.raises(RuntimeError):
        main(["numpy", "--out", out] + QUICK)
    result = read(out)
    jsonschema.validate(result, schema)
    assert result["status"] == "stopped" and "out of memory" in result["error"]
    assert len(result["losses"]) == (0 if moment == "train" else 6)


def test_same_seed_same_run_and_another_seed_another(out):
    losses = []
    for seed in ("1", "1", "2"):
        assert main(["numpy", "--out", out, "--seed", seed] + QUICK) == 0
        losses.append(read(out)["losses"])
    assert losses[0] == losses[1] != losses[2]


def test_weights_and_scores_are_saved_and_weights_taken_up(out, tmp_path):
    trained, scores = str(tmp_path / "trained.npz"), str(tmp_path / "scores.npz")
    options = ["numpy", "--out", out] + QUICK
    assert main(options + ["--save-weights", trained, "--save-scores", scores]) == 0
    saved = np.load(scores, allow_pickle=False)
    assert saved.files == ["scores"] and saved["scores"].shape == (70, 10)
    first = read(out)["losses"]
    assert main(options + ["--weights", trained]) == 0
    assert read(out)["weights"] == "trained.npz"
    assert read(out)["losses"][0] < first[0]


def test_a_file_that_cannot_be_written_at_the_end_costs_no_result(
    out, no_work, tmp_path, monkeypatch, capsys
):
    def no_room(*arguments):
        raise InputError("no room")

    def export(name, path, model, x):
        raise InputError("this network cannot be written as ONNX")

    monkeypatch.setattr(weight_files, "check_onnx", lambda name: None)
    monkeypatch.setattr(weight_files, "write", no_room)
    monkeypatch.setattr(weight_files, "export", export)
    saved = ["--save-onnx", str(tmp_path / "m.onnx"), "--save-scores", str(tmp_path / "s.npz")]
    saved += ["--save-weights", str(tmp_path / "w.npz")]
    assert main(["numpy", "--out", out] + saved + QUICK) == 2
    said = capsys.readouterr().err
    assert said.endswith("error: no room; this network cannot be written as ONNX\n")
    assert read(out)["status"] == "finished" and (tmp_path / "s.npz").exists()


def test_a_folder_may_end_in_a_slash():
    asked = request.parse(["numpy", "--model", "gpt", "--weights", "a.hf/", "--save-weights", "b/"])
    assert asked.files[:2] == ("a.hf", "b")


def test_runs_from_other_weights_have_other_files():
    recipe, dataset = namedtuple("R", "train_images epochs")(1, 2), namedtuple("D", "name")("")
    paths = {
        results.path(request.parse(["numpy"] + weights), recipe, dataset, machine.facts())
        for weights in ([], ["--weights", "a.npz"], ["--weights", "b.npz"])
    }
    assert len(paths) == 3


def test_a_loss_that_is_not_finite_stops_the_run_and_says_so(out, schema, tmp_path, capsys):
    huge = MLP.initialize(MLP.shapes, 0)
    huge["dense2.weight"] *= np.float32(1e30)
    huge["dense1.weight"] *= np.float32(1e10)
    path = str(tmp_path / "huge.npz")
    canonical.save(MLP, path, huge)
    scores = str(tmp_path / "scores.npz")
    options = ["numpy", "--out", out, "--weights", path, "--save-scores", scores] + QUICK
    with np.errstate(all="ignore"):
        assert main(options) == 1
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: the loss of step ")
    result = read(out)
    jsonschema.validate(result, schema)
    assert result["status"] == "stopped" and "accuracy" not in result
    assert "step %d (" % (len(result["losses"]) + 1) in result["error"]
    assert not os.path.exists(scores)


def test_scores_that_are_not_finite_stop_the_run_too(out, schema, tmp_path, monkeypatch):
    """The last update can break the weights after a finite loss."""
    module = modules.load("numpy", "mlp")
    monkeypatch.setattr(module, "predict", lambda model, x: np.full((len(x), 10), np.nan))
    saved = str(tmp_path / "weights.npz")
    assert main(["numpy", "--out", out, "--save-weights", saved] + QUICK) == 1
    result = read(out)
    jsonschema.validate(result, schema)
    assert result["status"] == "stopped" and len(result["losses"]) == 6
    assert not os.path.exists(saved)


@pytest.mark.parametrize(
    "name, replacement, words",
    [
        ("train", lambda model, batches: iter([2.0]), "train() yielded 1 losses for 3 batches"),
        ("predict", lambda model, x: np.eye(9, 10), "predict() returned 9 rows of scores for 70"),
        ("evaluate", lambda scores, labels: 0.99, "evaluate() returned 0.99, but "),
        ("evaluate", lambda scores, labels: float("nan"), "evaluate() returned nan, but "),
    ],
)
def test_a_module_that_leaves_something_out_stops_the_run(
    name, replacement, words, out, schema, no_work, monkeypatch, capsys
):
    monkeypatch.setattr(no_work, name, replacement)
    assert main(["numpy", "--out", out] + TINY) == 1
    lines = capsys.readouterr().err.splitlines()
    (line,) = [line for line in lines if line.startswith("error: ")]
    assert words in line
    result = read(out)
    jsonschema.validate(result, schema)
    assert result["status"] == "stopped" and result["error"] in line


def test_scores_of_other_weights_stop_the_run(out, monkeypatch, capsys):
    module = modules.load("numpy", "mlp")
    predict = module.predict
    monkeypatch.setattr(module, "predict", lambda model, x: predict(model, x)[::-1].copy())
    assert main(["numpy", "--out", out] + QUICK) == 1
    assert "the scores are not those of the trained weights" in capsys.readouterr().err
    assert read(out)["status"] == "stopped"


def test_without_training_weights_are_loaded_and_tested(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "path", None)  # it is not called
    names = ("initial.npz", "trained.npz", "scores.npz")
    initial, trained, scores = (str(tmp_path / name) for name in names)
    weights = MLP.initialize(MLP.shapes, 5)
    canonical.save(MLP, initial, weights)
    arguments = ["--weights", initial, "--save-weights", trained, "--save-scores", scores]
    assert main(["numpy"] + QUICK + ["--epochs", "0"] + arguments) == 0
    for name, w in canonical.load(MLP, trained).items():
        assert np.array_equal(w, weights[name])
    with np.load(scores) as archive:
        assert archive["scores"].shape == (70, 10)
    text = capsys.readouterr().out
    assert "accuracy  " in text and "step  " not in text and "result file" not in text


def test_a_run_that_is_stopped_leaves_the_result_of_an_earlier_one(tmp_path):
    asked, path = request.parse(["numpy"]), str(tmp_path / "numpy-same.json")
    for text, file in [("finished", path), ("stopped", str(tmp_path / "numpy-same-stopped.json"))]:
        results.write(path, {"status": "finished"})
        assert runner.write_stopped(path, asked, {}, "why", [1.0]).endswith("-stopped.json")
        assert read(file)["status"] == text


@pytest.mark.parametrize(
    "name, words",
    [
        ("numpy", "NVIDIA H100 is not used: this environment is for CPUs; for the GPU: tox run -e"),
        (WITHOUT_GPU, " finds none here that it can use"),
    ],
)
def test_a_gpu_that_the_environment_does_not_use_is_named(name, words, capsys):
    facts = {"cpu": "a CPU", "cores": 2, "gpus": [{"name": "NVIDIA H100"}]}
    for device, seen in (("cpu", True), ("cuda", False)):
        settings = {"device": device, "not_in_force": []}
        result = dict(framework=name, title="", versions={"framework": "1"}, lane="same")
        result.update(machine=facts, settings=settings, hyperparameters={"epochs": 3})
        result.update(recipe="quick", dataset={"name": "synthetic", "train_images": 1})
        console.announce(result, CNN)
        assert (words in capsys.readouterr().out) == seen


def test_nvidia_smi_is_run_once(tmp_path, monkeypatch):
    """It takes seconds on a machine with many GPUs."""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho run >> %s/log\necho 'A GPU, 1 MiB, 1.0'\n" % tmp_path)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    machine._nvidia_smi.cache_clear()
    try:
        for _ in range(2):
            assert machine.facts()["gpus"] == [
                {"name": "A GPU", "memory": "1 MiB", "driver": "1.0"}
            ]
    finally:
        machine._nvidia_smi.cache_clear()
    assert (tmp_path / "log").read_text() == "run\n"


@pytest.mark.parametrize("number, cudnn", [(8902, "8.9.2"), (91002, "9.10.2")])
def test_cuda_and_cudnn_are_asked_of_the_loaded_libraries(number, cudnn, tmp_path, monkeypatch):
    assert cuda.versions() == {}  # nothing here has loaded them

    def ask_runtime(pointer):
        pointer._obj.value = 12040

    class Library:
        cudaRuntimeGetVersion = staticmethod(ask_runtime)

        @staticmethod
        def cudnnGetVersion():
            return number

    maps = tmp_path / "maps"
    names = ("libcudart-9335f6a2.so.12", "libcudnn_cnn.so.9", "libcudnn.so.9", "libc.so.6")
    maps.write_text("".join("7f0-7f1 r-xp 0 00:1 2   /opt/cuda/%s\n" % name for name in names))
    loaded = []
    monkeypatch.setattr(cuda, "MAPS", str(maps))
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda path: loaded.append(path) or Library)
    assert cuda.versions() == {"cuda": "12.4", "cudnn": cudnn}
    assert loaded == ["/opt/cuda/" + names[0], "/opt/cuda/" + names[2]]


def test_only_the_recipe_itself_writes_the_recipes_result():
    facts = {"gpus": [], "cpu": "Intel(R) Xeon(R) Processor @ 2.10GHz", "cores": 2}
    paths = set()
    for arguments in ([], ["--seed", "1"], ["--dropout", "off"], ["--test-images", "70"]):
        asked = request.parse(["numpy"] + arguments)._replace(threads=2)
        recipe = request.recipe(asked, "cpu")
        for dataset in ("cifar10", "synthetic"):
            path = results.path(asked, recipe, Dataset(dataset, *[None] * 5), facts)
            assert os.path.basename(os.path.dirname(path)) == "intel-xeon-2-cores"
            paths.add(os.path.basename(path))
    assert len(paths) == 8 and "numpy-same-10000x3.json" in paths


def test_best_lane_restarts_with_its_allocator(tmp_path):
    command = [sys.executable, "-c", RESTART]
    environ = dict(os.environ, PYTHONPATH=ROOT)
    environ.pop("MALLOC_TOP_PAD_", None)
    text = subprocess.check_output(command, env=environ, cwd=str(tmp_path)).decode()
    assert text.split() == [machine.KEEP_FREED_MEMORY["MALLOC_TOP_PAD_"], "argument"]


RESTART = """
import os
from common.system import machine

os.environ["PYTHONPATH"] += os.pathsep + os.getcwd()
with open("show.py", "w") as file:
    file.write("import os, sys; print(os.environ['MALLOC_TOP_PAD_'], *sys.argv[1:])")
machine.restart_with(machine.KEEP_FREED_MEMORY, "show", ["argument"])
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_best_lane_keeps_the_freed_memory_of_every_thread():
    environ = dict(os.environ, **machine.KEEP_FREED_MEMORY)
    command = [sys.executable, "-c", PAGES_IN_A_THREAD]
    assert int(subprocess.check_output(command, env=environ)) < 100  # 32,768 if it went back


PAGES_IN_A_THREAD = """
import resource
import threading

pages = []


def work():
    for _ in range(3):
        b"x" * 2**27
        pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)


thread = threading.Thread(target=work)
thread.start()
thread.join()
print(pages[2] - pages[1])
"""


def test_short_run_of_the_test_suite_takes_every_step(out, schema, no_work, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["numpy", "@tests/short-run.txt", "--data", "synthetic", "--out", out]) == 0
    jsonschema.validate(read(out), schema)


def test_recipe_is_whole_on_a_gpu_and_quick_on_a_cpu():
    for device, arguments, images, epochs, origin in [
        ("cuda", [], 50000, 10, request.Origin.WHOLE),
        ("cpu", [], 10000, 3, request.Origin.QUICK),
        ("cpu", ["--epochs", "2"], 50000, 2, request.Origin.PARTLY_ASKED),
        ("cpu", ["--train-images", "640"], 640, 10, request.Origin.PARTLY_ASKED),
    ]:
        recipe = request.recipe(request.parse(["numpy"] + arguments), device)
        assert recipe == (origin, images, epochs)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["tensorfow"], "unknown framework 'tensorfow'; known: numpy"),
        ([], "the following arguments are required: name"),
        (["numpy", "@/no/such/options.txt"], "/no/such/options.txt"),
        (["numpy", "--epochs", "-1"], "--epochs: '-1' is not a whole number of 0 or more"),
        (["numpy", "--epochs", "0", "--out", "x.json"], "without training there is no result"),
        (["numpy", "--epochs", "two"], "--epochs: 'two' is not a whole number"),
        (["numpy", "--train-images", "-5"], "--train-images"),
        (["numpy", "--seed", "-1"], "--seed: -1"),
        (["numpy", "--lane", "fast"], "--lane: invalid choice"),
        ([some.without("bf16"), "--lane", "bf16"], " has no lane bf16; these have it: numpy, "),
        (
            [some.environment(has_mixed, gpu=True, mixed_on_gpu=False), "--lane", "bf16"],
            " has no lane bf16; these have it: numpy, ",
        ),
        (
            ["numpy", "--lane", "bf16", "--model", "mlp"],
            "lane bf16 exists only for the CNN, not for 'mlp'",
        ),
        (["numpy", "--threads", "1000000"], "--threads: 1000000 is more than the"),
        (["numpy", "--workers", "2"], "numpy has no workers that share a batch; these have: "),
        (["numpy", "--workers", "0"], "'0' is not a whole number of 1 or more"),
        (["numpy", "--data", "/no/such/folder"], "/no/such/folder"),
        (["numpy", "--data", "synthetic", "--train-images", "50001"], "50001"),
        (["numpy", "--data", "synthetic", "--test-images", "10001"], "10001"),
        (["numpy", "--data", "synthetic", "--train-images", "63", "--epochs", "1"], "63"),
        (["numpy", "--out", "/dev/null/result.json"], "/dev/null/result.json: cannot be written"),
        (["numpy", "--out", "/dev/null"], "/dev/null: cannot be written: it is not a plain file"),
        (["numpy", "--out", "/tmp/%s.json" % (300 * "a")], "File name too long"),
        (["numpy", "@" + sys.executable], "a file of options (@FILE) is not text"),
        (["numpy", "--model", "lstm", "--data", "/tmp"], "/tmp: the wave is computed"),
        (["numpy", "--model", "pose", "--data", "/tmp"], "/tmp: the figures are drawn"),
        (["numpy", "--model", "lstm", "--train-images", "2001"], "2001 training sequences"),
        (["numpy", "--save-scores", "/dev/null/s.npz"], "/dev/null/s.npz: cannot be written"),
        (["numpy", "--weights", ""], "argument --weights: it is empty"),
        (["numpy", "--weights", "/no/such.npz"], "/no/such.npz: No such file"),
        (
            ["numpy", "--weights", SCHEMA],
            "result.schema.json: for numpy the name must end in one of .npz",
        ),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(arguments, words, tmp_path, capsys):
    if "--out" not in arguments:
        arguments = arguments + ["--out", str(tmp_path / "result.json")]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and words in captured.err
    assert len(captured.err.splitlines()) == 1
    assert os.listdir(str(tmp_path)) == []


def test_it_runs_as_a_module_from_another_folder(tmp_path):
    """The project's root is on the path without being the working folder."""
    environ = dict(os.environ, PYTHONPATH=ROOT)
    command = [sys.executable, "-m", "common.run", "nonsense"]
    process = subprocess.Popen(
        command, cwd=str(tmp_path), env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _, error = process.communicate()
    assert process.returncode == 2
    assert b"unknown framework 'nonsense'" in error and len(error.splitlines()) == 1


def test_wilson_interval_matches_published_values():
    """Newcombe (1998), table I: 81 of 263."""
    low, high = results.wilson_interval(81 / 263.0, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


def test_a_processor_of_arm_is_known_by_its_numbers(monkeypatch):
    text = "CPU implementer : 0x41\nCPU variant : 0x3\nCPU part : 0xd0c\n"
    monkeypatch.setattr("builtins.open", mock.mock_open(read_data=text))
    monkeypatch.setattr(machine.platform, "processor", lambda: "aarch64")
    assert machine.cpu() == "aarch64 0x41 0xd0c 0x3"


@pytest.mark.parametrize("flags, gpus", [("avx2 avx512bw", []), ("avx2", [1]), ("avx2", [])])
def test_lane_bf16_is_where_the_machine_multiplies_bfloat16(flags, gpus, monkeypatch):
    cpuinfo = mock.mock_open(read_data="model name : any\nflags : fpu %s\n" % flags)
    monkeypatch.setattr("builtins.open", cpuinfo)
    monkeypatch.setattr(machine, "_gpus", lambda: gpus)
    modules.check_lane("numpy", "bf16")  # rounds by hand
    for on_gpu in (False, True):
        name = some.environment(has_mixed, gpu=False, mixed_on_gpu=on_gpu)
        needs = "a GPU, or a CPU" if on_gpu else "a CPU"
        if "avx512bw" in flags or (gpus and on_gpu):
            modules.check_lane(name, "bf16")
        else:
            with pytest.raises(InputError, match="it needs %s with AVX-512" % needs):
                modules.check_lane(name, "bf16")


def test_lane_tf32_is_where_a_gpu_is(monkeypatch):
    modules.check_lane("numpy", "tf32")  # cuts by hand
    name = some.environment(lambda env: modules.has(env.name, "tf32"), mixed_on_gpu=True, gpu=False)
    for gpus in ([], [1]):
        monkeypatch.setattr(machine, "_gpus", lambda gpus=gpus: gpus)
        if gpus:
            modules.check_lane(name, "tf32")
        else:
            with pytest.raises(InputError, match="lane tf32: it needs a GPU"):
                modules.check_lane(name, "tf32")


class SlowModule:
    """Steps of known losses, for the clock."""

    def __init__(self, losses):
        self.losses = losses

    def train(self, model, batches):
        return iter(self.losses)

    def wait(self, model):
        self.waited = True


def test_first_step_is_timed_apart_and_blocks_cover_every_step():
    seen = []
    module, losses = SlowModule([1.0] * 20), []
    first = clocks.timed_pass(module, None, None, 20, losses, lambda part, _: seen.extend(part))
    assert [steps for steps, _ in first.blocks] == [1, 8, 8, 3]
    assert first.losses == losses == seen == [1.0] * 20 and module.waited
    again = clocks.timed_pass(module, None, None, 20, losses)
    assert len(again.losses) == 20 and len(losses) == 40
    assert [steps for steps, _ in again.blocks] == [8, 8, 4]
    summary = clocks.summary([first, again], 64)
    assert summary["step"]["n"] == 6 and len(summary["epochs"]) == 2


class Unfinished:
    """A loss that is computed only when it is read."""

    def __float__(self):
        time.sleep(0.08)
        return 1.0


class HalfDone(SlowModule):
    """Steps whose other half is computed when their losses are read."""

    def train(self, model, batches):
        for loss in self.losses:
            time.sleep(0.01)
            yield loss


class Far:
    """A loss on a device: each is fetched by itself, which takes a while."""

    def __float__(self):
        time.sleep(0.002)
        return 1.0


def test_losses_that_are_far_away_are_not_taken_for_unfinished_steps():
    timed = clocks.timed_pass(HalfDone([Far()] * 40), None, None, 40)
    assert 0.4 < timed.seconds - timed.outside < timed.seconds - 0.08


@pytest.mark.parametrize("kind", [SlowModule, HalfDone])
def test_a_wait_that_does_not_wait_stops_the_run(kind):
    with pytest.raises(clocks.Stop, match="returned before the device had finished"):
        clocks.timed_pass(kind([Unfinished()] * 20), None, None, 20)


@pytest.mark.parametrize("usual, last, speed", [(0.8, 0.8, 640), (0.8, 1.8, 640), (0, 1024, 8)])
def test_steps_made_many_at_a_time_have_the_speed_of_their_mean(usual, last, speed):
    blocks = [(1, 1.0)] + [(8, usual)] * 15 + [(8, last)]
    summary = clocks.summary([clocks.Pass([], blocks, 1.0, 0.0)], 64)
    assert round(summary["images_per_second"]) == speed


def test_the_step_of_a_loss_that_is_not_finite_is_counted_over_the_run():
    losses = [2.0] * 40
    with pytest.raises(clocks.NotFinite, match="step 46"):
        clocks.timed_pass(SlowModule([1.0] * 5 + [float("nan")]), None, None, 6, losses)
    assert losses == [2.0] * 40 + [1.0] * 5
