"""PyTorch's network as ONNX.

Idiom: ``torch.onnx.export`` of the network in prediction, with an example of its input.
Surprise: it asks for cuDNN's precision in one word, and fails where convolutions and recurrent
    layers were told two.
"""

import torch


def export(model, x, path):
    """Write the network as ``.onnx``; its first axis may be any. x: some images."""
    network = model[0].eval()
    torch.backends.cudnn.rnn.fp32_precision = torch.backends.cudnn.conv.fp32_precision
    torch.onnx.export(
        network,
        (torch.from_numpy(x),),
        path,
        dynamic_shapes=({0: torch.export.Dim("n")},),
        external_data=False,  # of some size it would write a second file
        verbose=False,
    )
