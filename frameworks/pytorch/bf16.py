"""Mixed precision in PyTorch: products of bfloat16, weights and updates of float32.

Idiom: ``torch.autocast`` around the forward pass; the backward pass, outside of it, computes each
    gradient in the type of its layer's forward pass.
Surprise: the scores leave autocast as bfloat16, and the loss would then be computed in it; they are
    made float32 first. No ``GradScaler``: bfloat16 has float32's range, float16 has not.
"""

import torch


def functions(module):
    """The functions of a network's ``module`` that differ in this lane: {name: function}."""

    def configure(lane, threads, seed):
        """As in lane best; products take bfloat16."""
        # A GPU may add up the parts of a product in bfloat16, and does so by default.
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        return dict(module.configure("best", threads, seed), products="bfloat16")

    def symbol(settings, hp):
        """The network, its forward pass under autocast and its scores float32."""
        network = module.symbol(settings, hp)
        network.forward = torch.autocast(settings["device"], torch.bfloat16)(network.forward)
        network.register_forward_hook(lambda network, inputs, scores: scores.float())
        return network

    return dict(configure=configure, symbol=symbol)


def product(size):
    """The machine's matrix product of bfloat16, as a function that computes it once."""
    a = torch.ones(size, size, dtype=torch.bfloat16)
    return lambda: a @ a
