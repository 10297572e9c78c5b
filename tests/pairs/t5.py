"""T5: transformers' classes for PyTorch (A) and for Flax (B)."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from flax.linen.module import wrap_method_once
from transformers import FlaxT5ForConditionalGeneration, T5Config, T5ForConditionalGeneration
from transformers.models.t5 import modeling_flax_t5 as flax_t5

from frameworks.jax import record as of_jax
from frameworks.pytorch import record as of_torch
from tests.pairs import drawn, gpt2

CONFIG = dict(
    vocab_size=120,
    d_model=64,
    d_kv=16,
    d_ff=96,
    num_layers=3,
    num_heads=4,
    feed_forward_proj="gated-gelu",
    tie_word_embeddings=True,
    decoder_start_token_id=0,
)
NORM = 0.5


class Renamed:
    """NumPy's functions in JAX; ``clip`` with the name of an argument that these classes use."""

    def __getattr__(self, name):
        return getattr(jnp, name)

    def clip(self, x, a_min=None, a_max=None):
        return jnp.clip(x, a_min, a_max)


flax_t5.jnp = Renamed()


def original(seed, **config):
    network = T5ForConditionalGeneration(T5Config(**CONFIG, **config))
    drawn.redraw(network, seed)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name.endswith("Attention.q.weight"):
                weight *= 0.25  # T5 draws them so, and does not scale its scores
    return network


def inputs(seed):
    random = np.random.RandomState(seed + 100)
    ids, given = random.randint(1, 120, (4, 14)), random.randint(1, 120, (4, 10))
    mask = (np.arange(14) < np.array([14, 9, 11, 6])[:, None]).astype(int)
    return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": given}


def change(mistakes):
    def changed(tensors):
        if "wi_0 and wi_1 swapped" in mistakes:
            place = "encoder.block.1.layer.1.DenseReluDense."
            drawn.exchange(tensors, place + "wi_0.", place + "wi_1.")
        if "keys and values exchanged" in mistakes:
            place = "decoder.block.1.layer.1.EncDecAttention."
            drawn.exchange(tensors, place + "k.", place + "v.")
        if "wo in float16" in mistakes:
            name = "decoder.block.2.layer.2.DenseReluDense.wo.weight"
            tensors[name] = tensors[name].half().float()

    return changed


def rounded_norm():
    @wrap_method_once
    def __call__(self, x):
        made = x / jnp.sqrt((x**2).mean(-1, keepdims=True) + self.eps)
        return self.weight * made.astype(jnp.bfloat16).astype(jnp.float32)

    return __call__


def causal_everywhere(bias_of):
    """The mask is part of the bias of the first block, which the others are given."""

    def bias(self, key, query, *given):
        bias = bias_of(self, key, query, *given)
        if self.has_relative_attention_bias and not self.causal:
            bias = jnp.where(jnp.tri(query.shape[1], key.shape[1], dtype=bool), bias, -1e9)
        return bias

    return bias


def port(network, mistakes, stack):
    """(a function of weights and inputs, the weights)"""
    config = {}
    attention = flax_t5.FlaxT5Attention
    if "decoder's buckets of both directions" in mistakes:
        bucket = attention._relative_position_bucket

        def both(*given, **named):
            return bucket(*given, **dict(named, bidirectional=True))

        drawn.patched(stack, attention, "_relative_position_bucket", staticmethod(both))
    if "distances of the other sign" in mistakes:
        bucket_of = attention._relative_position_bucket

        def mirrored(distance, bidirectional=True, **named):
            return bucket_of(-distance if bidirectional else distance, bidirectional, **named)

        drawn.patched(stack, attention, "_relative_position_bucket", staticmethod(mirrored))
    if "norm subtracts the mean" in mistakes:
        norm = flax_t5.FlaxT5LayerNorm.__call__
        centred = lambda self, x: norm(self, x - x.mean(-1, keepdims=True))  # noqa: E731
        drawn.patched(stack, flax_t5.FlaxT5LayerNorm, "__call__", centred)
    if "encoder's last norm missing" in mistakes:
        norm_of = flax_t5.FlaxT5LayerNorm.__call__

        def but_the_last(self, x):
            left = self.scope.path[-2:] == ("encoder", "final_layer_norm")
            return x if left else norm_of(self, x)

        drawn.patched(stack, flax_t5.FlaxT5LayerNorm, "__call__", but_the_last)
    if "norm rounded before its weight" in mistakes:
        drawn.patched(stack, flax_t5.FlaxT5LayerNorm, "__call__", rounded_norm())
    if "causal mask missing" in mistakes or "causal mask ignored" in mistakes:
        drawn.patched(stack, flax_t5, "make_causal_mask", gpt2.everything)
    if "encoder causal" in mistakes:
        bias_of = attention._create_position_bias
        drawn.patched(stack, attention, "_create_position_bias", causal_everywhere(bias_of))
    if "heads not transposed back" in mistakes:
        merged = lambda self, x: x.swapaxes(1, 2).reshape(x.shape[:2] + (-1,))  # noqa: E731
        drawn.patched(stack, attention, "_merge_heads", merged)
    if "gelu" in mistakes:
        config["dense_act_fn"] = "gelu"
    if "ReLU for GELU" in mistakes:
        config["dense_act_fn"] = "relu"
    if "distances up to 20" in mistakes:
        config["relative_attention_max_distance"] = 20
    if "epsilon" in mistakes:
        config["layer_norm_epsilon"] = 1e-5
    if "scaled" in mistakes:
        weights_of = flax_t5.dot_product_attention_weights
        scaled = lambda q, *given, **named: weights_of(q / 4, *given, **named)  # noqa: E731
        drawn.patched(stack, flax_t5, "dot_product_attention_weights", scaled)
    if "bias in the first block alone" in mistakes:
        call = flax_t5.FlaxT5Attention.__call__

        def alone(self, *given, position_bias=None, **named):
            return call(self, *given, position_bias=None, **named)

        drawn.patched(stack, flax_t5.FlaxT5Attention, "__call__", alone)
    if "head not scaled" in mistakes:
        config["tie_word_embeddings"] = False
    made = drawn.carried(FlaxT5ForConditionalGeneration, network, change(mistakes), **config)
    weights = made.params
    if "head not scaled" in mistakes:
        weights["lm_head"] = {"kernel": weights["shared"]["embedding"].T}

    def called(weights, input_ids, attention_mask, decoder_input_ids):
        if "shifted twice" in mistakes:
            start = jnp.zeros_like(decoder_input_ids[:, :1])
            decoder_input_ids = jnp.concatenate([start, decoder_input_ids[:, :-1]], axis=1)
        if "cross-attention's mask ignored" not in mistakes:
            return made(
                input_ids, attention_mask, decoder_input_ids=decoder_input_ids, params=weights
            )
        encoded = made.encode(input_ids, attention_mask, params=weights)
        return made.decode(decoder_input_ids, encoded, params=weights)

    return called, weights


def forward(seed, mistakes=(), exact=False, **config):
    network, x = original(seed, **config), inputs(seed)
    with drawn.stack() as stack:
        b = of_jax.record_function(*port(network, mistakes, stack), x)
    return of_torch.record(network, x), b, of_torch.exact(network, x) if exact else None


class Clipped:
    """An optimiser that clips before it steps."""

    def __init__(self, optimizer, weights):
        self.optimizer, self.weights = optimizer, weights

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        torch.nn.utils.clip_grad_norm_(self.weights, NORM)
        self.optimizer.step()


def steps(seed, mistakes=()):
    network, x = original(seed), inputs(seed)
    labels = np.random.RandomState(seed).randint(0, 120, 40)
    weights_of = None  # of the tokens, in B's loss; "labels padded" alone is a right port
    if {"labels padded", "mean of each sequence", "padding counted"} & set(mistakes):
        lengths = np.array([10, 3, 7, 2])[:, None]
        weights_of = (np.arange(10) < lengths).reshape(-1).astype("f")
        labels[weights_of == 0] = -100  # PyTorch does not count it
    if "mean of each sequence" in mistakes:
        weights_of = weights_of / np.repeat(lengths, 10)
    if "padding counted" in mistakes:
        weights_of = None
    entropy = torch.nn.functional.cross_entropy
    clip = optax.clip_by_global_norm(NORM)
    if "clipped per tensor" in mistakes:
        clip = optax.stateless(
            lambda updates, _: jax.tree.map(
                lambda g: g * jnp.minimum(1, NORM / jnp.linalg.norm(g.reshape(-1))), updates
            )
        )
    with drawn.stack() as stack:
        called, weights = port(network, mistakes, stack)
        a = of_torch.record_step(
            network,
            x,
            lambda out: entropy(out.logits.reshape(-1, 120), torch.from_numpy(labels)),
            Clipped(drawn.decayed(network), list(network.parameters())),
            steps=3,
        )
        b = of_jax.record_step(
            called,
            weights,
            x,
            lambda out: jnp.average(
                optax.softmax_cross_entropy_with_integer_labels(
                    out.logits.reshape(-1, 120), np.maximum(labels, 0)
                ),
                weights=weights_of,
            ),
            optax.chain(clip, gpt2.adamw(mistakes)),
            steps=3,
        )
    return a, b, None
