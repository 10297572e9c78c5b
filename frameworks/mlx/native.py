"""MLX's own files of weights: ``.safetensors`` and ``.npz``.

Idiom: ``save_weights`` and ``load_weights``; the ending chooses the format. A parameter's name in
    the file is its path in the module, and kernels are as MLX has them, with the channels last.
Surprise: an array that was loaded is read from the file when it is evaluated, and not before.
"""

import mlx.core as mx


def save(model, path):
    """Write the model's weights."""
    model[0].save_weights(path)


def restore(model, path):
    """Read weights into the model."""
    model[0].load_weights(path)  # strict: names and shapes must be the network's
    mx.eval(model[0].parameters())
