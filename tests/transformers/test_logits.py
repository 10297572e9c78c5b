"""transformers' own networks, with weights from a folder that was written here, give our scores."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from common.proof import probes, tasks
from common.proof.reference import EXACT, MULTIPLE, ROUNDED, Reference, distance, unit
from common.run import hugging_face


@pytest.fixture
def weights(model):
    """Large weights and biases that are not 0, so that each of them shows."""
    return probes.biased(model, 0)


@pytest.fixture
def loaded(model, weights, tmp_path):
    """The network in transformers."""
    hugging_face.write(model, str(tmp_path / "ours.hf"), weights)
    return AutoModelForCausalLM.from_pretrained(str(tmp_path / "ours.hf")).eval()


def scores(network, tokens):
    """Scores (n, T, words)."""
    with torch.inference_mode():
        return network(torch.from_numpy(tokens)).logits.numpy()


def test_its_scores_are_those_of_the_reference(model, weights, loaded):
    tokens, _ = tasks.of(model).observations(8, 1)
    exact, rounded = (
        Reference(model, precision, 1).scores(model.hp, weights, tokens)
        for precision in (EXACT, ROUNDED)
    )
    assert distance(exact, scores(loaded, tokens)) <= MULTIPLE * unit(exact, rounded)


def test_what_it_saves_is_read_here_bit_for_bit(model, weights, loaded, tmp_path):
    loaded.save_pretrained(str(tmp_path / "theirs.hf"))
    for name, w in hugging_face.read(model, str(tmp_path / "theirs.hf")).items():
        assert np.array_equal(w, weights[name]), name


def test_a_wrong_layout_would_show(model, weights, tmp_path):
    """The comparison can fail: two square matrices are exchanged."""
    first, second = (
        n for n in weights if n.endswith(("0.attention.out.weight", "1.attention.out.weight"))
    )
    wrong = dict(weights, **{first: weights[second], second: weights[first]})
    hugging_face.write(model, str(tmp_path / "wrong.hf"), wrong)
    loaded = AutoModelForCausalLM.from_pretrained(str(tmp_path / "wrong.hf")).eval()
    tokens, _ = tasks.of(model).observations(8, 1)
    exact = Reference(model, EXACT, 1).scores(model.hp, weights, tokens)
    assert distance(exact, scores(loaded, tokens)) > 1e-3
