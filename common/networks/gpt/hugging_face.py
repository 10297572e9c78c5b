"""The GPT as transformers' ``GPT2LMHeadModel`` saves it."""

from common.networks import gpt

# {the end of a tensor's name in transformers: its canonical end}. "Conv1D" there is a dense layer
# with a weight (in, out).
LAYERS = {
    "ln_1": "norm1",
    "attn.c_attn": "attention.qkv",
    "attn.c_proj": "attention.out",
    "ln_2": "norm2",
    "mlp.c_fc": "mlp.up",
    "mlp.c_proj": "mlp.down",
}
CONFIG = {
    "architectures": ["GPT2LMHeadModel"],
    "model_type": "gpt2",
    "vocab_size": gpt.SHAPES["tokens.weight"][0],
    "n_positions": gpt.CONTEXT,
    "n_embd": gpt.WIDTH,
    "n_layer": gpt.BLOCKS,
    "n_head": gpt.HEADS,
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "tie_word_embeddings": True,
    "attn_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "resid_pdrop": 0.0,
    "bos_token_id": None,
    "eos_token_id": None,
}
DEFAULTS = {
    "layer_norm_epsilon": 1e-5,
    "activation_function": "gelu_new",
    "n_inner": None,  # four times the width
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
}
ALIKE = {  # other values that compute the same
    "activation_function": ("gelu_pytorch_tanh",),
    "n_inner": (4 * CONFIG["n_embd"],),
}


def names():
    """{transformers' name: (canonical name, whether it is transposed)}, in order."""
    tensors = {
        "transformer.wte.weight": ("tokens.weight", False),
        "transformer.wpe.weight": ("positions.weight", False),
    }
    for number in range(gpt.BLOCKS):
        for theirs, ours in LAYERS.items():
            for kind in ("weight", "bias"):
                name = "blocks.%d.%s.%s" % (number, ours, kind)
                transposed = len(gpt.SHAPES[name]) == 2
                tensors["transformer.h.%d.%s.%s" % (number, theirs, kind)] = (name, transposed)
    for kind in ("weight", "bias"):
        tensors["transformer.ln_f." + kind] = ("norm." + kind, False)
    return tensors
