"""An answer gets the verdict of its module's certificate; missing or bad parts are reported."""

import json
import re
import zipfile

import jsonschema
import numpy as np
import pytest

from common import networks
from common.challenge import challenge, conventions, direct_evidence, optional, protocol, updates
from common.challenge.answer_certifier import AnswerCertifier
from common.challenge.diagnosis import CAUSE, UNKNOWN, UNREAD, Finding, Reading
from common.challenge.replay import Replay
from common.compare.functions import softmax
from common.mistakes import catalogue
from common.proof.reference_cache import ReferenceCache
from common.system import array_files, commands, modules

MODEL = networks.find("mnist_cnn")  # the quickest


def command(*arguments):
    arguments = [str(argument) for argument in arguments]
    threads = ["--threads", "1"] if arguments else []
    return commands.guarded(challenge.command, arguments + threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A challenge."""
    folder = tmp_path_factory.mktemp("challenge") / "new"
    assert command("write", folder, "--model", MODEL.name) == 0
    return folder


@pytest.fixture(scope="module")
def right(folder):
    """NumPy's answer, an .npz."""
    path = folder.parent / "right.npz"
    assert command("answer", folder, "numpy", path) == 0
    return path


def answers_of(path, start=""):
    """{name: array} of an answer whose names begin with ``start``."""
    with np.load(str(path)) as archive:
        return {name: archive[name] for name in archive.files if name.startswith(start)}


def judged(folder, answer, code):
    """The verdict as JSON, {rung: passed}, of an answer whose check ends with ``code``."""
    out = folder.parent / "verdict.json"
    assert command("check", folder, answer, "--json", out) == code
    verdict = json.loads(out.read_text())
    with open(challenge.VERDICT) as file:
        jsonschema.validate(verdict, json.load(file))
    return verdict, {rung["rung"]: rung["passed"] for rung in verdict["rungs"]}


def test_a_right_answer_passes_every_rung(folder, right):
    verdict, verdicts = judged(folder, right, 0)
    assert verdict["passed"] and verdict["whole"] and set(verdicts.values()) == {True}


def test_both_formats_hold_the_same(folder, right):
    asked, arrays, _ = challenge.read(str(folder))
    shapes = {name: array.shape for name, array in arrays.items()}
    other = array_files.read(
        str(folder / "challenge.safetensors"), shapes, dtypes=("float32", "int64")
    )
    assert set(other) == set(arrays)
    assert all(np.array_equal(arrays[name], other[name]) for name in arrays)
    answers = array_files.read(str(right), protocol.expected(asked, arrays, MODEL))
    array_files.write(str(right.parent / "right.safetensors"), answers)
    _, verdicts = judged(folder, right.parent / "right.safetensors", 0)
    assert set(verdicts.values()) == {True}


@pytest.mark.parametrize(
    "part, rung",
    [
        ("gradient/scores", "forward"),
        ("recipe/losses", "trajectory"),
        ("momentum/after", "momentum"),
    ],
)
def test_a_part_is_judged_and_the_rest_is_listed(folder, right, part, rung, capsys):
    answers = answers_of(right, part)
    array_files.write(str(right.parent / "part.npz"), answers)
    verdict, verdicts = judged(folder, right.parent / "part.npz", 0)
    assert not verdict["whole"]
    assert [name for name, verdict in verdicts.items() if verdict] == [rung]
    assert "not answered: " in capsys.readouterr().out


def test_the_answers_that_decide_are_enough_without_the_optional_parts(folder, right, capsys):
    answers = answers_of(right)
    decide, left = optional.parts(answers, MODEL)
    assert list(left) == ["weights", "accuracy"]  # it has no dropout
    array_files.write(str(right.parent / "part.npz"), {name: answers[name] for name in decide})
    _, verdicts = judged(folder, right.parent / "part.npz", 0)
    assert [name for name, passed in verdicts.items() if passed is None] == list(left)
    printed = capsys.readouterr().out
    assert "optional, and not answered: weights, accuracy\n" in printed
    assert "only in part" not in printed
    page = (folder / "README.md").read_text()
    sizes = [sum(answers[n].nbytes for n in part) / 1e6 for part in (answers, decide)]
    said = re.search(r"is ([\d.]+) MB, but ([\d.]+) MB are enough", page).groups()
    assert [float(size) for size in said] == [float("%.2g" % size) for size in sizes]


def test_an_optional_part_is_a_rung_of_its_own():
    """What remains of the CNN's answer decides without the masks of dropout, the largest part."""
    cnn = networks.find("cnn")
    shapes = list(cnn.shapes)
    names = ["evaluate", "probe/losses1", "gradient/scores1", "recipe/losses1"]
    for place in ("gradient/after0", "gradient/after1", "probe/after1", "recipe/after20"):
        names += ["%s/%s" % (place, tensor) for tensor in shapes]
    decide, left = optional.parts(names, cnn)
    assert list(left) == ["weights", "dropout", "accuracy"]
    assert decide[:4] == names[:4] and "probe/after1/" + shapes[-1] in decide
    assert set(left["dropout"]) == {"probe/after1/" + tensor for tensor in shapes[:-1]}


def test_weights_that_come_back_are_no_proof_and_wrong_ones_fail(folder, right):
    array_files.write(str(right.parent / "part.npz"), answers_of(right, "gradient/after0"))
    _, verdicts = judged(folder, right.parent / "part.npz", 3)
    assert verdicts["weights"] is True
    answers = answers_of(right)
    name = next(name for name in answers if name.startswith("gradient/after0/"))
    answers[name] = answers[name] + np.float32(0.01)
    array_files.write(str(right.parent / "part.npz"), answers)
    _, verdicts = judged(folder, right.parent / "part.npz", 3)
    assert verdicts["weights"] is False


def test_a_missing_answer_hides_no_wrong_one(folder, right, capsys):
    answers = answers_of(right, "momentum/")
    first, *_, last = [name for name in answers if name.startswith("momentum/after")]
    del answers[first]
    answers[last] = answers[last] + np.float32(0.01)
    array_files.write(str(right.parent / "part.npz"), answers)
    verdict, verdicts = judged(folder, right.parent / "part.npz", 3)
    assert verdicts["momentum"] is False
    (rung,) = [rung for rung in verdict["rungs"] if rung["rung"] == "momentum"]
    assert rung["missing"] == [first]
    assert "unknown, first seen in three steps" in capsys.readouterr().out


def test_the_order_of_batches_is_judged_without_the_weights(folder, right, tmp_path):
    answers = answers_of(right)
    answers["probe/losses1"] = answers["probe/losses1"][::-1]
    del answers["probe/after1/conv1.weight"]
    array_files.write(str(tmp_path / "order.npz"), answers)
    _, verdicts = judged(folder, tmp_path / "order.npz", 3)
    assert verdicts["data"] is False


def test_evaluation_of_other_targets_is_stale(folder, right, tmp_path, capsys):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    asked, arrays, _ = challenge.read(str(folder))
    name = asked["evaluate"]["targets"]
    array_files.write(str(tmp_path / "challenge.npz"), dict(arrays, **{name: 9 - arrays[name]}))
    assert command("check", tmp_path, right) == 2
    assert "written by another version of this project" in capsys.readouterr().err


@pytest.mark.parametrize(
    "start, first, found",
    [("", "gradient/scores1", True), ("recipe/after20/", "recipe/after20/", False)],
)
def test_a_verdict_is_strict_json(folder, right, tmp_path, capsys, start, first, found):
    answers = {
        name: np.full_like(array, np.nan) if name.startswith(start) else array
        for name, array in answers_of(right).items()
    }
    array_files.write(str(tmp_path / "nan.npz"), answers)
    verdict, _ = judged(folder, tmp_path / "nan.npz", 3)
    says = "the answer has NaN or infinity, first in " + first
    assert says in capsys.readouterr().out
    assert not found or says in {finding["says"] for finding in verdict["findings"]}
    json.loads((folder.parent / "verdict.json").read_text(), parse_constant=pytest.fail)


def test_sequences_are_asked_for_and_judged(tmp_path, capsys):
    folder, answer = tmp_path / "lstm", tmp_path / "answer.npz"
    assert command("write", folder, "--model", "lstm") == 0
    assert command("answer", folder, "numpy", answer) == 0
    assert command("check", folder, answer) == 0
    assert "7 of 7 rungs proven" in capsys.readouterr().out


def test_an_answer_without_a_whole_rung_proves_nothing(folder, right, capsys):
    array_files.write(str(right.parent / "part.npz"), answers_of(right, "evaluate"))
    verdict, verdicts = judged(folder, right.parent / "part.npz", 3)
    assert not verdict["passed"] and set(verdicts.values()) == {None}
    assert "0 of 7 rungs proven" in capsys.readouterr().out


# Mistakes that no answer shows: shared state, a claimed setting, a long run, a large batch.
NOT_ASKED = (
    "models_share_state",
    "predicts_with_the_model_built_last",
    "claims_bfloat16",
    "epsilon_named_wrongly",
    "weights_averaged_every_thirty_steps",
    "lookahead_every_twenty_five_steps",
    "learning_rate_restarts_at_forty_steps",
    "tf32_in_large_batches",
)
LATER = {"height_and_width_swapped": "forward"}  # load() itself is not seen, its effect is


def examined(asked, arrays, answers):
    """The certifier's verdict on answers."""
    certifier = AnswerCertifier(MODEL, 1, ReferenceCache(MODEL, 1))
    certifier.choose(asked["chosen"])
    return certifier.examine(Replay(asked, arrays, answers, MODEL, 1))


@pytest.mark.parametrize(
    "mistake",
    [mistake for mistake in catalogue.mistakes(MODEL) if mistake.name not in NOT_ASKED],
    ids=lambda mistake: mistake.name,
)
def test_a_mistake_fails_the_rung_that_the_certificate_names(folder, mistake, tmp_path):
    asked, arrays, _ = challenge.read(str(folder))
    wrong = mistake.make(modules.load("numpy", MODEL.name), tmp_path)
    with np.errstate(all="ignore"):
        answers = protocol.carry_out(asked, arrays, MODEL, wrong, "same", 1)
    verdicts = {rung["rung"]: rung["passed"] for rung in examined(asked, arrays, answers)["rungs"]}
    assert verdicts[LATER.get(mistake.name, mistake.rung)] is False


# {mistake: the cause that the diagnosis names, without its parenthesis; "" if it only says where}
PLANTED = {
    "biases_ignored": "conv1.bias is left out, or not put in",
    "kernel_flipped": "kernels are flipped: true convolution",
    "gradient_clipped": "",
    "bias_decay": "weight decay of 1e-06 of the biases only, beside the gradient",
    "epsilon_inside_the_root": "Adam's epsilon is inside the root",
    "own_batch_order": "a pass takes the batches in another order: 7, 3, 1, 2, 5, 4, 6",
    "losses_rounded": "the losses have the digits of bfloat16 only",
    "two_highest_counted": "evaluation: a label among the 2 highest scores counts",
}


SLOW = ("bias_decay", "gradient_clipped", "epsilon_inside_the_root")  # several trainings are tried


def findings_on(folder, module, tmp_path):
    """What is found in a module's wrong answer: [(kind, says without parenthesis)]."""
    asked, arrays, _ = challenge.read(str(folder))
    answers = protocol.carry_out(asked, arrays, MODEL, module, "same", 1)
    array_files.write(str(tmp_path / "wrong.npz"), answers)
    verdict, _ = judged(folder, tmp_path / "wrong.npz", 3)
    return [(f["kind"], f["says"].split(" (")[0]) for f in verdict["findings"]]


def planted(name):
    """A known mistake of the network."""
    return next(mistake for mistake in catalogue.mistakes(MODEL) if mistake.name == name)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in PLANTED],
)
def test_a_mistake_is_named(folder, name, tmp_path):
    wrong = planted(name).make(modules.load("numpy", MODEL.name), tmp_path)
    assert [says for _, says in findings_on(folder, wrong, tmp_path)] == [PLANTED[name]]


def header(shape, dtype="<f4"):
    """The beginning of an .npy of this shape and type."""
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (dtype, shape)
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "name, content, line",
    [
        ("nothing.npz", None, "nothing.npz: No such file"),
        ("answer.txt", b"", "the name must end in .npz or .safetensors"),
        ("cut.npz", b"PK\x03\x04 and so on", "cut.npz is not a valid .npz file"),
        ("cut.safetensors", b"\xff" * 20, "cut.safetensors is not a valid .safetensors file"),
        ("empty.npz", {}, "empty.npz contains no answer"),
        ("other.npz", {"x.npy": header((1,))}, "'x' is no answer of this challenge"),
        ("code.npz", {"run.py": b"exit()"}, "'run.py' is not an array"),
        ("shape.npz", {"evaluate.npy": header((10**6, 10**6))}, "evaluate has shape (1000000, "),
        (
            "pickle.npz",
            {"evaluate.npy": header((), "|O") + b"cos\nsystem\n"},
            "evaluate is object, not float32",
        ),
        ("long.npz", {"evaluate.npy": header(()) + b"0" * 9999}, "longer than its shape"),
    ],
)
def test_a_spoilt_answer_is_one_line(folder, name, content, line, tmp_path, capsys):
    path = tmp_path / name
    if isinstance(content, dict):
        with zipfile.ZipFile(str(path), "w") as archive:
            for member, data in content.items():
                archive.writestr(member, data)
    elif content is not None:
        path.write_bytes(content)
    assert command("check", folder, path) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1, error


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["write", "."], ". is not empty"),
        (
            ["write", "new", "--named", "ties=none"],
            "--named ties=none: choose one or all or shared",
        ),
        (
            ["write", "new", "--named", "tie=one"],
            "--named tie=one: no such convention; there are ties, ",
        ),
        (
            ["write", "new", "--named", "adam_epsilon=uncorrected"],
            "--named adam_epsilon=uncorrected: cnn has only ties",
        ),
        (
            ["write", "new", "--named", "ties=one", "--named", "ties=all"],
            "--named ties=all: it is one already",
        ),
        (["write", ""], "argument folder: it is empty"),
        (["check", "new", "answer.npz", "--json", ""], "argument --json: it is empty"),
        (["write", "new", "--model", "alexnet"], "invalid choice: 'alexnet'"),
        (["check", "nowhere", "answer.npz"], "nowhere/challenge.json: No such file"),
        (["answer", "nowhere", "numpy", "answer.doc"], "the name must end in .npz"),
        ([], "choose write, answer, check or compare"),
    ],
)
def test_bad_input_is_one_line(arguments, line, tmp_path, monkeypatch, capsys):
    (tmp_path / "something").write_text("")
    monkeypatch.chdir(str(tmp_path))
    assert command(*arguments) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1, error
    assert [file.name for file in tmp_path.iterdir()] == ["something"]


def test_conventions_add_up():
    named = ["adam_epsilon=uncorrected", "adam_scalars=float32 shares"]
    arguments = ["write", "new", "--model", "mlp"]
    for convention in named:
        arguments += ["--named", convention]
    _, job = challenge.parse(arguments)
    assert job == challenge.parse(["write", "new", "--model", "mlp", "--named"] + named)[1]
    assert job.conventions[1:3] == ("uncorrected", "float32 shares")


def other_rate(asked):
    asked["models"][1]["hyperparameters"]["learning_rate"] = 0.5


def other_images(asked):
    asked["chosen"]["gradient"] = asked["chosen"]["gradient"][::-1]


@pytest.mark.parametrize(
    "spoil, line",
    [
        (other_rate, "written by another version of this project"),
        (other_images, "written by another version of this project"),
        (lambda asked: asked.update(schema=1), "written by another version of this project"),
        (lambda asked: asked.clear(), "not a challenge's script: 'schema' is a required property"),
        (lambda asked: asked.pop("models"), "'models' is a required property"),
        (lambda asked: asked["models"].pop(1), "there is no model gradient"),
        (lambda asked: asked["named"].clear(), "named: 'ties' is a required property"),
        (
            lambda asked: asked["named"].update(ties="some"),
            "named/ties: 'some' is not one of ['one",
        ),
        (lambda asked: asked["models"][0]["hyperparameters"].clear(), "models/0/hyperparameters: "),
        (
            lambda asked: asked["models"][0]["hyperparameters"].update(dropout=1),
            "dropout: 1 is not of type 'array'",
        ),
        (lambda asked: asked["models"][0]["weights"].clear(), "'conv1.weight' is a required"),
        (lambda asked: asked["models"][0]["do"].insert(0, {"predict": "x"}), "'x' is not an array"),
        (lambda asked: asked["models"][0]["do"].insert(0, 1), "is not valid"),
        (lambda asked: asked["models"][0]["weights"].update(more="x"), "('more' was unexpected)"),
        (lambda asked: asked["models"].append(asked["models"][1]), "two models have one name"),
        (
            lambda asked: asked["models"][1]["do"].insert(0, {"predict": "evaluate/labels"}),
            "evaluate/labels has shape [301], not (n, 1, 28, 28)",
        ),
        (lambda asked: asked["arrays"].update(more=[1]), "more is missing"),
        (lambda asked: asked["chosen"].update(gradient=[10**6]), "there is no image 1000000"),
        (lambda asked: asked["chosen"].update(gradient=[]), "[] "),
        (lambda asked: asked.update(model="alexnet9"), "unknown model 'alexnet9'"),
    ],
)
@pytest.mark.parametrize("installed", [True, False], ids=["jsonschema", "without jsonschema"])
def test_a_challenge_that_is_spoilt_is_one_line(
    folder, right, spoil, line, installed, tmp_path, monkeypatch, capsys
):
    if not installed:  # as in rosetta.pyz, where what does no harm is not found
        monkeypatch.setattr(protocol, "_jsonschema", lambda: None)
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    asked = json.loads((tmp_path / "challenge.json").read_text())
    spoil(asked)
    (tmp_path / "challenge.json").write_text(json.dumps(asked))
    code = command("check", tmp_path, right)
    error = capsys.readouterr().err
    if not installed:
        assert code in (0, 2, 3) and error.count("error: ") == (code == 2), error
        return
    assert code == 2
    errors = [text for text in error.splitlines() if text.startswith("error: ")]
    assert len(errors) == 1 and line in errors[0], error


def reference(folder):
    asked, _, _ = challenge.read(str(folder))
    return protocol.reference(asked, MODEL)


def test_another_convention_hides_no_later_mistake(folder, tmp_path):
    """A mistake in a step hides the losses, but a convention does not."""
    asked, arrays, _ = challenge.read(str(folder))
    module = planted("losses_rounded").make(reference(folder), tmp_path)
    answers = protocol.carry_out(asked, arrays, MODEL, module, "same", 1)
    verdict = examined(asked, arrays, answers)

    def later(**values):
        cause = Finding(CAUSE, "one step", "it is", [], 99, 1, **values)
        found = direct_evidence.findings(asked, arrays, answers, MODEL, verdict, [cause])
        return [finding.says for finding in found]

    assert later(convention=("ties", "all")) == ["the losses have the digits of bfloat16 only"]
    assert later() == []


@pytest.mark.slow
def test_an_unknown_mistake_hides_no_later_one(folder, tmp_path):
    module = planted("gradient_clipped").make(reference(folder), tmp_path)
    module = planted("losses_rounded").make(module, tmp_path)
    findings = findings_on(folder, module, tmp_path)
    assert findings[0][0] == "unknown"
    assert findings[-1] == ("cause", "the losses have the digits of bfloat16 only")


def rmsprop(hp, step, weights, gradients, state):
    moved = {}
    for name, g in gradients.items():
        state[name] = 0.9 * state.get(name, 0) + 0.1 * g**2
        moved[name] = -2e-3 * g / (np.sqrt(state[name]) + 1e-8)
    return moved


def lion(hp, step, weights, gradients, state):
    moved = {}
    for name, g in gradients.items():
        m = state.get(name, 0)
        moved[name] = -3e-4 * (np.sign(0.9 * m + 0.1 * g) + 0.1 * weights[name])
        state[name] = 0.99 * m + 0.01 * g
    return moved


@pytest.mark.parametrize(
    "rule, says",
    [
        (rmsprop, "RMSprop, decay 0.9, epsilon 1e-08, rate 0.002, no decay"),
        pytest.param(
            lion,
            "Lion, betas 0.9 and 0.99, rate 0.0003, decay 0.1 times the rate",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_optimiser_that_no_cause_knows_is_named(folder, tmp_path, rule, says):
    findings = findings_on(folder, updates.with_rule(rule)(reference(folder)), tmp_path)
    assert ("cause", "the optimiser is " + says) in findings


def test_probabilities_hide_no_other_cause_of_wrong_scores(folder, tmp_path):
    flipped = planted("kernel_flipped").make(reference(folder), tmp_path)
    predicted = modules.replaced(
        flipped, predict=lambda model, x: softmax(flipped.predict(model, x), 1)
    )
    findings = findings_on(folder, predicted, tmp_path)
    assert [says for _, says in findings] == [
        "predictions are probabilities: a softmax after the last layer, only in prediction",
        "kernels are flipped: true convolution",
    ]


def test_losses_that_barely_pass_propose_a_convention(folder, right):
    asked, arrays, _ = challenge.read(str(folder))
    module = conventions.following("adam_scalars", "float32 corrections")(reference(folder))
    answers = protocol.carry_out(asked, arrays, MODEL, module, "same", 1)
    proposed = conventions.nearer(asked, arrays, answers, MODEL)
    assert proposed == ("adam_scalars", "float32 corrections")
    assert conventions.nearer(asked, arrays, answers_of(right), MODEL) is None
    rung = {"rung": "trajectory", "passed": True, "error": 0.9, "tolerance": 1}
    assert conventions.barely({"rungs": [rung]})
    assert not conventions.barely({"rungs": [dict(rung, error=0.1)]})
    assert not conventions.barely({"rungs": [dict(rung, passed=None, error=None)]})


def test_infinite_losses_are_not_another_order(folder, right, tmp_path):
    answers = answers_of(right)
    answers["probe/losses1"] = answers["probe/losses1"] + np.float32(np.inf)
    array_files.write(str(tmp_path / "infinite.npz"), answers)
    verdict, _ = judged(folder, tmp_path / "infinite.npz", 3)
    data = verdict["rungs"][0]
    assert data["detail"] == "a loss is infinite or NaN, where a label's probability rounds to 0"


@pytest.mark.parametrize(
    "changed, says",
    [
        (lambda losses: 0 * losses, "all losses are 0"),
        (
            lambda losses: losses.cumsum() / np.arange(1, len(losses) + 1),
            "a loss is the mean of the pass so far, not that of its batch",
        ),
    ],
)
def test_odd_losses_are_not_another_order(folder, right, tmp_path, changed, says):
    answers = answers_of(right)
    answers["probe/losses1"] = np.float32(changed(answers["probe/losses1"]))
    array_files.write(str(tmp_path / "odd.npz"), answers)
    verdict, _ = judged(folder, tmp_path / "odd.npz", 3)
    assert verdict["rungs"][0]["detail"] == says
    assert not [cause for cause in causes_of(verdict) if "another order" in cause]


def causes_of(verdict):
    """Every sentence that a verdict's findings name."""
    return [says for found in verdict["findings"] for says in [found["says"], *found["others"]]]


@pytest.mark.parametrize("factor", [1 / 16, 0.1])
def test_smaller_losses_are_not_clipped(folder, right, factor):
    asked, arrays, _ = challenge.read(str(folder))
    answers = answers_of(right)
    answers["probe/losses1"] = answers["probe/losses1"] * np.float32(factor)
    assert direct_evidence._clipped(asked, arrays, answers, MODEL, None) == []
    answers["probe/losses1"] = np.zeros_like(answers["probe/losses1"])
    assert direct_evidence._clipped(asked, arrays, answers, MODEL, None) == []
    assert direct_evidence._order(asked, arrays, answers, MODEL, None) == []


@pytest.mark.parametrize(
    "stage, kind", [("scores", UNREAD), ("one step", UNREAD), ("eight steps", CAUSE)]
)
def test_whatever_is_unknown_hides_the_masks(folder, monkeypatch, stage, kind):
    """The masks are read from gradients, which an unknown mistake may have changed."""
    asked, arrays, _ = challenge.read(str(folder))
    monkeypatch.setattr(direct_evidence, "_dropout", lambda *_: [Reading("it is seen", "dropout")])
    rung = dict(rung="dropout", passed=False, error=2.0, tolerance=1.0, kind=None, detail="")
    unknown = Finding.read(UNKNOWN, stage, "", 99)
    found = direct_evidence.findings(asked, arrays, {}, MODEL, {"rungs": [rung]}, [unknown])
    assert [finding.kind for finding in found] == [kind]


def test_an_adam_that_corrects_its_epsilon_follows_another_convention(tmp_path):
    """Where the challenge names ``adam_epsilon=uncorrected``."""
    folder = tmp_path / "new"
    options = ("--model", MODEL.name, "--named", "adam_epsilon=uncorrected")
    assert command("write", folder, *options) == 0
    corrected = updates.with_rule(updates.adam)(reference(folder))
    findings = findings_on(folder, corrected, tmp_path)
    assert findings == [("cause", "Adam's epsilon is added after the correction")]


def with_sums_in_float64(module):
    """A module that keeps all values in float32, and adds up in float64: JavaScript, often C."""

    def rounded(function):
        def stored(*given, **named):
            result = function(*given, **named)
            return result if result is None else np.float64(np.float32(result))

        return stored

    def configure(lane, threads, seed):
        return dict(module.configure(lane, threads, seed), precision="float64")

    def symbol(settings, hp):
        network = module.symbol(settings, hp)
        for layer in network:
            layer.forward, layer.backward = rounded(layer.forward), rounded(layer.backward)
        return network

    def loss(network, settings, hp, weights):
        model = module.loss(network, settings, hp, weights)
        optimizer, step = model[2], model[2].step

        def stored(*names):
            for array in sum((getattr(optimizer, name) for name in names), []):
                array[...] = np.float32(array)

        def rounded_step():
            stored("gradients")
            step()
            stored("parameters", "mean", "square")

        optimizer.step = rounded_step
        return model

    return modules.replaced(module, configure=configure, symbol=symbol, loss=loss)


def test_sums_in_float64_are_not_float64(folder, tmp_path):
    asked, arrays, _ = challenge.read(str(folder))
    module = with_sums_in_float64(reference(folder))
    answers = protocol.carry_out(asked, arrays, MODEL, module, "same", 1)
    answers = {name: np.float32(array) for name, array in answers.items()}
    array_files.write(str(tmp_path / "right.npz"), answers)
    assert command("check", folder, tmp_path / "right.npz") == 0


def test_a_number_may_have_one_axis(folder, right, tmp_path):
    """Some writers of .npy know no array without axes."""
    answers = answers_of(right, "evaluate")
    answers["evaluate"] = answers["evaluate"].reshape(1)
    array_files.write(str(tmp_path / "one.npz"), answers)
    assert command("check", folder, tmp_path / "one.npz") == 3  # no rung is whole
    expected = {"evaluate": (), "x": (1,)}
    assert array_files.read(str(tmp_path / "one.npz"), expected)["evaluate"].shape == ()


def test_the_page_has_the_conventions_and_the_sizes(folder):
    page = (folder / "README.md").read_text()
    assert "- `ties=one`: who gets the gradient" in page
    assert "- `adam_epsilon=corrected`: " in page and "variance" not in page
    assert "- `gradient` (" in page
    asked = json.loads((folder / "challenge.json").read_text())
    assert asked["recipe"]["learning_rate"] == MODEL.hp.learning_rate
    assert asked["named"]["ties"] == "one"
