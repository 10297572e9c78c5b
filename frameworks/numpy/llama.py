"""The Llama in NumPy, forward and backward from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``transformer.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: tokens (N, T), activations (N, T, D), queries (N, 4, T, D / 4), keys (N, 2, T, D / 4).
Rotary positions: feature i is rotated with feature i + d / 2, by ``place * 10000 ** (-2 i / d)``.
AdamW: clip; ``m``, ``v`` as Adam; ``w = w - lr * decay * w - lr * m / (sqrt(v) + epsilon)``.
Surprise: the loss is the mean over all targets that count in the batch, so a long speech weighs
    more than a short one. Padding needs no mask in attention: it comes after all that counts.
"""

from frameworks.numpy.cnn import train, wait, weights
from frameworks.numpy.gpt import configure, evaluate, load, loss, predict, score
from frameworks.numpy.layers import Dense, Residual
from frameworks.numpy.transformer import Embedding, GroupedAttention, Past, RMSNorm, SwiGLU

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]
__all__ += ["score"]

HEADS, KEY_HEADS, BLOCKS = 4, 2, 4


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    past = Past()
    network = [Embedding(settings, "tokens")]  # (N, T, 128)
    for number in range(BLOCKS):
        block = "blocks.%d." % number
        attention = GroupedAttention(
            settings, block + "attention", HEADS, past, KEY_HEADS, rotary=True
        )
        network += [
            Residual(settings, [RMSNorm(settings, block + "norm1"), attention]),
            Residual(
                settings,
                [RMSNorm(settings, block + "norm2"), SwiGLU(settings, block + "mlp")],
            ),
        ]
    return network + [RMSNorm(settings, "norm"), Dense(settings, "head", bias=False)]  # (N, T, 65)
