"""What ``compare`` says of networks that KerasHub converts from transformers and timm.

    python -m tests.pairs.converted record FOLDER [NAME ...]
    python -m tests.pairs.converted compare FOLDER [--write]

In A is the original with random weights; in B the network into which KerasHub's own converter put
them. ``record`` needs an environment with
    torch==2.13.0 torchvision==0.29.1 transformers==5.24.0 timm==1.0.31
    keras==3.15.1 keras-hub==0.32.0 tensorflow==2.21.0
``compare`` needs NumPy alone; with ``--write`` it writes reports/compare/converted.md.
"""

import itertools
import json
import os
import sys
import tempfile
from collections import OrderedDict, namedtuple

import numpy as np

from common.system import commands
from common.system.errors import InputError
from common.system.files import ROOT
from tests.pairs.__main__ import compare_files

RANDOM = np.random.RandomState(0)
TOKENS, PAD, VOCABULARY = 12, 1, 90
IMAGES = {side: RANDOM.standard_normal((4, 3, side, side)).astype("f") for side in (32, 64)}
TEXT = dict(
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=96,
    vocab_size=VOCABULARY,
    max_position_embeddings=32,
)
GROUPED = dict(TEXT, num_key_value_heads=2, head_dim=16)
VISION = dict(
    hidden_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8
)
TINY = {
    "DistilBert": dict(
        dim=64,
        n_layers=2,
        n_heads=4,
        hidden_dim=96,
        vocab_size=VOCABULARY,
        max_position_embeddings=32,
    ),
    "GPT2": dict(
        n_embd=64, n_layer=2, n_head=4, n_inner=256, vocab_size=VOCABULARY, n_positions=32
    ),
    "Swin": dict(
        embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=4, image_size=32, patch_size=2
    ),
}
ROBERTA = dict(
    TEXT,
    max_position_embeddings=34,
    pad_token_id=PAD,
    type_vocab_size=1,
    layer_norm_eps=1e-5,
)
MIXTURE = dict(GROUPED, num_local_experts=4, num_experts_per_tok=2, sliding_window=16)
GEMMA3 = dict(
    GROUPED,
    sliding_window=6,
    query_pre_attn_scalar=16,
    layer_types=["sliding_attention", "full_attention"],
)

Network = namedtuple("Network", "kind head config backbone task")
Network.__doc__ = """A network of transformers.

kind, head: its configuration is kindConfig, its class kindhead. backbone: KerasHub's class, without
its ending. task: what it reads.
"""
NETWORKS = [
    Network("Bert", "Model", TEXT, "Bert", "segments"),
    Network("Roberta", "ForMaskedLM", ROBERTA, "Roberta", "text"),
    Network("XLMRoberta", "Model", ROBERTA, "XLMRoberta", "text"),
    Network("DistilBert", "ForMaskedLM", TINY["DistilBert"], "DistilBert", "padded"),
    Network("Albert", "ForPreTraining", dict(TEXT, embedding_size=32), "Albert", "segments"),
    Network("GPT2", "Model", TINY["GPT2"], "GPT2", "text"),
    Network("Llama", "ForCausalLM", GROUPED, "Llama3", "text"),
    Network("Mistral", "ForCausalLM", dict(GROUPED, sliding_window=6), "Mistral", "text"),
    Network("Mixtral", "ForCausalLM", MIXTURE, "Mixtral", "text"),
    Network("Qwen2", "ForCausalLM", dict(TEXT, num_key_value_heads=2), "Qwen", "text"),
    Network("Qwen3", "ForCausalLM", GROUPED, "Qwen3", "text"),
    Network("Gemma", "ForCausalLM", GROUPED, "Gemma", "text"),
    Network("Gemma3Text", "ForCausalLM", GEMMA3, "Gemma3", "text"),
    Network(
        "SmolLM3",
        "ForCausalLM",
        dict(TEXT, num_key_value_heads=2, pad_token_id=0),
        "SmolLM3",
        "text",
    ),
    Network("ViT", "ForImageClassification", dict(VISION, intermediate_size=96), "ViT", "images"),
    Network("DeiT", "ForImageClassification", dict(VISION, intermediate_size=96), "DeiT", "images"),
    Network("Dinov2", "Model", dict(VISION, mlp_ratio=2), "DINOV2", "images"),
    Network("Swin", "Model", TINY["Swin"], "SwinTransformer", "images"),
]
# Of timm: {architecture: KerasHub's class, without its ending}.
CONVOLUTIONAL = OrderedDict(
    resnet18="ResNet",
    resnet50="ResNet",
    resnetv2_50="ResNet",
    densenet121="DenseNet",
    vgg11="VGG",
    efficientnet_b0="EfficientNet",
    efficientnet_lite0="EfficientNet",
    mobilenetv3_small_050="MobileNet",
    mobilenetv3_small_100="MobileNet",
    hgnetv2_b0="HGNetV2",
    cspresnet50="CSPNet",
    cspdarknet53="CSPNet",
)
NAMES = [network.kind for network in NETWORKS] + list(CONVOLUTIONAL)
HEAD = """# Networks that KerasHub converts

`compare` on networks of transformers and timm with random weights (A), and on those into which
KerasHub's converter put the same weights (B), by [tests/pairs](../../tests/pairs/converted.py).
KerasHub 0.32.0, transformers 5.24.0, timm 1.0.31.

| network | arrays that agree | first difference | what `compare` says |
|---|---:|---|---|
"""


def inputs(task):
    """What the original reads, by name, and what KerasHub's network reads."""
    if task == "images":
        return dict(pixel_values=IMAGES[32]), IMAGES[32].transpose(0, 2, 3, 1).copy()
    ids = np.random.RandomState(1).randint(3, VOCABULARY, (4, TOKENS))
    lengths = np.array([12, 9, 12, 7] if task != "text" else [TOKENS] * 4)
    mask = (np.arange(TOKENS) < lengths[:, None]).astype(int)
    ids = np.where(mask, ids, PAD)
    ours = dict(input_ids=ids, attention_mask=mask)
    theirs = dict(token_ids=ids, padding_mask=mask)
    if task == "segments":
        ours["token_type_ids"] = theirs["segment_ids"] = np.zeros_like(ids)
    return ours, theirs


def of_transformers(network, folder):
    """(the original, what it reads, what KerasHub's reads); its files are in the folder."""
    import transformers

    from tests.pairs import drawn

    config = getattr(transformers, network.kind + "Config")(**network.config)
    kind = getattr(transformers, network.kind.replace("Text", "") + network.head)
    made = kind(config).eval()
    drawn.redraw(made, 0)
    made.save_pretrained(folder)
    return (made, *inputs(network.task))


def of_timm(architecture, folder):
    """The same for a network of timm."""
    import timm
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    made = timm.create_model(architecture).eval()
    for name, buffer in made.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_(0, 0.1)
        if name.endswith("running_var"):
            buffer.uniform_(1, 1.3)
    tensors = {name: tensor.contiguous() for name, tensor in made.state_dict().items()}
    save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    config = dict(
        architecture=architecture,
        num_features=made.num_features,
        pretrained_cfg={"tag": made.pretrained_cfg.get("tag")},
    )
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    return made, IMAGES[64], IMAGES[64].transpose(0, 2, 3, 1).copy()


def record(folder, names):
    """Write the recordings of both networks for each name."""
    import keras_hub

    from frameworks.keras import record as of_keras
    from frameworks.pytorch import record as of_torch

    os.makedirs(folder, exist_ok=True)
    known = {network.kind: network for network in NETWORKS}
    for name in names:
        with tempfile.TemporaryDirectory() as files:
            if name in known:
                original, ours, theirs = of_transformers(known[name], files)
                backbone = known[name].backbone
            else:
                original, ours, theirs = of_timm(name, files)
                backbone = CONVOLUTIONAL[name]
            kind = getattr(keras_hub.models, backbone + "Backbone")
            recorded = (
                of_torch.record(original, ours),
                of_keras.record(kind.from_preset(files), theirs),
            )
        for side, arrays in zip("AB", recorded):
            np.savez(os.path.join(folder, "%s-%s.npz" % (name, side)), **arrays)
        print(name, *map(len, recorded), flush=True)


def compare(folder):
    """Yield a row of the table for each pair of recordings; InputError if one is missing."""
    for name, side in itertools.product(NAMES, "AB"):
        path = os.path.join(folder, "%s-%s.npz" % (name, side))
        if not os.path.exists(path):
            raise InputError("there is no %s: record %s first" % (path, name))
    for name in NAMES:
        verdict, _ = compare_files(os.path.join(folder, name + "-"))
        agree = sum(row["state"] == "agree" for row in verdict["rows"])
        first = verdict["first_difference"]
        cells = ["–", "–"]
        if first is not None:
            cells = ["`%s`" % first["a"], first["computes"] or first["relation"]]
        yield "| %s | %d | %s | %s |" % (name, agree, *cells)


def main(arguments):
    """Record or compare."""
    write = "--write" in arguments
    what, folder, *names = [x for x in arguments if x != "--write"]
    if what == "record":
        record(folder, names or NAMES)
        return 0
    rows = []
    for row in compare(folder):
        print(row, flush=True)
        rows.append(row + "\n")
    if write:
        with open(os.path.join(ROOT, "reports", "compare", "converted.md"), "w") as file:
            file.write(HEAD + "".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(main, sys.argv[1:]))
