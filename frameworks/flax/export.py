"""Flax's network as ONNX.

Idiom: jax2onnx's ``to_onnx`` of the network in prediction, with the shape of its input.
Layout: images are NCHW in the file, as in all others' files, and are turned there.
Surprise: a first axis of any size is a symbol while the network is traced, and has no ``len``:
    ``x.shape[0]`` is asked for instead. If jax2onnx writes the file itself, it puts large weights
    into a second one beside it.
"""

import jax2onnx
import onnx


def export(model, x, path):
    """Write the network as ``.onnx``; its first axis may be any. x: some images."""
    network, _ = model
    network.eval()  # dropout off
    shape = ("n",) + x.shape[1:]
    images = [0] if x.ndim == 4 else None  # this input is given as NCHW
    written = jax2onnx.to_onnx(network, [shape], inputs_as_nchw=images, return_mode="proto")
    onnx.save_model(written, path)
