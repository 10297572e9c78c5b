"""KerasHub's own networks, trained as its users train them, climb all rungs."""

import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from common import networks
from common.system import modules
from tests.climbing import certifier, climbs_all_rungs

SIZES = dict(vocabulary_size=65, num_layers=4, hidden_dim=128, dropout=0.0)


def gpt():
    """A causal language model of the GPT's size."""
    backbone = keras_hub.models.GPT2Backbone(
        num_heads=4, intermediate_dim=512, max_sequence_length=64, **SIZES
    )
    return keras_hub.models.GPT2CausalLM(backbone)


def llama(epsilon=1e-5):
    """A causal language model of the Llama's size. epsilon: of RMSNorm."""
    backbone = keras_hub.models.LlamaBackbone(
        num_query_heads=4,
        num_key_value_heads=2,
        intermediate_dim=344,
        layer_norm_epsilon=epsilon,
        **SIZES,
    )
    return keras_hub.models.LlamaCausalLM(backbone)


def gpt_variables(backbone):
    """{canonical name: variables}; queries, keys and values are one matrix there, three here."""
    found = {"tokens.weight": [backbone.token_embedding.embeddings]}
    found["positions.weight"] = [backbone.position_embedding.position_embeddings]
    for number, block in enumerate(backbone.transformer_layers):
        attention = block._self_attention_layer
        parts = {
            "norm1": [block._self_attention_layer_norm],
            "attention.qkv": [
                attention._query_dense,
                attention._key_dense,
                attention._value_dense,
            ],
            "attention.out": [attention._output_dense],
            "norm2": [block._feedforward_layer_norm],
            "mlp.up": [block._feedforward_intermediate_dense],
            "mlp.down": [block._feedforward_output_dense],
        }
        for part, layers in parts.items():
            for kind, variables in zip(("weight", "bias"), zip(*(x.weights for x in layers))):
                found["blocks.%d.%s.%s" % (number, part, kind)] = list(variables)
    found["norm.weight"], found["norm.bias"] = ([w] for w in backbone.layer_norm.weights)
    return found


def llama_variables(backbone):
    """{canonical name: variables}."""
    embedding = backbone.token_embedding
    found = {"tokens.weight": embedding.embeddings}
    for number, block in enumerate(backbone.transformer_layers):
        attention = block._self_attention_layer
        parts = {
            "norm1": block._self_attention_layernorm,
            "attention.q": attention._query_dense,
            "attention.k": attention._key_dense,
            "attention.v": attention._value_dense,
            "attention.out": attention._output_dense,
            "norm2": block._feedforward_layernorm,
            "mlp.gate": block._feedforward_gate_dense,
            "mlp.up": block._feedforward_intermediate_dense,
            "mlp.down": block._feedforward_output_dense,
        }
        for part, layer in parts.items():
            found["blocks.%d.%s.weight" % (number, part)] = layer.weights[0]
    found["norm.weight"] = backbone.layer_norm.weights[0]
    found["head.weight"] = embedding.reverse_embeddings
    return {name: [variable] for name, variable in found.items()}


VARIABLES = {"gpt": gpt_variables, "llama": llama_variables}


def kept(name):
    """Whether a matrix has the same layout there; all others are transposed."""
    return name in ("tokens.weight", "positions.weight")


def module_of(model, network, by_axes=False):
    """KerasHub's network as a module of the contract. network: a function that makes it.

    by_axes: all weights of two axes and more decay. In attention, biases have two.
    """
    ours = modules.load("keras", model.name)

    def variables(lm):
        return VARIABLES[model.name](lm.backbone)

    def loss(lm, settings, hp, weights):
        for name, parts in variables(lm).items():
            for variable, w in zip(parts, np.split(weights[name], len(parts))):
                variable.assign((w if kept(name) else w.T).reshape(variable.shape))
        if model.name == "gpt":
            optimizer = ours.optimizer_of(lm, hp)
            criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        else:
            optimizer, criterion = ours.optimizer_of(lm, hp, ours.AdamW), ours.criterion()
        if not by_axes:
            vectors = [name for name, shape in model.shapes.items() if len(shape) == 1]
            exempt = [variable for name in vectors for variable in variables(lm)[name]]
            optimizer.exclude_from_weight_decay(var_list=exempt)
        lm.compile(optimizer=optimizer, loss=criterion, jit_compile=settings["jit"])
        return lm

    def inputs(x):
        return {"token_ids": x, "padding_mask": np.ones_like(x, bool)}

    def train(lm, batches):
        for x, y in batches:
            yield lm.train_on_batch(inputs(x), y)[0]  # an accuracy follows

    def predict(lm, x):
        half = x.shape[1] // 2
        scores = [lm.predict_on_batch(inputs(x))]
        prompt = x.copy()
        prompt[:, half:] = 0
        last = scores[0][:, half - 1]
        _, cache = lm._build_cache(ops.convert_to_tensor(prompt))
        for place in range(half, 2 * half):
            token = last.argmax(-1)[:, None]
            last, _, cache = lm.call_with_cache(ops.convert_to_tensor(token), cache, place)
            last = ops.convert_to_numpy(last)[:, 0]
            scores.append(last[:, None])
        return np.concatenate(scores, 1)

    def canonical(name, parts):
        shape = model.shapes[name]
        rows = shape[0] // len(parts)
        arrays = [ops.convert_to_numpy(part) for part in parts]
        if len(shape) == 1 or kept(name):
            return np.concatenate([w.reshape(rows, *shape[1:]) for w in arrays])
        return np.concatenate([w.reshape(shape[1], rows).T for w in arrays])

    def weights(lm):
        return {name: canonical(name, parts) for name, parts in variables(lm).items()}

    return modules.replaced(
        ours,
        symbol=lambda settings, hp: network(),
        loss=loss,
        train=train,
        predict=predict,
        weights=weights,
        wait=weights,
    )


@pytest.mark.parametrize("network", [gpt, llama])
def test_it_climbs_all_rungs(network):
    model = networks.find(network.__name__)
    climbs_all_rungs("keras_hub", model, module_of(model, network))


def test_the_default_epsilon_fails():
    proof = certifier(networks.find("llama"))
    proof.take(module_of(proof.model, lambda: llama(epsilon=1e-6)), "same")
    assert not proof.climb("forward", stop_early=True)["passed"]


def test_decay_by_the_number_of_axes_fails():
    proof = certifier(networks.find("gpt"))
    proof.take(module_of(proof.model, gpt, by_axes=True), "same")
    assert proof.climb("gradient", stop_early=True)["passed"]
    rung = proof.climb("momentum", stop_early=True)
    assert not rung["passed"] and "attention.qkv.bias" in rung["detail"]
