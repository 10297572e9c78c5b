"""tinygrad's own file of weights: ``.safetensors``.

Idiom: ``safe_save`` of the ``get_state_dict`` of a network, and ``load_state_dict`` of a
    ``safe_load``; a tensor's name is its path from the object.
Surprise: ``safe_load`` gives tensors on the disk, which are read when they are realized.
"""

from tinygrad import nn


def save(model, path):
    """Write the model's weights."""
    nn.state.safe_save(nn.state.get_state_dict(model[0]), path)


def restore(model, path):
    """Read weights into the model."""
    nn.state.load_state_dict(model[0], nn.state.safe_load(path), verbose=False)
