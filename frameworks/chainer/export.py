"""Chainer's network as ONNX.

Idiom: ``onnx_chainer``, a part of Chainer, follows one pass through the network.
Surprise: the file takes only batches of the example's size.
"""

import chainer
import onnx_chainer


def export(model, x, path):
    """Write the network as ``.onnx``, for one image at a time. x: some images."""
    with chainer.using_config("train", False):  # no dropout
        onnx_chainer.export(model[0], x[:1], filename=path)
