"""CNTK's network as ONNX.

Idiom: ``save`` with the format.
Surprise: a function has no batch axis, so the file has one of size 1.
"""

import cntk as C


def export(model, x, path):
    """Write the network as ``.onnx``, for one image at a time. x: some images."""
    model[0].save(path, format=C.ModelFormat.ONNX)
