"""Module's network as ONNX.

Idiom: ``mxnet.onnx`` takes the symbol and its parameters.
Surprise: the symbol must be that of prediction; the trainer's ends in a loss that needs labels.
"""

import numpy as np
from mxnet import onnx as mx_onnx


def export(model, x, path):
    """Write the network as ``.onnx``; its first axis may be any. x: some images."""
    trainer, predictor = model
    shape = (None,) + x.shape[1:]
    mx_onnx.export_model(
        predictor.symbol,
        trainer.get_params()[0],
        [x.shape],
        np.float32,
        path,
        dynamic=True,
        dynamic_input_shapes=[shape],
    )
