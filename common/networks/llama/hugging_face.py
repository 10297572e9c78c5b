"""The Llama as transformers' ``LlamaForCausalLM`` saves it."""

from common.networks import llama

LAYERS = {  # {the end of a tensor's name in transformers: its canonical end}
    "input_layernorm": "norm1",
    "self_attn.q_proj": "attention.q",
    "self_attn.k_proj": "attention.k",
    "self_attn.v_proj": "attention.v",
    "self_attn.o_proj": "attention.out",
    "post_attention_layernorm": "norm2",
    "mlp.gate_proj": "mlp.gate",
    "mlp.up_proj": "mlp.up",
    "mlp.down_proj": "mlp.down",
}
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": llama.SHAPES["tokens.weight"][0],
    "hidden_size": llama.WIDTH,
    "intermediate_size": llama.HIDDEN,
    "num_hidden_layers": llama.BLOCKS,
    "num_attention_heads": llama.HEADS,
    "num_key_value_heads": llama.KEY_HEADS,
    "max_position_embeddings": llama.CONTEXT,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
    "bos_token_id": None,
    "eos_token_id": None,
}
DEFAULTS = {"rms_norm_eps": 1e-6, "hidden_act": "silu", "rope_theta": 1e4, "rope_scaling": None}
ALIKE = {}


def names():
    """{transformers' name: (canonical name, whether it is transposed)}, in order."""
    tensors = {"model.embed_tokens.weight": ("tokens.weight", False)}
    for number in range(llama.BLOCKS):
        for theirs, ours in LAYERS.items():
            name = "blocks.%d.%s.weight" % (number, ours)
            tensors["model.layers.%d.%s.weight" % (number, theirs)] = (name, False)
    tensors["model.norm.weight"] = ("norm.weight", False)
    tensors["lm_head.weight"] = ("head.weight", False)
    return tensors
