"""The foundations of the proof: images near no kink, batches without gradient, the caches."""

import gc
import glob
import os
import types

import numpy as np
import pytest

from common import networks
from common.data.shakespeare import IGNORED
from common.mistakes import adam, catalogue, planted
from common.mistakes.mistake import of_trap
from common.networks.cnn import CNN, masks
from common.networks.lstm import LSTM
from common.networks.mlp import MLP
from common.proof import certificate, dropout, kinks, tasks
from common.proof.check import Check
from common.proof.oracle import Oracle, Training
from common.proof.reference import USUAL, Reference, unit
from common.proof.reference_cache import ReferenceCache, fingerprint
from common.proof.rungs import Certifier, accuracy
from common.proof.rungs.subject import PROBE_RATE
from common.system import machine, modules, source
from common.system.files import ROOT
from frameworks import REFERENCE, variants

# The folders in common/: each imports only earlier ones.
ORDER = "system data dump networks proof mistakes records run bench profiles check sweep".split()
ORDER += "lessons exchange compare challenge rosetta costs".split()


TEXTS = [model for model in networks.MODELS.values() if "attention" in model.traits]


@pytest.fixture(scope="module")
def oracle():
    return Oracle(CNN, 2, {})


def folders():
    """The folders in common/ that hold code."""
    paths = glob.glob(os.path.join(ROOT, "common", "*", "__init__.py"))
    return {os.path.relpath(os.path.dirname(path), ROOT).replace(os.sep, "/") for path in paths}


@pytest.mark.parametrize("folder", ORDER)
def test_imports_run_one_way(folder):
    later = ["common/" + name for name in ORDER[ORDER.index(folder) + 1 :]] + ["reports", "tests"]
    paths = glob.glob(os.path.join(ROOT, "common", folder, "**", "*.py"), recursive=True)
    assert paths and set(ORDER) == {path.split("/")[1] for path in folders()}
    for path in sorted(paths):
        if folder == "system" and path.endswith("modules.py"):  # it finds modules of networks
            continue
        plugins = ("causes.py", "masks.py", "mistakes.py")  # of later folders
        if folder == "networks" and os.path.basename(path) in plugins:
            continue
        for file in source.imports(source.read(path)):
            assert not file.startswith(tuple(later)), path
            assert not file.startswith("frameworks/") or file == "frameworks/__init__.py", path


def test_what_is_read_of_all_frameworks_imports_none():
    """Their facts, variants and traps; the interpreter may be that of another framework."""
    shared = tuple("frameworks/" + name for name in ("__init__", "facts", "variants", "open_mpi"))
    for name in ("*", "*/facts", "*/variants*", "*/traps*"):
        for path in glob.glob(os.path.join(ROOT, "frameworks", name + ".py")):
            for file in source.imports(source.read(path)):
                own = file.startswith(("common/", "frameworks/", "reports/", "tests/"))
                assert file.startswith(shared) or not own, path


@pytest.mark.parametrize("scale", [np.float32(1), tasks.BRIGHT])
@pytest.mark.slow
def test_clear_images_take_the_same_sides_when_weights_are_perturbed(oracle, scale):
    """By a few roundings of float32. With larger perturbations, some other images do not."""
    hp, weights = oracle.gradient_hp, oracle.biased
    images = scale * oracle.images[:48]
    networks = [reference.model(hp, weights)[0] for reference in oracle.references()]
    clear = kinks.clear(oracle.references(), networks, images)
    exact, random = oracle.references()[0], np.random.RandomState(1)
    same = []
    for size in (2.0**-21, 2.0**-15):
        perturbed = {n: w * (1 + size * random.uniform(-1, 1, w.shape)) for n, w in weights.items()}
        sides = [taken(exact, hp, w, images) for w in (weights, perturbed)]
        same.append(np.array([np.array_equal(a, b) for a, b in zip(*sides)]))
    assert clear.any() and same[0][clear].all()
    assert not same[1][~clear].all()


def taken(reference, hp, weights, images):
    """For each image, the side that every ReLU and pool of the network takes."""
    network = reference.model(hp, weights)[0]
    x, _ = reference.module.load(images, None, reference.settings)
    sides = []
    for values, distances in kinks._kinks(network, x):
        shut = np.where(distances < kinks.SAME, 0, values) > 0
        sides.append(shut.reshape(len(images), -1))
    return np.concatenate(sides, 1)


@pytest.mark.parametrize("model", [CNN, LSTM])
def test_a_batch_without_gradient_moves_no_weight(model):
    oracle = Oracle(model, 2, {})
    images, labels = oracle.zero_gradient_batch()
    for reference in oracle.references():
        model = reference.model(oracle.gradient_hp, oracle.fixed_output)
        x, y = reference.module.load(images, labels, reference.settings)
        list(reference.module.train(model, [(x, y)]))
        after = reference.module.weights(model)
        moved = max(np.abs(after[n] - w).max() for n, w in oracle.fixed_output.items())
        assert moved == 0


@pytest.mark.slow
def test_bright_images_reach_what_clips(oracle):
    """Activations above 6 in every layer, and a gradient whose norm is above 5."""
    network = oracle.references()[0].model(oracle.gradient_hp, oracle.fixed_output)[0]
    images, labels, step = oracle.bright_step(USUAL)
    x = images.astype(float)
    for layer in network[:-1]:
        x = layer.forward(x, training=False)
        if layer.name:
            assert x.max() > 6, layer.name
    start = oracle.fixed_output
    assert np.sqrt(sum(((step.exact[n] - w) ** 2).sum() for n, w in start.items())) > 50


def test_ties_that_all_get_the_gradient_are_another_gradient(oracle):
    usual, every = (oracle.plain_step(named)[2] for named in (USUAL, USUAL._replace(ties="all")))
    apart = np.abs(usual.exact["conv1.weight"] - every.exact["conv1.weight"]).max()
    assert apart > 1000 * usual.units["conv1.weight"]


def test_ties_that_share_the_gradient_change_no_weight(oracle):
    """Pixels are equal where all that they are computed from is, so it does not matter which."""
    usual, shared = (
        oracle.plain_step(named)[2] for named in (USUAL, USUAL._replace(ties="shared"))
    )
    for name, w in usual.exact.items():
        assert np.abs(w - shared.exact[name]).max() < usual.units[name], name


@pytest.mark.slow
def test_the_velocity_follows_from_two_sets_of_weights(oracle):
    """Three steps in a row end where two steps do and a third that starts from weights only."""
    (_, _, first), (_, _, second), (images, labels, third) = oracle.momentum_steps(USUAL)
    step = oracle.next_step(oracle.momentum_hp, first.exact, second.exact, images, labels, USUAL)
    for name, w in third.exact.items():
        assert unit(w, step.exact[name]) <= 2e-7 * np.sqrt(np.mean(w**2))


@pytest.mark.parametrize("products", ["float32", "bfloat16"])
def test_the_unit_of_a_late_step_is_of_several_batches_in_bfloat16(products):
    """Rounding flips ReLUs in one batch and none in the next, whose own unit is too small."""
    oracle = Oracle(CNN, 2, {}, products)
    hp, weights = oracle.momentum_hp, oracle.biased
    batch = oracle.images[:2], oracle.labels[:2]
    own = Training(oracle.references(), hp, weights, weights).step(*batch).units
    units = oracle.next_step(hp, weights, weights, *batch, conventions=USUAL).units
    if products == "float32":  # whose images are near no kink
        assert units == own
    else:
        assert all(units[name] >= own[name] for name in own)
        assert any(units[name] > own[name] for name in own)


def test_masks_are_read_off_the_weights():
    """The masks that the weights show are those of the reference's layers."""
    reference = Reference(CNN, "float32", 2)
    hp = CNN.hp._replace(batch_size=16, learning_rate=PROBE_RATE, momentum=0.0, dropout=masks.RATES)
    weights, images, labels = masks.batch(CNN, 16)
    model = reference.model(hp, weights)
    list(reference.module.train(model, [(images, labels)]))
    seen = masks.observe(weights, reference.module.weights(model), 1)
    third = [layer for layer in model[0] if type(layer).__name__ == "Dropout"][2]
    assert np.array_equal(seen.layers[3] > 1e-2, third.kept[: masks.SEEN])
    assert np.allclose(
        seen.layers[3], third.kept[: masks.SEEN] / (1 - masks.RATES[2]), rtol=1e-3, atol=1e-3
    )
    for measured, expected in seen.backward.values():
        assert np.allclose(measured, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_graded_scores_distinguish_the_ways_of_counting():
    scores, labels, right = tasks.of(CNN).graded()
    ranked = scores.argsort(1)
    assert (ranked[:, -1] == labels).mean() == right
    half = len(labels) // 2
    ways = [
        right,
        (ranked[:half, -1] == labels[:half]).mean(),
        (ranked[:, -2:] == labels[:, None]).any(1).mean(),
        (ranked[:, -1] == (labels + 1) % 10).mean(),
    ]
    assert len(set(np.round(ways, 3))) == len(ways)


@pytest.mark.parametrize("variance, rung", [("differences", "gradient"), ("squares", "accuracy")])
def test_rounding_that_hides_a_mistake_moves_its_rung(variance, rung):
    module = types.SimpleNamespace(configure=lambda *_: {"variance": variance})
    mistakes = {mistake.name: mistake for mistake in catalogue.mistakes(networks.find("resnet"))}
    mistake = mistakes["convolution_backward_in_bfloat16"]
    assert planted.expected(mistake, module) == mistake._replace(rung=rung)


@pytest.mark.parametrize("model", TEXTS, ids=lambda model: model.name)
def test_losses_added_up_one_by_one_are_counted(model):
    """This rounds more often than a pairwise sum, which is no mistake; a wrong count is one."""
    scores, targets, right = tasks.of(model).graded()
    scores = scores[:, : targets.shape[1]]
    logs = np.log(np.exp(scores).sum(-1))
    chosen = np.take_along_axis(scores, np.maximum(targets, 0)[..., None], -1)[..., 0]
    counted = targets != IGNORED
    losses = np.where(counted, logs - chosen, 0)
    one_by_one = losses.ravel().cumsum(dtype=np.float32)[-1] / np.float32(counted.sum())
    assert abs(one_by_one - right) < accuracy.FIGURE * right / 2
    of_rows = (losses.sum(1) / counted.sum(1)).mean()
    ways = [losses[:-1].sum() / counted[:-1].sum(), logs[counted].mean()]
    ways += [of_rows, losses.mean()] if "ignored" in model.traits else []
    assert min(abs(way - right) for way in ways) > 100 * accuracy.FIGURE * right


def test_the_cache_is_read_again_and_a_damaged_file_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("ROSETTA_CACHE", str(tmp_path))
    cache = ReferenceCache(CNN, 1)
    cache["numbers"] = np.arange(3.0)
    cache.save()
    again = ReferenceCache(CNN, 1)
    assert list(again["numbers"]) == [0, 1, 2]
    assert ReferenceCache(CNN, 2) == {}  # of other threads
    with open(cache.path, "wb") as file:
        file.write(b"no archive")
    assert ReferenceCache(CNN, 1) == {}


@pytest.mark.parametrize(
    "path",
    ["common/proof/oracle.py", "frameworks/%s/bf16.py" % REFERENCE, "common/data/batches.py"],
)
def test_the_references_results_rest_on_its_code(path, monkeypatch):
    before, read = fingerprint(CNN, 1), source.read
    monkeypatch.setattr(
        source, "read", lambda other: read(other) + "x = 1\n" * (str(other).endswith(path))
    )
    assert fingerprint(CNN, 1) != before


@pytest.mark.parametrize("key", ["cpu", "cpu_family", "cpu_model", "isa"])
def test_the_references_results_rest_on_the_processor(key, monkeypatch):
    before, facts = fingerprint(CNN, 1), machine.facts()
    monkeypatch.setattr(machine, "facts", lambda: dict(facts, **{key: "another"}))
    assert fingerprint(CNN, 1) != before and fingerprint(CNN, 1) != fingerprint(CNN, 2)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ROSETTA_CACHE", str(tmp_path))
    cache = ReferenceCache(CNN, 1)
    (tmp_path / "references").write_text("")  # a file where the folder should be
    cache["numbers"] = np.arange(3.0)
    cache.save()
    assert capsys.readouterr().err.startswith("the reference's results are not kept: ")


@pytest.mark.parametrize("lane, lever", [("same", ""), ("best", ""), ("best", "busy_blas")])
def test_a_certificate_on_its_own_has_the_environment_of_a_run(lane, lever, monkeypatch):
    """With other variables, it would be the certificate of another lane."""

    class Restarted(Exception):
        pass

    def restart_with(environ, module, arguments):
        raise Restarted(environ)

    monkeypatch.setattr(certificate.machine, "restart_with", restart_with)
    with pytest.raises(Restarted) as stopped:
        certificate.command(["numpy", "--lane", lane, "--lever", lever])
    (environ,) = stopped.value.args
    assert environ == modules.environ("numpy", lane, lever)
    timeout = {("same", ""): None, ("best", ""): "4", ("best", "busy_blas"): "26"}[lane, lever]
    assert environ.get("OPENBLAS_THREAD_TIMEOUT") == timeout
    assert ("MALLOC_TOP_PAD_" in environ) == (lane == "best")


def test_a_check_without_a_number_fails():
    assert not Check("loss", float("nan"), 1.0).passed
    assert not Check("loss", float("inf"), 1.0).passed
    assert Check("loss", 1.0, 1.0).passed


def test_a_module_that_raises_fails_the_rung_and_says_why():
    class Broken:
        @staticmethod
        def configure(lane, threads, seed):
            settings = {"layout": "NCHW", "precision": "float32", "not_in_force": []}
            return dict(settings, device="cpu", threads=threads)

        @staticmethod
        def symbol(settings, hp):
            raise ValueError("no such layer")

        weights = None

    certifier = Certifier(CNN, 1)
    certifier.take(Broken, "same")
    result = certifier.climb("weights")
    assert not result["passed"] and "ValueError: no such layer" in result["detail"]


def test_a_loss_too_many_in_a_long_pass_is_counted():
    reference = modules.in_lane("numpy", "same", "mlp")

    class Chatty:
        def __getattr__(self, name):
            return getattr(reference, name)

        @staticmethod
        def train(model, batches):
            losses = []
            for loss in reference.train(model, batches):
                losses.append(loss)
                yield loss
            if len(losses) > 20:
                yield loss

    certifier = Certifier(MLP, 1)
    certifier.take(Chatty(), "same")
    result = certifier.climb("momentum")
    assert not result["passed"] and "train() gave 73 losses for 72 batches" in result["detail"]


def test_a_later_pass_without_a_loss_is_counted():
    reference = modules.in_lane("numpy", "same", "mlp")

    class Once:
        passes = 0

        def __getattr__(self, name):
            return getattr(reference, name)

        def train(self, model, batches):
            self.passes += 1
            return reference.train(model, batches if self.passes == 1 else [])

    certifier = Certifier(MLP, 1)
    certifier.take(Once(), "same")
    result = certifier.climb("data")
    assert not result["passed"] and "train() gave 7 losses for 8 batches" in result["detail"]


def test_a_model_without_dropout_has_no_rung_for_it():
    assert "dropout" in Certifier(CNN, 1).rungs
    assert "dropout" not in Certifier(MLP, 1).rungs


@pytest.mark.parametrize("products, left", [("float32", 0.02), ("bfloat16", 0.1)])
def test_what_is_dropped_is_gone(products, left):
    rates = {0: 0.3}
    dropped = np.random.RandomState(0).rand(64, 50) < 0.3
    for leak, failed in ((0, []), (left, ["dropout 0: what is dropped"])):
        seen = masks.Masks({0: np.where(dropped, leak, 1 / 0.7)}, rates, {})
        checks = dropout.fractions([seen], products)
        assert [check.what for check in checks if not check.passed] == failed


def doubled(hp, step, g, state):
    return 2 * adam.as_in_the_paper(hp, step, g, state)


@pytest.mark.parametrize("rule, passes", [(adam.as_in_the_paper, True), (doubled, False)])
@pytest.mark.slow
def test_a_planted_adam_that_is_right_passes(rule, passes):
    """The way of planting is not what a rung catches."""
    module = adam.with_adam(modules.load("numpy", "mlp"), rule)
    certifier = Certifier(MLP, 2)
    certifier.take(module, "same")
    result = certifier.climb("momentum")
    assert result["passed"] == passes, result["detail"]


SCHEDULED = [model for model in networks.MODELS.values() if "schedule" in model.traits]


@pytest.mark.parametrize("model", SCHEDULED, ids=lambda model: model.name)
@pytest.mark.slow
def test_some_compared_steps_clip_and_some_do_not(model):
    module, certifier = modules.load("numpy", model.name), Certifier(model, 2)
    clipping = ("not_clipped", "always_scaled_to_the_norm")
    mistakes = [mistake for mistake in catalogue.mistakes(model) if mistake.name in clipping]
    rungs = planted.plant(certifier, module, mistakes, lambda *line: None)
    assert rungs == dict.fromkeys(clipping, ["momentum", "momentum"])


def test_compiled_models_are_forgotten_after_each_mistake(monkeypatch):
    """Those of all mistakes together would use up the mappings of a process."""
    caught, forgotten = [], []
    monkeypatch.setattr(planted, "caught", lambda *mistake: caught.append(1) or ("forward", ""))
    monkeypatch.setattr(gc, "collect", lambda: forgotten.append(len(caught)))
    mistakes = [of_trap(variants.trap(name, "forward")) for name in ("first", "second")]
    planted.plant(None, None, mistakes, lambda *line: None, "gc:collect")
    assert forgotten == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mnist_cnn", "lenet5", "mlp"])
def test_every_planted_mistake_is_caught_by_the_rung_that_it_names(model):
    """Including the mistakes that a challenge cannot show."""
    description, module = networks.find(model), modules.load(REFERENCE, model)
    certifier, mistakes = Certifier(description, 1, {}), catalogue.mistakes(description)
    with np.errstate(all="ignore"):
        rungs = planted.plant(certifier, module, mistakes, lambda *_: None)
    assert len(rungs) >= 30
    assert {name: found for name, found in rungs.items() if found[0] != found[1]} == {}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["cnn", "pose"])
def test_every_mistake_of_dropout_is_caught(model):
    description, module = networks.find(model), modules.load(REFERENCE, model)
    certifier = Certifier(description, 1, {})
    mistakes = [each for each in catalogue.mistakes(description) if each.rung == "dropout"]
    rungs = planted.plant(certifier, module, mistakes, lambda *_: None)
    assert len(rungs) >= 7
    assert {name: found for name, found in rungs.items() if found[0] != found[1]} == {}


@pytest.mark.slow
def test_float32_products_fail_where_a_module_claims_bfloat16():
    certifier, mixed = Certifier(CNN, 1, {}, "bfloat16"), modules.in_lane(REFERENCE, "bf16", "cnn")
    certifier.take(mixed, "bf16")
    assert [certifier.climb(rung)["passed"] for rung in ("forward", "gradient")] == [True, True]
    plain = modules.load(REFERENCE, "cnn")

    def configure(lane, threads, seed):
        return dict(plain.configure("same", threads, seed), products="bfloat16")

    certifier.take(modules.replaced(plain, configure=configure), "bf16")
    result = certifier.climb("forward")
    assert not result["passed"] and result["what"] != "ran"


def test_a_mistake_that_cannot_be_planted_costs_no_other():
    class AllDiffer:
        rungs = ("forward",)
        take = staticmethod(lambda module, lane: None)
        climb = staticmethod(
            lambda rung, stop_early: {"what": "loss", "passed": False, "detail": "it differs"}
        )

    misfit = of_trap(variants.trap("misfit", "forward", ("no such code", "other"), model="mlp"))
    broken = of_trap(
        variants.trap("broken", "forward", ("Flatten(settings)", "Flatten(("), model="mlp")
    )
    fits = of_trap(
        variants.trap("fits", "forward", ("Flatten(settings)", "Flatten(settings)"), model="mlp")
    )
    reports = []
    module, mistakes = modules.load("numpy", "mlp"), [misfit, broken, fits]
    rungs = planted.plant(AllDiffer, module, mistakes, lambda *line: reports.append(line))
    never = ["forward", None]
    assert rungs == {"misfit": never, "broken": never, "fits": ["forward", "forward"]}
    for report, why in zip(reports, ("no such code", "SyntaxError: ")):
        assert "could not be planted" in report[2] and why in report[2]


def draws(change):
    """The reference's CNN; ``change(random, memory, seed)`` is called before each step.

    random: what the dropout layers draw from. memory: a dict of the model, with its numbers of
    steps and passes so far.
    """
    module = modules.load("numpy")

    def train(model, batches):
        layers = [layer for layer in model[0] if hasattr(layer, "rate")]
        memory = layers[0].__dict__.setdefault("memory", {"step": 0, "passes": 0})
        memory["passes"] += 1
        for batch in batches:
            memory["step"] += 1
            change(layers[0].random, memory, layers[0].settings["seed"])
            yield from module.train(model, [batch])
            memory["begun"] = memory["passes"]

    return modules.replaced(module, train=train)


def captured(random, memory, seed):
    """As in a graph that was captured after three steps."""
    if memory["step"] == 4:
        memory["state"] = random.get_state()
    if memory["step"] > 4:
        random.set_state(memory["state"])


def cycled(random, memory, seed):
    """Four masks in turn."""
    state = memory.setdefault(memory["step"] % 4, random.get_state())
    random.set_state(state)


def by_sum(random, memory, seed):
    """The next seed has the same masks, a step sooner."""
    random.seed(seed + memory["step"])


def restarted(random, memory, seed):
    """Each pass after the first begins alike."""
    if memory["passes"] > 1 and memory.get("begun") != memory["passes"]:
        random.seed(seed + 1000)


def right(random, memory, seed):
    """Nothing is changed."""


@pytest.mark.parametrize("change", [captured, cycled, by_sum, restarted, right])
@pytest.mark.slow
def test_masks_of_later_steps_are_new(change):
    certifier = Certifier(CNN, 2, ReferenceCache(CNN, 2))
    certifier.take(draws(change), "same")
    rung = certifier.climb("dropout")
    assert rung["passed"] == (change is right), rung["detail"]
    assert change is right or "has the same mask" in rung["detail"]


@pytest.mark.slow
def test_rows_of_a_whole_batch_have_masks_of_their_own():
    """As where a batch is computed in parts that draw from the same state."""

    class Parts:
        def __init__(self, random):
            self.random = random

        def random_sample(self, shape):
            if len(shape) != 2:
                return self.random.random_sample(shape)
            return np.resize(self.random.random_sample((16,) + tuple(shape[1:])), shape)

    module = modules.load("numpy")

    def loss(*arguments):
        model = module.loss(*arguments)
        for layer in [layer for layer in model[0] if hasattr(layer, "rate")]:
            layer.random = Parts(layer.random)
        return model

    certifier = Certifier(CNN, 2, ReferenceCache(CNN, 2))
    certifier.take(modules.replaced(module, loss=loss), "same")
    assert "uses one mask for several values" in certifier.climb("dropout")["detail"]
