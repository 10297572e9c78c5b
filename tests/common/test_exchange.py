"""An exchange finds a changed bit, and a score beyond the tolerance."""

import sys

import numpy as np
import pytest

from common import networks
from common.exchange import exchange, worker
from common.networks import weights as canonical
from common.proof import tasks
from common.proof.reference import ROUNDED, Reference
from common.system import commands, environments
from common.system.errors import InputError
from tests import some

MODEL = networks.find("mlp")  # the fastest
OTHER = some.PLAIN
NAMES = ["numpy", OTHER]
REQUEST = exchange.Request(NAMES, MODEL, threads=1)


@pytest.fixture
def numpy_worker(tmp_path):
    """A worker that has trained and saved."""
    (tmp_path / "numpy").mkdir()
    numpy_worker = worker.Worker("numpy", str(tmp_path), MODEL, 1)
    numpy_worker.give()
    return numpy_worker


def test_saved_weights_are_restored_and_taken(numpy_worker, tmp_path):
    numpy_worker.restore()
    numpy_worker.take(["numpy"])
    with np.load(str(tmp_path / "numpy" / "numpy-scores.npz")) as archive:
        assert archive["scores"].shape == (worker.IMAGES, 10)


@pytest.mark.parametrize("name", ["lstm", "gpt"])
def test_networks_that_go_on_from_their_own_outputs_are_compared(name, tmp_path, monkeypatch):
    model = networks.find(name)
    monkeypatch.setattr(tasks.of(model).__class__, "predicted", 3)
    (tmp_path / "numpy").mkdir()
    weights = model.initialize(model.shapes, 1)
    canonical.save(model, str(tmp_path / "numpy" / "restored.npz"), weights)
    worker.Worker("numpy", str(tmp_path), model, 1).take(["numpy"])
    request = exchange.Request(["numpy"], model, threads=1)
    rows, tolerances = exchange.compare(str(tmp_path), request)
    assert not list(exchange.failures(rows, tolerances))


def test_a_changed_bit_in_a_file_is_an_error(numpy_worker):
    path = numpy_worker.own(".npz")
    weights = canonical.load(MODEL, path)
    weights["dense2.bias"][3] = np.nextafter(weights["dense2.bias"][3], np.float32(9))
    canonical.save(MODEL, path, weights)
    with pytest.raises(InputError, match=r"weights.npz came back changed: dense2.bias"):
        numpy_worker.restore()


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """A folder with both frameworks' weights and all scores, as the workers write them."""
    folder = tmp_path_factory.mktemp("exchange")
    images = worker.observations(MODEL)[2]
    for seed, giver in enumerate(NAMES):
        weights = MODEL.initialize(MODEL.shapes, seed)
        scores = Reference(MODEL, ROUNDED, 1).scores(MODEL.hp, weights, images)
        for name in NAMES:
            (folder / name).mkdir(exist_ok=True)
            np.savez(str(folder / name / (giver + "-scores.npz")), scores=scores)
            (folder / name / "versions.json").write_text('{"framework": "1"}')
        canonical.save(MODEL, str(folder / giver / "restored.npz"), weights)
    return folder


def test_equal_scores_pass(carried):
    result = exchange.result(str(carried), REQUEST)
    assert result["passed"] and result["takers"]["numpy"][OTHER]["largest_difference"] == 0
    assert "all within" in list(exchange.summary(result))[-1]


def test_scores_of_other_weights_are_named(carried):
    path = carried / OTHER / "numpy-scores.npz"
    before = path.read_bytes()
    path.write_bytes((carried / OTHER / (OTHER + "-scores.npz")).read_bytes())
    try:
        result = exchange.result(str(carried), REQUEST)
    finally:
        path.write_bytes(before)
    assert not result["passed"]
    (line,) = [line for line in exchange.summary(result) if "is allowed" in line]
    assert line.startswith("numpy's weights in %s: " % OTHER)


def test_a_worker_that_fails_is_quoted(monkeypatch, tmp_path, capsys):
    code = "import sys; print('noise'); print('error: no disk'); sys.exit(2)"
    monkeypatch.setattr(environments, "make", lambda names: None)
    monkeypatch.setattr(environments, "inside", lambda *_: [sys.executable, "-c", code])
    out = tmp_path / "out.json"
    arguments = NAMES + ["--model", "mlp", "--out", str(out)]
    assert commands.guarded(exchange.command, arguments) == exchange.FAILED
    line = "error: numpy, give: error: no disk; %s, give: error: no disk\n" % OTHER
    assert line in capsys.readouterr().err
    assert not out.exists()


def test_an_environment_that_cannot_be_made_is_left_out(monkeypatch, tmp_path):
    def make(names):
        if names == ["broken"]:
            raise InputError("no wheel")

    monkeypatch.setattr(environments, "make", make)
    monkeypatch.setattr(exchange, "run_worker", lambda *_: None)
    three = REQUEST._replace(names=["broken"] + NAMES)
    request, left_out = exchange.carry(str(tmp_path), three)
    assert request == REQUEST and left_out == {"broken": "make: no wheel"}


def test_a_framework_that_fails_is_left_out_and_the_others_go_on(carried, monkeypatch):
    def run_worker(step, name, folder, request):
        done.append((step, name, tuple(request.names)))
        return "no disk" if (step, name) == ("restore", "broken") else None

    done = []
    monkeypatch.setattr(environments, "make", lambda names: None)
    monkeypatch.setattr(exchange, "run_worker", run_worker)
    three = REQUEST._replace(names=["broken"] + NAMES)
    request, left_out = exchange.carry(str(carried), three)
    assert request == REQUEST and left_out == {"broken": "restore: no disk"}
    assert done[-3:] == [("restore", OTHER, tuple(NAMES))] + [
        ("take", name, tuple(NAMES)) for name in NAMES
    ]
    result = exchange.result(str(carried), request, left_out)
    assert not result["passed"]
    assert list(exchange.summary(result))[-1] == "broken is left out, restore: no disk"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["numpy"], "an exchange needs at least two environments"),
        (["numpy", "numpee"], "unknown framework 'numpee'"),
        (["numpy", some.without("mlp"), "--model", "mlp"], "has no network 'mlp'"),
        (["numpy", OTHER, "--model", "x"], "--model"),
    ],
)
def test_bad_input_is_one_line(arguments, words, capsys):
    assert commands.guarded(exchange.command, arguments) == 2
    line = capsys.readouterr().err
    assert words in line and line.count("\n") == 1


def test_a_score_of_nan_fails():
    rows = {"a": {"b": {"error": float("nan")}, "a": {"error": 0.0}}}
    ((taker, giver, _),) = exchange.failures(rows, {"b": 1.0, "a": 1.0})
    assert (taker, giver) == ("a", "b")
