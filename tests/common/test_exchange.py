"""An exchange: a bit that changed on the way is seen, and so is a score that is off."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from common import networks
from common.exchange import exchange, worker
from common.networks import weights as canonical
from common.proof.reference import ROUNDED, Reference
from common.system import commands, environments
from common.system.errors import InputError
from tests import some

MODEL = networks.find("mlp")  # the quickest
OTHER = some.PLAIN
NAMES = ["numpy", OTHER]
OPTIONS = SimpleNamespace(model="mlp", names=NAMES, threads=1)


@pytest.fixture
def numpy_worker(tmp_path):
    """One that has trained and saved."""
    (tmp_path / "numpy").mkdir()
    options = SimpleNamespace(name="numpy", folder=str(tmp_path), model="mlp", threads=1)
    made = worker.Worker(options)
    made.give()
    return made


def test_what_was_saved_is_restored_and_taken(numpy_worker, tmp_path):
    numpy_worker.restore()
    numpy_worker.take(["numpy"])
    with np.load(str(tmp_path / "numpy" / "numpy-scores.npz")) as archive:
        assert archive["scores"].shape == (worker.IMAGES, 10)


def test_a_bit_that_changed_in_a_file_is_seen(numpy_worker):
    path = numpy_worker.own(".npz")
    weights = canonical.load(MODEL, path)
    weights["dense2.bias"][3] = np.nextafter(weights["dense2.bias"][3], np.float32(9))
    canonical.save(MODEL, path, weights)
    with pytest.raises(InputError, match=r"weights.npz came back changed: dense2.bias"):
        numpy_worker.restore()


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """A folder as the workers leave it: both frameworks' weights, and all scores."""
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
    found = exchange.result(str(carried), OPTIONS)
    assert found["passed"] and found["takers"]["numpy"][OTHER]["largest_difference"] == 0
    assert "all within" in list(exchange.told(found))[-1]


def test_scores_of_other_weights_are_named(carried):
    path = carried / OTHER / "numpy-scores.npz"
    before = path.read_bytes()
    path.write_bytes((carried / OTHER / (OTHER + "-scores.npz")).read_bytes())
    try:
        found = exchange.result(str(carried), OPTIONS)
    finally:
        path.write_bytes(before)
    assert not found["passed"]
    (line,) = [line for line in exchange.told(found) if "is allowed" in line]
    assert line.startswith("numpy's weights in %s: " % OTHER)


def test_a_worker_that_fails_is_quoted(monkeypatch, tmp_path, capsys):
    says = "import sys; print('noise'); print('error: no disk'); sys.exit(2)"
    monkeypatch.setattr(environments, "make", lambda names: None)
    monkeypatch.setattr(environments, "inside", lambda *_: [sys.executable, "-c", says])
    out = tmp_path / "out.json"
    arguments = NAMES + ["--model", "mlp", "--out", str(out)]
    assert commands.guarded(exchange.command, arguments) == 2
    assert "error: numpy, give: error: no disk\n" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["numpy"], "an exchange takes two environments or more"),
        (["numpy", "numpee"], "unknown framework 'numpee'"),
        (["numpy", some.without("mlp"), "--model", "mlp"], "has no model 'mlp'"),
        (["numpy", OTHER, "--model", "x"], "--model"),
    ],
)
def test_bad_input_is_one_line(arguments, words, capsys):
    assert commands.guarded(exchange.command, arguments) == 2
    line = capsys.readouterr().err
    assert words in line and line.count("\n") == 1


def test_a_score_that_is_no_number_is_off():
    rows = {"a": {"b": {"error": float("nan")}, "a": {"error": 0.0}}}
    (found,) = exchange.off(rows, {"b": 1.0, "a": 1.0})
    assert found[:2] == ("a", "b")
