"""Keras 3's own files: the whole model, ``.keras``, or its weights, ``.weights.h5``.

Idiom: ``save`` and ``save_weights``; any backend reads the files of another.
Surprise: ``load_weights`` also reads them from a ``.keras``. ``load_model`` would rebuild the model
    from layers that the file names.
"""


def network(model):
    """The network; of two that share their layers, the first."""
    return model[0] if isinstance(model, tuple) else model


def save(model, path):
    """Write the model's weights, or the whole model, but not how it was compiled."""
    written = network(model)
    if not path.endswith(".keras"):
        written.save_weights(path)
        return
    compiled, written.compiled = written.compiled, False  # our schedules cannot be written
    try:
        written.save(path)
    finally:
        written.compiled = compiled


def restore(model, path):
    """Read weights into the model, and nothing else, from a whole model's file too."""
    network(model).load_weights(path)
