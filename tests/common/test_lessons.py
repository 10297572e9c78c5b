"""Lessons: paired trainings, saved one by one, never mixed with those of other code."""

import json
import os
import re
import sys

import jsonschema
import numpy as np
import pytest

import common.sweep
import frameworks
from common.data import batches
from common.data.dataset import Dataset
from common.lessons import differences, initializers, report, study, switches, training
from common.networks.cnn import CNN
from common.networks.hyperparameters import Momentum
from common.networks.initializers import xavier_uniform
from common.proof import certificate
from common.sweep.tasks import Outcome
from common.system import commands
from common.system.files import ROOT

SCHEMA = os.path.join(ROOT, "reports", "lessons.schema.json")
ALONE = "numpy --lane same --data synthetic --train-images 128 --epochs 1 --test-images 64".split()
ALONE += ["--threads", "1"]
TINY = ALONE + ["--seeds", "2"]


# Switches.


@pytest.mark.parametrize("order", [switches.batches_shuffled, switches.in_order])
def test_orders_take_the_same_images_in_other_steps(order):
    ours, other = batches.order(1000, 64, 3, 1), order(1000, 64, 3, 1)
    assert other.shape == ours.shape and other.dtype == ours.dtype
    assert len(set(other.ravel())) == 960 and (np.diff(other, axis=1) == 1).all()
    assert sorted(other[:, 0]) == list(range(0, 960, 64))


def test_the_order_of_batches_depends_on_epoch_and_seed():
    orders = [
        switches.batches_shuffled(1000, 64, *key).tolist() for key in ((0, 0), (0, 1), (1, 0))
    ]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert orders[0] == switches.batches_shuffled(1000, 64, 0, 0).tolist()


# {name: its variance}; that of a uniform distribution is a third of its squared bound.
VARIANCES = {
    "lecun_normal": lambda fan_in, fan_out: 1 / fan_in,
    "he_normal": lambda fan_in, fan_out: 2 / fan_in,
    "xavier_fill": lambda fan_in, fan_out: 1 / fan_in,
    "gluon_xavier": lambda fan_in, fan_out: 2.24 * 2 / (fan_in + fan_out) / 3,
    "pytorch_uniform": lambda fan_in, fan_out: 1 / fan_in / 3,
}


@pytest.mark.parametrize("name", list(VARIANCES))
def test_initializers_have_the_variance_and_range_of_their_frameworks(name):
    weights = getattr(initializers, name)(CNN.shapes, 0)
    assert {n: w.shape for n, w in weights.items()} == dict(CNN.shapes)
    assert all(w.dtype == np.float32 for w in weights.values())
    w = weights["conv4.weight"]
    variance = VARIANCES[name](900.0, 900.0)
    assert w.var() == pytest.approx(variance, rel=0.02) and abs(w.mean()) < 1e-3
    bound = np.abs(w).max() / np.sqrt(3 * variance)
    assert bound > 2 if name.endswith("normal") else 0.999 < bound <= 1.0001
    w = weights["dense1.weight"]
    assert w.var() == pytest.approx(VARIANCES[name](6400.0, 512.0), rel=0.02)
    biases = np.abs(weights["dense1.bias"])
    if name == "pytorch_uniform":
        assert 0.95 / 80 < biases.max() <= 1.0001 / 80
    else:
        assert not biases.any()


def test_uniform_schemes_of_the_same_seed_differ_in_scale_only():
    ours, theirs = (draw(CNN.shapes, 7) for draw in (xavier_uniform, initializers.xavier_fill))
    for name in (name for name in CNN.shapes if name.endswith(".weight")):
        shares = theirs[name] / ours[name]
        assert np.ptp(shares) < 1e-4 * shares.mean()


def test_unit_gain_makes_the_updates_of_a_scaled_velocity():
    hp = Momentum(batch_size=64, learning_rate=0.01, momentum=0.9, dropout=())
    other = switches.unit_gain(switches.Training(None, hp, None, None)).hp
    v, w, velocity, weight = 0.0, 0.0, 0.0, 0.0
    for gradient in np.random.RandomState(0).normal(size=20):
        v = 0.9 * v + (1 - 0.9) * gradient
        w -= 0.01 * v
        velocity = other.momentum * velocity - other.learning_rate * gradient
        weight += velocity
    assert weight == pytest.approx(w, rel=1e-12)
    assert hp.learning_rate == 0.01 and other.batch_size == 64


def test_every_switch_can_be_thrown_somewhere():
    thrown = [set(switches.available(name, switches.LESSONS)) for name in frameworks.ENVIRONMENTS]
    assert set(switches.SWITCHES) in thrown
    assert list(switches.available("numpy", ["softmax", "unit_gain"])) == ["unit_gain"]


@pytest.mark.parametrize("key", ["unit_gain", "dropout_in_prediction"])
def test_a_switch_leaves_the_lane_as_it_is(key):
    """A patch of a module must not undo the functions that its lane replaces."""
    plain = switches.plain("numpy", "bf16", CNN)
    module = switches.throw("numpy", "bf16", switches.SWITCHES[key], plain).module
    for variant in (plain.module, module):
        assert variant.configure("bf16", 1, 0)["products"] == "bfloat16"
        assert len(variant.sources) == 2
    assert (module.sources == plain.module.sources) == (key == "unit_gain")


# Differences.


def scored(*accuracies):
    return {str(seed): {"accuracy": value} for seed, value in enumerate(accuracies)}


def test_a_difference_is_paired_and_has_students_interval():
    """The spread over seeds is far larger than the difference."""
    plain, thrown = scored(0.30, 0.40, 0.50), scored(0.29, 0.388, 0.492)
    effect = differences.paired(plain, thrown)
    assert effect["mean"] == pytest.approx(-1.0)
    half = 4.303 * 0.2 / np.sqrt(3)
    assert effect["interval"] == pytest.approx([-1 - half, -1 + half], rel=1e-2)
    assert effect["verdict"] == "lower"
    assert differences.paired(thrown, plain)["verdict"] == "higher"


def test_two_equal_differences_of_few_images_may_be_chance():
    plain, thrown = scored(0.30, 0.40), scored(0.27, 0.37)
    effects = report.effects({"plain": plain, "dropout_in_prediction": thrown}, 100)
    low, high = effects["differences"]["dropout_in_prediction"]["interval"]
    assert low < -3 - 1 and -3 + 1 < high  # each accuracy is rounded to 1 point


def test_an_interval_that_contains_0_shows_no_difference():
    assert differences.paired(scored(0.3, 0.4), scored(0.29, 0.38))["verdict"] == (
        "no difference shown"
    )
    assert differences.verdict([0.0, 1.0]) == differences.verdict([-1.0, 0.0])


def test_only_common_seeds_count():
    assert differences.paired(scored(0.3, 0.4, 0.9), scored(0.2, 0.3))["points"] == (
        pytest.approx([-10, -10])
    )
    assert differences.paired(scored(0.3, 0.4), scored(0.2)) is None


@pytest.mark.parametrize("switches_thrown, seeds", [(1, 3), (5, 2), (5, 3)])
def test_equal_trainings_show_no_difference_in_nearly_all_studies(switches_thrown, seeds):
    """Whatever other switches and the seeds do."""
    random, shown = np.random.RandomState(0), 0
    for _ in range(200):
        of_seeds = random.normal(0, 0.1, seeds)
        of_switches = np.append(0, random.normal(0, 0.1, switches_thrown - 1))
        trained = {
            key: scored(*(random.normal(0.4 + effect, 0.01, seeds) + of_seeds))
            for key, effect in enumerate([0, *of_switches])
        }
        effect = differences.paired(trained[0], trained[1], differences.residual(trained))
        shown += effect["verdict"] != "no difference shown"
    assert 2 <= shown <= 20  # 10 are expected


def test_chance_is_the_residual_of_seed_and_switch():
    deviation, freedom = differences.residual(
        {"plain": scored(0.3, 0.5), "first": scored(0.4, 0.6), "second": scored(0.1, 0.3)}
    )
    assert freedom == 2 and deviation == pytest.approx(0, abs=1e-9)
    plain, thrown = scored(0.30, 0.41, 0.50), scored(0.29, 0.388, 0.492)
    chance = differences.residual({"plain": plain, "thrown": thrown})
    pooled, alone = (differences.paired(plain, thrown, spread) for spread in (chance, None))
    assert pooled["interval"] == pytest.approx(alone["interval"])
    chance = differences.residual({"plain": plain, "thrown": thrown, "begun": scored(0.2)})
    assert chance[1] == 2  # a single training of a kind has no residual
    assert differences.residual({"plain": plain}) is None
    assert differences.residual({"plain": scored(0.3), "thrown": scored(0.2)}) is None


# The study.


IMAGES, LABELS = np.zeros((128, 3, 32, 32), np.uint8), np.zeros(128, np.int64)
DATA = Dataset("synthetic", "0" * 64, IMAGES, LABELS, IMAGES, LABELS)


LANDED = {
    "versions": {"python": "3.11", "numpy": "2", "framework": "1"},
    "machine": {"cpu": "a CPU", "cores": 2, "memory_bytes": 1, "gpus": []},
    "settings": {"device": "cpu", "layout": "NCHW", "precision": "float32", "threads": 1},
    "dataset": {"name": "synthetic", "sha256": "0" * 64, "train_images": 128, "test_images": 64},
    "source_sha256": "0" * 64,
    "certificate": {"passed": True, "identity": "0" * 64},
}


class Trainings:
    """Stands in for the engine: (switch, seed) of what is trained, one after the other.

    stopped_after: so many trainings, after which ``stop`` is raised. error: of every training.
    """

    def __init__(self):
        self.trained, self.landed, self.stop, self.stopped_after, self.error = (
            [],
            LANDED,
            None,
            0,
            None,
        )

    def carry_out(self, waiting, land):
        for number, task in enumerate(waiting):
            if self.stop and number == self.stopped_after:
                raise self.stop
            key, seed = task.key
            self.trained.append(task.key)
            figures = {key: {"accuracy": 0.3 + 0.01 * len(self.trained), "last_loss": 2.0}}
            if key == "plain":
                figures["dropout_in_prediction"] = {"accuracy": 0.3}
            result = dict(json.loads(json.dumps(self.landed)), measured=figures)
            land(Outcome(task.key, None if self.error else result, self.error))


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A study that trains nothing: (the command, ``Trainings``, the result's path)."""
    monkeypatch.setattr(study, "CNN", CNN._replace(data=lambda path: DATA))
    path, trainings = str(tmp_path / "study.json"), Trainings()
    monkeypatch.setitem(sys.modules, "common.sweep.engine", trainings)
    monkeypatch.setattr(common.sweep, "engine", trainings, raising=False)

    def run(*arguments):
        del trainings.trained[:]
        return commands.guarded(study.command, TINY + ["--out", path] + list(arguments))

    return run, trainings, path


def read(path):
    with open(path) as file:
        return json.load(file)


def test_a_study_trains_seed_by_seed_and_keeps_the_schema(tiny, capsys):
    run, trainings, path = tiny
    assert run("--lessons", "unit_gain", "dropout", "softmax") == 0
    assert trainings.trained == [(key, seed) for seed in (0, 1) for key in ("plain", "unit_gain")]
    result = read(path)
    with open(SCHEMA) as file:
        jsonschema.validate(result, json.load(file))
    assert result["status"] == "finished" and "error" not in result
    assert list(result["differences"]) == ["dropout_in_prediction", "unit_gain"]
    assert result["differences"]["unit_gain"]["points"] == pytest.approx([1, 1])
    assert result["residual"] == {
        "standard_deviation": pytest.approx(0, abs=1e-9),
        "degrees_of_freedom": 1,
    }
    assert "softmax       cannot be switched in numpy here" in capsys.readouterr().out


def test_more_seeds_and_lessons_go_into_the_same_file(tiny):
    run, trainings, path = tiny
    assert run("--lessons", "unit_gain") == 0
    first = read(path)["measured"]
    assert run("--lessons", "unit_gain", "shuffling", "--seeds", "3") == 0
    assert ("plain", 0) not in trainings.trained and ("unit_gain", 1) not in trainings.trained
    assert len(trainings.trained) == 2 + 2 * 3
    now = read(path)["measured"]
    for key, seeds in first.items():
        assert all(now[key][seed] == figures for seed, figures in seeds.items())


def test_effects_are_computed_again_if_nothing_is_left_to_train(tiny):
    run, _, path = tiny
    assert run("--lessons", "unit_gain") == 0
    result = read(path)
    with open(path, "w") as file:
        json.dump(dict(result, differences={}, made="2001-01-01T00:00:00Z"), file)
    assert run("--lessons", "unit_gain") == 0
    assert read(path) == dict(result, made="2001-01-01T00:00:00Z")


@pytest.mark.parametrize("signal, code", [(KeyboardInterrupt, 130), (commands.Terminated, 143)])
def test_a_study_that_was_stopped_continues(tiny, capsys, signal, code):
    run, trainings, path = tiny
    trainings.stop, trainings.stopped_after = signal(), 2
    assert run("--lessons", "unit_gain") == code
    assert "2 trainings are left, the others are in" in capsys.readouterr().err
    result = read(path)
    assert result["status"] == "unfinished" and result["error"] == "2 trainings are left"
    assert sum(len(result["measured"][key]) for key in ("plain", "unit_gain")) == 2
    trainings.stop = None
    assert run("--lessons", "unit_gain") == 0
    assert trainings.trained == [("plain", 1), ("unit_gain", 1)]
    assert read(path)["status"] == "finished"


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda result: dict(result, dataset=dict(result["dataset"], sha256="1")), "other dataset"),
        (lambda result: dict(result, schema=0, lane="best"), "other schema, lane"),
        (lambda result: [result], "other schema, framework"),
        (lambda result: {}, "other schema, framework"),
    ],
)
def test_another_study_is_left_alone(tiny, capsys, spoil, words):
    run, trainings, path = tiny
    assert run("--lessons", "unit_gain") == 0
    other = spoil(read(path))
    with open(path, "w") as file:
        json.dump(other, file)
    assert run("--lessons", "unit_gain") == 2
    error = capsys.readouterr().err
    assert words in error and "; name another file with --out" in error
    assert not trainings.trained and read(path) == other


def test_a_study_whose_code_has_changed_starts_again(tiny, capsys):
    run, trainings, path = tiny
    assert run("--lessons", "unit_gain") == 0
    result = read(path)
    result["measured"]["plain"]["0"]["accuracy"] = 0.9  # to recognise it
    with open(path, "w") as file:
        json.dump(dict(result, sources_sha256="1" * 64), file)
    capsys.readouterr()
    assert run("--lessons", "unit_gain") == 0
    assert "other sources sha256" in capsys.readouterr().out
    assert len(trainings.trained) == 4 and read(path)["measured"]["plain"]["0"]["accuracy"] < 0.9


def test_code_that_changes_during_a_study_ends_it(tiny, monkeypatch, capsys):
    run, trainings, path = tiny
    hashes = iter("ab")
    monkeypatch.setattr(study.source, "code_sha256", lambda paths: next(hashes))
    assert run("--lessons", "unit_gain") == 1
    assert "the code has changed since the study began" in capsys.readouterr().err
    assert not os.path.exists(path)


def test_trainings_with_other_versions_are_not_mixed(tiny, capsys):
    """Only a training itself knows its versions; the earlier ones are then trained again."""
    run, trainings, path = tiny
    assert run("--lessons", "unit_gain") == 0
    newer = dict(LANDED["versions"], framework="2")
    trainings.landed = dict(LANDED, versions=newer)
    assert run("--lessons", "unit_gain", "--seeds", "3") == 0
    assert "other versions" in capsys.readouterr().out
    assert trainings.trained[:2] == [("plain", 2), ("unit_gain", 2)] and len(trainings.trained) == 6
    assert read(path)["versions"] == newer and read(path)["status"] == "finished"


def test_a_switch_may_be_the_first_training_with_new_versions(tiny):
    """Its earlier ones are dropped, the plain ones among them."""
    run, trainings, path = tiny
    assert run("--lessons", "unit_gain") == 0
    trainings.landed = dict(LANDED, versions=dict(LANDED["versions"], framework="2"))
    assert run("--lessons", "unit_gain", "shuffling") == 0
    assert trainings.trained[0][0] not in ("plain", "unit_gain")
    assert set(read(path)["measured"]) > {"plain", "unit_gain"}
    assert read(path)["status"] == "finished" and "unit_gain" in read(path)["differences"]


def test_a_training_rests_on_its_own_code_and_on_no_other_network():
    paths = study.sources("numpy")
    assert "common/networks/cnn/__init__.py" in paths and "common/data/batches.py" in paths
    own = {os.path.basename(path) for path in paths if path.startswith("frameworks/numpy/")}
    assert {"cnn.py", "layers.py", "bf16.py", "variants.py"} <= own
    assert not [path for path in paths if re.search("lstm|resnet|mlp", path)]


def test_a_training_that_fails_ends_the_study(tiny, capsys):
    run, trainings, path = tiny
    trainings.error = "error: numpy, lane same, is not proven"
    assert run() == 1
    assert capsys.readouterr().err == "error: plain, seed 0: numpy, lane same, is not proven\n"
    assert len(trainings.trained) == 1 and not os.path.exists(path)


def test_a_module_that_is_not_proven_is_not_trained(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(
        certificate, "obtain", lambda *_, **__: {"passed": False, "identity": "0" * 64}
    )
    monkeypatch.setattr(training, "train", None)
    out = tmp_path / "training.json"
    assert commands.guarded(training.command, ALONE + ["--out", str(out)]) == 1
    assert "numpy, lane same, is not proven" in capsys.readouterr().err and not out.exists()


@pytest.mark.parametrize("switch", ["plain", pytest.param("unit_gain", marks=pytest.mark.slow)])
def test_a_training_writes_what_a_study_keeps(monkeypatch, tmp_path, switch):
    """A training of two steps, in this process."""
    proof = {"passed": True, "identity": "0" * 64}
    monkeypatch.setattr(certificate, "obtain", lambda *_, **__: proof)
    out = tmp_path / "training.json"
    command = ALONE + ["--switch", switch, "--seed", "3", "--out", str(out)]
    assert commands.guarded(training.command, command) == 0
    result = read(str(out))
    assert set(result) == {*LANDED, "measured"} and result["certificate"] == proof
    predicted = ["dropout_in_prediction"] if switch == "plain" else []  # with its weights
    assert list(result["measured"]) == [switch] + predicted
    assert result["measured"][switch]["last_loss"] > 0
    assert "seed" not in result["settings"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--seeds", "1"], "'1' is not a whole number of 2 or more"),
        (["--lessons", "autotune"], "invalid choice: 'autotune'"),
        (["--train-images", "60"], "fewer than one batch"),
    ],
)
def test_bad_input_is_one_line(tiny, capsys, arguments, words):
    run, trainings, _ = tiny
    assert run(*arguments) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert words in line and not trainings.trained


@pytest.mark.slow
def test_pairs_differ_in_the_switch_alone():
    """In real trainings, unit gain takes another path from the same start, on the same batches."""
    plain = switches.plain("numpy", "same", CNN)
    random = np.random.RandomState(0)
    x, y = random.uniform(size=(128, 3, 32, 32)).astype(np.float32), np.arange(128) % 10
    losses = []
    for variant in (plain, switches.unit_gain(plain), plain):
        weights = variant.initialize(CNN.shapes, 5)
        model = training.build(variant, "same", 1, 5, weights)
        losses.append(training.train(variant, model, x, y, 5, 1, "a label"))
        assert 0 <= training.accuracy(variant, model, x[:70], y[:70]) <= 1
    assert losses[0] == losses[2] and losses[0][0] == losses[1][0]
    assert losses[0][1] != losses[1][1]
