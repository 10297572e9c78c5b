"""Keras 3's network as ONNX, on PyTorch.

Idiom: ``export`` with a format; PyTorch's own exporter does it, or tf2onnx, or jax2onnx.
Surprise: on JAX, ONNX Runtime rejects the exported max-pool; on TensorFlow, export needs tf2onnx.
"""


def export(model, x, path):
    """Write the network as ``.onnx``; its first axis may be any. x: some images."""
    model(x)  # a model that was never called is not exported
    model.export(path, format="onnx", verbose=False)
