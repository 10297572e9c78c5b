"""TF32 in PyTorch: a GPU multiplies factors of 11 significant bits; everything else is float32.

Idiom: ``fp32_precision``, once for cuBLAS's products and once for cuDNN's convolutions.
Surprise: convolutions take TF32 by default and products do not. The other lanes switch both off.
"""

import torch


def functions(module):
    """The functions of a network's ``module`` that differ in this lane: {name: function}."""

    def configure(lane, threads, seed):
        """As in lane best; products may take TF32."""
        settings = module.configure("best", threads, seed)
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        torch.backends.cudnn.conv.fp32_precision = "tf32"
        return dict(settings, tf32=True, products="tf32")

    return dict(configure=configure)
