"""Keras 3's network as ONNX, on PyTorch.

Idiom: ``export`` with a format; PyTorch's own exporter does it, or tf2onnx, or jax2onnx.
Surprise: on JAX ONNX Runtime rejects what comes of the max-pool; on TensorFlow it needs tf2onnx.
"""


def export(model, x, path):
    """Write the network as ``.onnx``; its first axis may be any. x: some images."""
    model(x)  # one that was never called is not exported
    model.export(path, format="onnx", verbose=False)
