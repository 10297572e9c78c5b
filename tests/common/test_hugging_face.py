"""Weights in transformers' files: what is written is read again, and what differs is refused."""

import json
import types

import numpy as np
import pytest

import frameworks
from common import networks
from common.run import hugging_face, runner
from common.run.request import Files
from common.system.errors import InputError
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


def test_a_run_may_write_the_folder_again_but_no_file_twice(model, folder, tmp_path):
    def checked(trained, scores):
        paths = Files(trained=str(trained), scores=str(scores))
        asked = {"files": paths, "model": model, "framework": frameworks.REFERENCE}
        runner.check_files(types.SimpleNamespace(**asked))

    checked(folder, tmp_path / "scores.npz")
    same = tmp_path / "one.npz"
    refused(lambda: checked(same, same), "one.npz: two options name this file")
    (tmp_path / "file.hf").write_text("")
    refused(lambda: checked(tmp_path / "file.hf", same), "file.hf")


def test_another_configuration_is_refused(model, folder):
    config = json.loads((folder / "config.json").read_text())
    config["vocab_size"] = 50257
    (folder / "config.json").write_text(json.dumps(config))
    refused(lambda: hugging_face.read(model, str(folder)), "vocab_size is 50257, not 65")


OTHERS = [
    ({"rope_scaling": {"rope_type": "linear", "factor": 4}}, "rope_scaling is"),
    ({"rope_parameters": {"rope_theta": 1e4, "rope_type": "linear"}}, "rope_scaling is"),
    ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True"),
    ({"rms_norm_eps": None}, "rms_norm_eps is 1e-06, not 1e-05"),  # a missing key is the default
]


@pytest.mark.parametrize("change, line", OTHERS)
def test_what_else_changes_the_network_is_refused(tmp_path, change, line):
    """By at least one of the networks: each has keys of its own."""
    found = []
    for model in map(networks.find, MODELS):
        folder = tmp_path / (model.name + ".hf")
        hugging_face.write(model, str(folder), model.initialize(model.shapes, 0))
        config = json.loads((folder / "config.json").read_text())
        config.update(change)
        config = {key: value for key, value in config.items() if change.get(key, 0) is not None}
        (folder / "config.json").write_text(json.dumps(config))
        try:
            hugging_face.read(model, str(folder))
        except InputError as error:
            found.append(str(error))
    assert any(line in error for error in found), found


def test_another_way_to_write_the_same_network_is_read(tmp_path):
    same = {"n_inner": 512, "activation_function": "gelu_pytorch_tanh"}
    same["rope_scaling"] = {"rope_type": "default"}
    for model in map(networks.find, MODELS):
        folder = tmp_path / (model.name + ".hf")
        hugging_face.write(model, str(folder), model.initialize(model.shapes, 0))
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(dict(config, **same)))
        hugging_face.read(model, str(folder))


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
