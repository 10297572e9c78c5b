"""Keras 2's own file of weights, ``.h5``.

Idiom: ``save_weights`` and ``load_weights``, layer by layer in the network's order.
Surprise: the file names the backend that wrote it, and kernels are flipped if Theano reads another
    backend's file, or another backend reads Theano's. ``load_model`` would run the code of
    ``Lambda`` layers out of the file.
"""


def save(model, path):
    """Write the model's weights."""
    model.save_weights(path)


def restore(model, path):
    """Read weights into the model, and nothing else, from a whole model's file too."""
    model.load_weights(path)
