"""Today's names in older versions of PyTorch, so that the modules run there as they are.

Idiom: until 2.8, ``allow_tf32`` says what ``fp32_precision`` says since 2.9, once for cuBLAS and
once for cuDNN, its LSTM included.
"""

import torch
import torch.backends.cudnn.rnn  # which sets ``torch.backends.cudnn.rnn``


class Switch:
    """An older backend with ``fp32_precision``; all else is the backend's own."""

    def __init__(self, backend):
        vars(self)["backend"] = backend

    def __getattr__(self, name):
        if name == "fp32_precision":
            return "tf32" if self.backend.allow_tf32 else "ieee"
        return getattr(self.backend, name)

    def __setattr__(self, name, value):
        if name == "fp32_precision":
            self.backend.allow_tf32 = value == "tf32"
        else:
            setattr(self.backend, name, value)


def prepare(backends=torch.backends):
    """Add what this version lacks."""
    if not hasattr(backends.cudnn, "conv"):
        backends.cuda.matmul = Switch(backends.cuda.matmul)
        backends.cudnn.conv = Switch(backends.cudnn)
