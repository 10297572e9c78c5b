"""PyTorch's own file of weights: a ``state_dict``.

Idiom: ``torch.save`` of the state, not of the network: a network is pickled with the name of its
    class, and can be read only where that class is.
Surprise: before 2.6 ``torch.load`` ran any code in a pickle, unless given ``weights_only=True``.
"""

import torch


def save(model, path):
    """Write the model's weights."""
    torch.save(model[0].state_dict(), path)


def restore(model, path):
    """Read weights into the model."""
    model[0].load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
