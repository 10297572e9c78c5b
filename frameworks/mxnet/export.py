"""Gluon's network as ONNX.

Idiom: ``export`` writes the symbol and the parameters; ``mxnet.onnx`` makes ONNX of the two files.
Surprise: a network has no symbol before it has been called once.
"""

import os
import tempfile

import numpy as np
from mxnet import nd
from mxnet import onnx as mx_onnx


def export(model, x, path):
    """Write the network as ``.onnx``; its first axis may be any. x: some images."""
    network = model[0]
    device = next(iter(network.collect_params().values())).list_ctx()[0]
    network(nd.array(x, device))
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "network")
        network.export(prefix)
        mx_onnx.export_model(
            prefix + "-symbol.json",
            prefix + "-0000.params",
            [x.shape],
            np.float32,
            path,
            dynamic=True,
            dynamic_input_shapes=[(None,) + x.shape[1:]],
        )
