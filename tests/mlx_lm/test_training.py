"""mlx-lm's own networks, trained with MLX and generating with mlx-lm's cache, climb all rungs."""

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import gpt2, llama
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model

from common import networks
from common.proof import probes
from common.run import hugging_face
from common.system import modules
from tests.climbing import certifier, climbs_all_rungs

MODELS = {"gpt": gpt2, "llama": llama}


def theirs_of(model):
    """{canonical name: mlx-lm's name}; the layouts are the same, (out, in) for a dense layer."""
    names = networks.part(model.name, "hugging_face").names()
    return {ours: name.replace("transformer.", "model.") for name, (ours, _) in names.items()}


def network_of(model, **changes):
    """mlx-lm's network, from the configuration that we write for transformers."""
    config = dict(networks.part(model.name, "hugging_face").CONFIG, **changes)
    config["n_ctx"] = config.get("n_positions")
    theirs = MODELS[model.name]
    return theirs.Model(theirs.ModelArgs.from_dict(config))


def module_of(model, **changes):
    """mlx-lm's network as a module of the contract. changes: of its configuration."""
    ours, names = modules.load("mlx", model.name), theirs_of(model)

    def loss(network, settings, hp, weights):
        network.load_weights([(names[name], mx.array(w)) for name, w in weights.items()])
        optimizer = ours.optimizer_of(hp)

        def mean_loss(x, y):
            return ours.cross_entropy(network(x), y)

        step = ours.step_of(network, optimizer, mean_loss, hp.clip)
        return ours.compiled(network, optimizer, step, settings)

    def predict(model, x):
        network, half = model[0].eval(), x.shape[1] // 2
        x, cache = mx.array(x), make_prompt_cache(network)
        scores, last = [network(x)], network(x[:, :half], cache)
        for _ in range(half):
            last = network(mx.argmax(last[:, -1:], axis=-1), cache)  # greedy
            scores.append(last)
        return np.array(mx.concatenate(scores, axis=1))

    def weights(model):
        found = dict(tree_flatten(model[0].parameters()))
        return {name: np.array(found[theirs]) for name, theirs in names.items()}

    return modules.replaced(
        ours,
        symbol=lambda settings, hp: network_of(model, **changes),
        loss=loss,
        predict=predict,
        weights=weights,
        wait=weights,
    )


@pytest.fixture(params=MODELS)
def model(request):
    return networks.find(request.param)


def test_it_climbs_all_rungs(model):
    climbs_all_rungs("mlx_lm", model, module_of(model))


def test_neighbouring_pairs_that_are_rotated_fail():
    model = networks.find("llama")
    proof = certifier(model)
    proof.take(module_of(model, rope_traditional=True), "same")
    assert not proof.climb("forward", stop_early=True)["passed"]


def test_it_loads_the_folder_that_we_write(tmp_path):
    model = networks.find("llama")
    weights = probes.biased(model, 0)
    hugging_face.write(model, str(tmp_path / "ours.hf"), weights)
    network, _ = load_model(tmp_path / "ours.hf")
    found = dict(tree_flatten(network.parameters()))
    assert all(
        np.array_equal(np.array(found[theirs]), weights[name])
        for name, theirs in theirs_of(model).items()
    )
