"""A framework's own files return the weights bit for bit; damaged or malicious ones are refused."""

import os

import numpy as np
import pytest

import frameworks
from common import networks
from common.proof import tasks
from common.run import weight_files
from common.system import modules
from common.system.errors import InputError
from tests import beside
from tests.native import hostile

MODEL = networks.find("cnn")
ROWS = 4


@pytest.fixture(scope="module")
def builder(name, threads):
    """Makes the function that ``weight_files.read`` calls to build a model."""

    def of(model):
        def build(weights):
            module = modules.load(name, model.name)
            settings = module.configure("same", threads, 0)
            network = module.symbol(settings, model.hp._replace(batch_size=ROWS))
            return module, module.loss(network, settings, model.hp, weights)

        return build

    return of


@pytest.fixture(scope="module")
def endings(name):
    """The framework's."""
    beside.need(name, "native")
    return frameworks.ENVIRONMENTS[name].endings


def drawn(model, seed=0):
    """Weights, biases and state in which no two values are equal."""
    random = np.random.RandomState(seed)
    return {
        name: random.uniform(0.1, 1, shape).astype(np.float32)
        for name, shape in model.shapes.items()
    }


@pytest.fixture(scope="module")
def cnn(builder):
    """(model, weights) of the CNN."""
    weights = drawn(MODEL)
    return builder(MODEL)(weights)[1], weights


@pytest.fixture(scope="module")
def empty(builder):
    """Builds one CNN for all refused files, because none of them may be loaded."""
    nothing = {name: np.full(shape, np.nan, np.float32) for name, shape in MODEL.shapes.items()}
    built = builder(MODEL)(nothing)
    return lambda weights: built


def saved(name, cnn, folder, ending):
    """The path of the CNN's weights in a file."""
    path = os.path.join(str(folder), "weights" + ending)
    weight_files.write(MODEL, name, path, *cnn)
    return path


@pytest.mark.parametrize("model", ["cnn", "lstm", "resnet", "gpt"])
def test_weights_come_back_bit_for_bit(name, builder, endings, tmp_path, model):
    if not modules.has(name, model):
        pytest.skip("no such network")
    description = networks.find(model)
    for ending in endings:
        weights = drawn(description)
        path = str(tmp_path / ("weights" + ending))
        weight_files.write(description, name, path, builder(description)(weights)[1], weights)
        restored = weight_files.read(description, name, path, builder(description))
        assert [n for n, w in weights.items() if not np.array_equal(w, restored[n])] == []


def refused(name, build, path, words):
    """The one-line message with which a file is refused."""
    with pytest.raises(InputError, match=words) as error:
        weight_files.read(MODEL, name, path, build)
    line = str(error.value)
    assert line.startswith(path) and "\n" not in line and len(line) < len(path) + 300
    return line


def test_the_framework_s_own_attacks_are_for_its_own_files(name, endings):
    assert set(beside.load(name, "hostile").ATTACKS) <= set(endings)


def test_spoilt_files_are_refused_in_a_line(name, cnn, empty, endings, tmp_path):
    for ending in endings:
        refused(name, empty, str(tmp_path / ("none" + ending)), "No such file")
        path = saved(name, cnn, tmp_path, ending)
        largest = max(weight_files.files_of(path), key=os.path.getsize)
        with open(largest, "rb") as file:
            whole = file.read()
        for content in (whole[: len(whole) // 2], b"not weights at all", b""):
            with open(largest, "wb") as file:
                file.write(content)
            refused(name, empty, path, "not weights|not a file of weights")


def test_weights_of_another_network_are_refused(name, builder, endings, tmp_path):
    others = [network for network in ("lenet5", "mlp") if modules.has(name, network)]
    if not others:
        pytest.skip("no other network")
    other = networks.find(others[0])
    for ending in endings:
        path, weights = str(tmp_path / ("weights" + ending)), drawn(other)
        weight_files.write(other, name, path, builder(other)(weights)[1], weights)
        refused(name, builder(MODEL), path, "not weights of this network|is missing|has shape")


def test_hostile_files_are_refused_and_run_nothing(name, cnn, empty, endings, tmp_path):
    marker = tmp_path / "marker"
    own = beside.load(name, "hostile").ATTACKS if modules.has(name, "hostile") else {}
    attacks = {
        ending: hostile.of_container(saved(name, cnn, tmp_path, ending)) + own.get(ending, ())
        for ending in endings
    }
    if not any(attacks.values()):
        pytest.skip("no attack on its files is known here")
    for ending in endings:
        for attack in attacks[ending]:
            path = saved(name, cnn, tmp_path, ending)
            words = attack(path, str(marker))
            refused(name, empty, path, words)
            assert not marker.exists(), attack.__name__
            os.remove(path)


def test_a_file_that_cannot_be_written_leaves_what_was_there(name, cnn, endings, tmp_path):
    for ending in endings:
        path = saved(name, cnn, tmp_path, ending)
        before = {part: os.path.getsize(part) for part in weight_files.files_of(path)}
        with pytest.raises(Exception):  # noqa: B017  each framework has its own
            weight_files.write(MODEL, name, path, (), cnn[1])
        assert {part: os.path.getsize(part) for part in weight_files.files_of(path)} == before
        assert not [file for file in os.listdir(str(tmp_path)) if file.startswith(".part-")]


def test_a_network_is_written_as_onnx_or_not_at_all(name, threads, builder, cnn, tmp_path):
    if not frameworks.ENVIRONMENTS[name].onnx:
        with pytest.raises(InputError, match="--save-onnx: %s cannot" % name):
            weight_files.check_onnx(name)
        return
    weight_files.check_onnx(name)
    module = modules.load(name)
    settings = module.configure("same", threads, 0)
    x, _ = module.load(*tasks.of(MODEL).observations(2, 0), settings=settings)
    path = tmp_path / "network.onnx"
    weight_files.export(name, str(path), cnn[0], x)
    with open(str(path), "rb") as file:
        written = file.read()
    assert b"Conv" in written and len(written) > sum(w.nbytes for w in cnn[1].values())
    path.unlink()
    with pytest.raises(InputError, match="cannot write this network as ONNX"):
        weight_files.export(name, str(path), (), x)
    assert list(tmp_path.iterdir()) == []
