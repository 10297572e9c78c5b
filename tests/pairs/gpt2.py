"""GPT-2: transformers' classes for PyTorch (A) and for Flax (B)."""

import functools

import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from flax.linen import normalization
from flax.linen.module import wrap_method_once
from transformers import FlaxGPT2LMHeadModel, GPT2Config, GPT2LMHeadModel
from transformers.models.gpt2 import modeling_flax_gpt2 as flax_gpt2

from frameworks.jax import record as of_jax
from frameworks.pytorch import record as of_torch
from tests.pairs import drawn

CONFIG = dict(vocab_size=120, n_positions=32, n_embd=64, n_layer=3, n_head=4)
STEPS, WINDOW = 3, 8


def original(seed, **config):
    network = GPT2LMHeadModel(GPT2Config(**CONFIG, **config))
    drawn.redraw(network, seed)
    return network


def inputs(seed):
    ids = np.random.RandomState(seed + 100).randint(0, 120, (4, 16))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


def change(mistakes):
    def changed(tensors):
        if "projection transposed" in mistakes:
            name = "transformer.h.1.attn.c_proj.weight"
            tensors[name] = tensors[name].T.contiguous()
        if "queries, keys and values per head" in mistakes:
            for kind in ("weight", "bias"):
                name = "transformer.h.1.attn.c_attn." + kind
                parts = tensors[name].unflatten(-1, (3, 4, 16)).transpose(-3, -2)
                tensors[name] = parts.flatten(-3).contiguous()
        if "query and key swapped" in mistakes:
            for kind in ("weight", "bias"):
                name = "transformer.h.0.attn.c_attn." + kind
                q, k, v = tensors[name].split(64, dim=-1)
                tensors[name] = torch.cat([k, q, v], dim=-1)
        if "blocks exchanged" in mistakes:
            drawn.exchange(tensors, "transformer.h.1.", "transformer.h.2.")
        if "norms exchanged" in mistakes:
            drawn.exchange(tensors, "transformer.h.0.ln_1.", "transformer.h.0.ln_2.")
        if "bias of the first dense layer dropped" in mistakes:
            tensors["transformer.h.1.mlp.c_fc.bias"] *= 0
        if "vocabulary moved by one" in mistakes:
            name = "transformer.wte.weight"
            tensors[name] = tensors["lm_head.weight"] = tensors[name].roll(1, 0)

    return changed


def everything(ids, dtype):
    """A causal mask that hides nothing."""
    return jnp.ones((1, 1) + ids.shape[-1:] * 2, dtype)


def after_the_norm():
    """A block whose attention is added to what it was given, not to the block's own input."""

    @wrap_method_once
    def __call__(self, hidden, attention_mask=None, *given, deterministic=True, **named):
        hidden = self.ln_1(hidden)
        seen = dict(attention_mask=attention_mask, deterministic=deterministic)
        hidden = hidden + self.attn(hidden, **seen)[0]
        return (hidden + self.mlp(self.ln_2(hidden), deterministic=deterministic),)

    return __call__


def windowed(attention):
    """Block 1 sees the last 8 tokens alone, as every other block of some later networks."""
    weights_of = flax_gpt2.dot_product_attention_weights

    def near(query, *given, bias=None, **named):
        near = jnp.triu(jnp.ones(bias.shape[-2:], bool), 1 - WINDOW)
        return weights_of(query, *given, bias=jnp.where(near, bias, -1e9), **named)

    def __call__(self, *given, **named):
        with drawn.stack() as stack:
            if self.scope.path[-2:] == ("1", "attn"):
                drawn.patched(stack, flax_gpt2, "dot_product_attention_weights", near)
            return attention(self, *given, **named)

    return __call__


def unbiased(normalize):
    def normalized(norm, x, mean, var, *given, **named):
        if norm.scope.path[-2:] == ("2", "ln_2"):
            var = var * 64 / 63
        return normalize(norm, x, mean, var, *given, **named)

    return normalized


def over_queries(query, key, bias, **named):
    """A softmax over the wrong axis."""
    scores = jnp.einsum("...qhd,...khd->...hqk", query / query.shape[-1] ** 0.5, key) + bias
    return jax.nn.softmax(scores, axis=-2)


def rounded_product(product):
    def rounded(a, b, *given, **named):
        a, b = (x.astype(jnp.bfloat16).astype(x.dtype) for x in (a, b))
        return product(a, b, *given, **named)

    return rounded


def port(network, mistakes, stack):
    """(a function of weights and inputs, the weights)"""
    config = {}
    if "gelu" in mistakes:
        config["activation_function"] = "gelu"
    if "epsilon" in mistakes:
        config["layer_norm_epsilon"] = 1e-6
    if "not tied" in mistakes:
        config["tie_word_embeddings"] = False
    if "8 heads" in mistakes:
        config["n_head"] = 8
    if "softmax over queries" in mistakes:
        drawn.patched(stack, flax_gpt2, "dot_product_attention_weights", over_queries)
    if "norms over tokens" in mistakes:
        over_both = functools.partial(flax.linen.LayerNorm, reduction_axes=(-2, -1))
        drawn.patched(stack, flax.linen, "LayerNorm", over_both)
    if "mask one further" in mistakes:
        further = lambda ids, dtype: jnp.tril(jnp.ones((1, 1) + ids.shape[-1:] * 2, dtype), 1)  # noqa: E731
        drawn.patched(stack, flax_gpt2, "make_causal_mask", further)
    if "causal mask ignored" in mistakes:
        drawn.patched(stack, flax_gpt2, "make_causal_mask", everything)
    if "last norm missing" in mistakes:
        norm = flax.linen.LayerNorm.__call__
        left = lambda self, x: x if self.name == "ln_f" else norm(self, x)  # noqa: E731
        drawn.patched(stack, flax.linen.LayerNorm, "__call__", left)
    if "residual after the norm" in mistakes:
        drawn.patched(stack, flax_gpt2.FlaxGPT2Block, "__call__", after_the_norm())
    if "window in one block" in mistakes:
        whole = flax_gpt2.FlaxGPT2Attention.__call__
        drawn.patched(stack, flax_gpt2.FlaxGPT2Attention, "__call__", windowed(whole))
    if "variance unbiased" in mistakes:
        drawn.patched(stack, normalization, "_normalize", unbiased(normalization._normalize))
    if "products in bfloat16" in mistakes:
        drawn.patched(stack, jax.lax, "dot_general", rounded_product(jax.lax.dot_general))
    made = drawn.carried(FlaxGPT2LMHeadModel, network, change(mistakes), **config)
    weights = made.params
    if "not tied" in mistakes:
        weights["lm_head"] = {"kernel": weights["transformer"]["wte"]["embedding"].T}
    if "shared matrix scaled" in mistakes:
        weights["transformer"]["wte"]["embedding"] = weights["transformer"]["wte"]["embedding"] * 8
    if "one plus the weight" in mistakes:
        norm_of = weights["transformer"]["h"]["1"]["ln_2"]
        norm_of["scale"] = norm_of["scale"] + 1
    options = {}
    if "positions from 1" in mistakes:
        options = dict(position_ids=np.tile(np.arange(1, 17), (4, 1)))
    if "dropout on" in mistakes:
        options = dict(train=True, dropout_rng=jax.random.PRNGKey(0))

    def called(weights, input_ids, attention_mask):
        return made(input_ids, attention_mask, params=weights, **options)

    return called, weights


def forward(seed, mistakes=(), exact=False, **config):
    network, x = original(seed, **config), inputs(seed)
    with drawn.stack() as stack:
        b = of_jax.record_function(*port(network, mistakes, stack), x)
    return of_torch.record(network, x), b, of_torch.exact(network, x) if exact else None


def steps(seed, mistakes=()):
    network, x = original(seed), inputs(seed)
    labels = torch.from_numpy(x["input_ids"][:, 1:].reshape(-1))
    entropy = torch.nn.functional.cross_entropy
    optimizer = drawn.decayed(network)
    if "warm-up one step late" in mistakes:
        optimizer = drawn.WarmedUp(optimizer, STEPS)
    if "schedule stepped twice" in mistakes:
        optimizer = drawn.Falling(optimizer, 2 * STEPS)
    with drawn.stack() as stack:
        called, weights = port(network, mistakes, stack)
        a = of_torch.record_step(
            network,
            x,
            lambda out: entropy(out.logits[:, :-1].reshape(-1, 120), labels),
            optimizer,
            steps=STEPS,
        )
        b = of_jax.record_step(
            called,
            weights,
            x,
            lambda out: optax.softmax_cross_entropy_with_integer_labels(
                out.logits[:, :-1].reshape(-1, 120), labels.numpy()
            ).mean(),
            adamw(mistakes),
            steps=STEPS,
        )
    return a, b, None


def matrices(weights):
    return jax.tree.map(lambda w: w.ndim > 1, weights)


def adamw(mistakes):
    if "decay not times the rate" in mistakes:
        adam = optax.scale_by_adam(*drawn.BETAS, eps=drawn.EPSILON)
        apart = optax.add_decayed_weights(-drawn.DECAY, matrices)
        return optax.chain(adam, optax.scale(-drawn.RATE), apart)
    rate = drawn.RATE
    if "decay in the gradient" in mistakes:
        adam = optax.scale_by_adam(*drawn.BETAS, eps=drawn.EPSILON)
        return optax.chain(
            optax.add_decayed_weights(drawn.DECAY, matrices), adam, optax.scale(-rate)
        )
    if "warm-up one step late" in mistakes:
        rate = lambda step: drawn.RATE * step / STEPS  # noqa: E731
    if "schedule stepped twice" in mistakes:
        rate = lambda step: drawn.RATE * (1 - step / STEPS)  # noqa: E731
    betas = (0.9, 0.95) if "second beta" in mistakes else drawn.BETAS
    return optax.adamw(rate, *betas, eps=drawn.EPSILON, weight_decay=drawn.DECAY, mask=matrices)
