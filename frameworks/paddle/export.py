"""Paddle's network as ONNX.

Idiom: ``paddle.onnx.export`` of the network in prediction, with the shapes of its inputs.
Surprise: it takes the path without ``.onnx``, and leaves the work to Paddle2ONNX, whose release 2.1
    writes a GELU by tanh as one by erf.
"""

import paddle


def export(model, x, path):
    """Write the network as ``.onnx``; its first axis may be any. x: some images."""
    network = model[0]
    network.eval()  # dropout off
    spec = paddle.static.InputSpec([None, *x.shape[1:]], "float32", "x")
    paddle.onnx.export(network, path[: -len(".onnx")], input_spec=[spec], opset_version=17)
