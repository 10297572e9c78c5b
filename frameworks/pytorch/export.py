"""PyTorch's network as ONNX.

Idiom: ``torch.onnx.export`` of the network in prediction, with an example of its input.
Surprise: it reads the older switch for TF32, and fails if the newer one disagrees.
"""

import torch


def export(model, x, path):
    """Write the network as ``.onnx``; its first axis may be any. x: two images or more."""
    network = model[0].eval()
    torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.conv.fp32_precision == "tf32"
    torch.onnx.export(
        network,
        (torch.from_numpy(x),),
        path,
        dynamic_shapes=({0: torch.export.Dim("n")},),
        external_data=False,  # above some size it would write a second file
        verbose=False,
    )
