"""Mixed precision in Keras 3: products of bfloat16, weights and updates of float32.

Idiom: a dtype policy, set before the layers are made. Each keeps its weights in float32, and casts
    them and its input for what it computes.
Surprise: all layers compute in bfloat16 then. Dropout needs a policy of its own: on TensorFlow its
    random numbers are multiples of 1/128 in bfloat16, and a rate of 0.15 becomes 0.156. So do the
    scores, if ``predict`` is to give float32; losses cast them themselves.
    XLA, on JAX, leaves out a cast to bfloat16 and back, unless it is told not to.
"""

import os

import keras
from keras import layers

CASTS = "--xla_allow_excess_precision=false"
BEST = "--xla_cpu_experimental_ynn_fusion_type=-individual_convolution"  # lane best's


def functions(module):
    """The functions of a network's ``module`` that differ in this lane: {name: function}."""

    def configure(lane, threads, seed):
        """As in lane best; layers compute in bfloat16."""
        if keras.config.backend() == "jax":
            flags = os.environ.get("XLA_FLAGS", BEST)
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
