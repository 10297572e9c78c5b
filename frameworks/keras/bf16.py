"""Mixed precision in Keras 3: products of bfloat16, weights and updates of float32.

Idiom: a dtype policy, set before the layers are made. Each keeps its weights in float32 and casts
    them and its input for its computation.
Surprise: all layers then compute in bfloat16. Dropout needs a policy of its own: on TensorFlow its
    random numbers are multiples of 1/128 in bfloat16, and a rate of 0.15 becomes 0.156. The scores
    need one, too, if ``predict`` is to give float32; losses cast them themselves.
    On JAX, XLA drops a cast to bfloat16 and back unless a flag forbids it.
"""

import os

import keras
from keras import layers

from frameworks.keras.backends import OLDER_CONVOLUTIONS

CASTS = "--xla_allow_excess_precision=false"


def functions(module):
    """The functions of a network's ``module`` that differ in this lane: {name: function}."""

    def configure(lane, threads, seed):
        """As in lane best; layers compute in bfloat16."""
        if keras.config.backend() == "jax":
            flags = os.environ.get("XLA_FLAGS", OLDER_CONVOLUTIONS)  # lane best's
            if CASTS not in flags:
                os.environ["XLA_FLAGS"] = "%s %s" % (flags, CASTS)
        if keras.config.backend() == "torch":
            import torch

            # A GPU may add up the parts of a product in bfloat16, and does so by default.
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        settings = module.configure("best", threads, seed)
        keras.config.set_dtype_policy("mixed_bfloat16")
        return dict(settings, products=keras.config.dtype_policy().compute_dtype)

    def symbol(settings, hp):
        """The network, and its scores as float32."""
        network = module.symbol(settings, hp)
        for layer in network.layers:
            if isinstance(layer, layers.Dropout):
                layer.dtype_policy = "float32"
        network.add(layers.Activation("linear", dtype="float32"))
        return network

    return dict(configure=configure, symbol=symbol)
