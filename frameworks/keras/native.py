"""Keras 3's own files: the whole model, ``.keras``, or its weights, ``.weights.h5``.

Idiom: ``save`` and ``save_weights``; any backend reads what another has written.
Surprise: ``load_weights`` takes them out of a ``.keras``, too. ``load_model`` would build the
    model anew, from layers that the file names.
"""


def network(model):
    """The network; of the LSTM's two, which share their layers, the first."""
    return model[0] if isinstance(model, tuple) else model


def save(model, path):
    """Write the model's weights, or the whole model."""
    if path.endswith(".keras"):
        network(model).save(path)
    else:
        network(model).save_weights(path)


def restore(model, path):
    """Read weights into the model; of a whole model's file they alone are read."""
    network(model).load_weights(path)
