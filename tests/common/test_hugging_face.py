"""Weights in transformers' files: what is written is read again, and what differs is refused."""

import json

import numpy as np
import pytest

from common import networks
from common.run import hugging_face
from tests.common.test_data import refused

MODELS = [name for name in networks.MODELS if networks.part(name, "hugging_face")]


@pytest.fixture(params=MODELS)
def model(request):
    return networks.find(request.param)


@pytest.fixture
def folder(model, tmp_path):
    """A folder with the network's initial weights."""
    hugging_face.write(model, str(tmp_path / "trained.hf"), model.initialize(model.shapes, 0))
    return tmp_path / "trained.hf"


def test_every_tensor_has_a_name_of_its_own(model):
    names = networks.part(model.name, "hugging_face").names()
    assert sorted(ours for ours, _ in names.values()) == sorted(model.shapes)


def test_weights_come_back_bit_for_bit(model, folder):
    weights = hugging_face.read(model, str(folder))
    for name, w in model.initialize(model.shapes, 0).items():
        assert np.array_equal(weights[name], w)


def test_another_configuration_is_refused(model, folder):
    config = json.loads((folder / "config.json").read_text())
    config["vocab_size"] = 50257
    (folder / "config.json").write_text(json.dumps(config))
    refused(lambda: hugging_face.read(model, str(folder)), "vocab_size is 50257, not 65")


@pytest.mark.parametrize("content, line", [("{", "is not JSON"), ("[]", "not an object")])
def test_a_broken_configuration_is_refused(model, folder, content, line):
    (folder / "config.json").write_text(content)
    refused(lambda: hugging_face.read(model, str(folder)), line)


def test_a_missing_file_is_refused(model, folder):
    (folder / "model.safetensors").unlink()
    refused(lambda: hugging_face.read(model, str(folder)), "No such file")
    (folder / "config.json").unlink()
    refused(lambda: hugging_face.read(model, str(folder)), "config.json: No such file")


def test_a_network_that_transformers_lacks_is_refused():
    line = refused(lambda: hugging_face.known(networks.find("mlp"), "x.hf"))
    assert line == "x.hf: transformers has no mlp; it has " + ", ".join(MODELS)
