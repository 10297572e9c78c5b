"""Stable Diffusion 3.5's transformer: diffusers for PyTorch (A) and KerasHub (B)."""

from unittest import mock

import keras
import numpy as np
from diffusers import SD3Transformer2DModel
from keras_hub.src.models.stable_diffusion_3 import mmdit

from frameworks.keras import record as of_keras
from frameworks.pytorch import record as of_torch
from tests.pairs import drawn

HEADS, EACH, BLOCKS, PATCH, SIDE, CHANNELS, TOKENS, TEXT, POOLED = 4, 16, 2, 2, 16, 4, 10, 48, 40
WIDTH, PLACES = HEADS * EACH, 12


def original(seed):
    network = SD3Transformer2DModel(
        sample_size=SIDE,
        patch_size=PATCH,
        in_channels=CHANNELS,
        out_channels=CHANNELS,
        num_layers=BLOCKS,
        attention_head_dim=EACH,
        num_attention_heads=HEADS,
        joint_attention_dim=TEXT,
        caption_projection_dim=WIDTH,
        pooled_projection_dim=POOLED,
        pos_embed_max_size=PLACES,
        dual_attention_layers=(0,),
        qk_norm="rms_norm",
    )
    drawn.redraw(network, seed)
    return network


def inputs(seed):
    """Images with channels last, the text's vectors, their sum and the time steps."""
    random = np.random.RandomState(seed + 100)
    return (
        random.standard_normal((4, SIDE, SIDE, CHANNELS)).astype("f"),
        random.standard_normal((4, TOKENS, TEXT)).astype("f"),
        random.standard_normal((4, POOLED)).astype("f"),
        np.array([3, 999, 500, 17], "f"),
    )


def dense(tensors, *names):
    """[kernel, bias] of layers side by side."""
    kernels = [tensors[name + ".weight"].numpy().T for name in names]
    return [
        np.concatenate(kernels, -1),
        np.concatenate([tensors[name + ".bias"].numpy() for name in names]),
    ]


def parts(weights, order):
    """[kernel, bias] whose outputs' parts are in another order."""
    return [
        np.concatenate([np.split(weight, len(order), -1)[n] for n in order], -1)
        for weight in weights
    ]


def port(network, mistakes):
    made = mmdit.MMDiT(
        PATCH,
        WIDTH,
        BLOCKS,
        HEADS,
        PLACES,
        latent_shape=(SIDE, SIDE, CHANNELS),
        context_shape=(TOKENS, TEXT),
        pooled_projection_shape=(POOLED,),
        qk_norm="rms_norm",
        dual_attention_indices=(0,),
    )
    tensors = network.state_dict()
    kernel = tensors["pos_embed.proj.weight"].numpy().transpose(2, 3, 1, 0)
    made.patch_embedding.set_weights([kernel, tensors["pos_embed.proj.bias"].numpy()])
    made.position_embedding.set_weights([tensors["pos_embed.pos_embed"].numpy()[0]])
    made.context_embedding.set_weights(dense(tensors, "context_embedder"))
    for layer, name in (
        (made.timestep_embedding, "timestep"),
        (made.vector_embedding, "text"),
    ):
        start = "time_text_embed.%s_embedder.linear_" % name
        layer.set_weights(dense(tensors, start + "1") + dense(tensors, start + "2"))
    # Of two parts, diffusers' first one is the scale.
    turned = (0, 1) if "scale and shift exchanged" in mistakes else (1, 0)
    last = dense(tensors, "norm_out.linear")
    made.output_ada_layer_norm.dense.set_weights(parts(last, turned))
    made.output_dense.set_weights(dense(tensors, "proj_out"))
    for n, block in enumerate(made.joint_blocks):
        start = "transformer_blocks.%d." % n
        fill(block.x_block, tensors, start, "", "to_%s", "norm_%s", "to_out.0")
        names = "add_%s_proj", "norm_added_%s", "to_add_out"
        fill(block.context_block, tensors, start, "_context", *names)
        if n == BLOCKS - 1:
            modulation = block.context_block.ada_layer_norm.dense
            modulation.set_weights(parts(modulation.get_weights(), turned))
    if "gates exchanged" in mistakes:
        modulation = made.joint_blocks[0].context_block.ada_layer_norm.dense
        modulation.set_weights(parts(modulation.get_weights(), (0, 1, 5, 3, 4, 2)))
    if "queries and keys exchanged" in mistakes:
        qkv = made.joint_blocks[1].x_block.attention_qkv
        qkv.set_weights(parts(qkv.get_weights(), (1, 0, 2)))
    if "positions from the corner" in mistakes:
        table = made.position_embedding.get_weights()[0].reshape(PLACES, PLACES, WIDTH)
        at = (PLACES - SIDE // PATCH) // 2
        moved = np.roll(table, (at, at), (0, 1)).reshape(-1, WIDTH)
        made.position_embedding.set_weights([moved])
    for block in made.joint_blocks:
        if "scaled by the whole width" in mistakes:
            block._inverse_sqrt_key_dim = WIDTH**-0.5
        if "epsilon" in mistakes:
            block.x_block.norm2.epsilon = 1e-3
        if "gelu" in mistakes:
            block.x_block.mlp.dense1.activation = keras.activations.gelu
        if "queries not normed" in mistakes:
            block.x_block.q_norm.call = lambda queries: queries
    return made


def fill(block, tensors, start, kind, attended, normed, out):
    """Give a block of one stream its weights. kind: the ending of names of the text's stream."""
    block.ada_layer_norm.dense.set_weights(dense(tensors, start + "norm1%s.linear" % kind))
    again = (("attn2.", "2"),) if block.use_dual_attention else ()
    for attention, two in (("attn.", ""), *again):
        at = start + attention
        names = [at + attended % part for part in "qkv"]
        getattr(block, "attention_qkv" + two).set_weights(dense(tensors, *names))
        for part in "qk":
            gains = tensors[at + normed % part + ".weight"].numpy()
            getattr(block, part + "_norm" + two).set_weights([gains])
        if block.use_projection:
            getattr(block, "attention_proj" + two).set_weights(dense(tensors, at + out))
    if block.use_projection:
        names = [start + "ff%s.net.%s" % (kind, part) for part in ("0.proj", "2")]
        block.mlp.dense1.set_weights(dense(tensors, names[0]))
        block.mlp.dense2.set_weights(dense(tensors, names[1]))


def without_gates(self, inputs, intermediates, training=None):
    """A block's second half that adds its branches as they are."""
    x, _, shift, scale, _ = intermediates
    x = x + self.attention_proj(inputs)
    return x + self.mlp(self._modulate(self.norm2(x), shift[:, None], scale[:, None]))


def without_one(self, inputs, shift, scale):
    """A scale that is not 1 more."""
    return inputs * scale + shift


def sines_first(self, times):
    """Sines, then cosines."""
    angles = times * self.freq
    return keras.ops.concatenate([keras.ops.sin(angles), keras.ops.cos(angles)], -1)


def forward(seed, mistakes=(), exact=False):
    network, (images, text, pooled, times) = original(seed), inputs(seed)
    a = dict(
        hidden_states=images.transpose(0, 3, 1, 2).copy(),
        encoder_hidden_states=text,
        pooled_projections=pooled,
        timestep=times,
    )
    if "time from 0 to 1" in mistakes:
        times = times / 1000
    b = dict(latent=images, context=text, pooled_projection=pooled, timestep=times[:, None])
    half = mmdit.DismantledBlock
    changes = {
        "gates missing": (half, "_compute_post_attention", without_gates),
        "scale without 1": (half, "_modulate", without_one),
        "sines first": (mmdit.TimestepEmbedding, "_create_timestep_embedding", sines_first),
    }
    with drawn.stack() as stack:
        for name in mistakes:
            if name in changes:
                stack.enter_context(mock.patch.object(*changes[name]))
        ours = of_keras.record(port(network, mistakes), b)
    return of_torch.record(network, a), ours, of_torch.exact(network, a) if exact else None
