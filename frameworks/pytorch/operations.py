"""Categories of the operations in PyTorch's profiles: see common/profiles/categories.py.

A name is CALL > OPERATION; calls of the backward pass end in Backward0.
"""

CATEGORIES = {
    "update": r"^Optimizer\.|^aten::_foreach_",
    "layout and copies": r"> aten::(contiguous|_to_copy)$|^aten::permute$|\baten::(copy_|clone)$",
    "convolution forward": r"^aten::conv(2d|olution)\b",
    "convolution backward": r"\bConvolutionBackward0\b",
    "dense": r"^aten::(linear|matmul)\b|\b(Addmm|Mm)Backward0\b",
    "pool": r"\bmax_pool2d\b|\bMaxPool2DWithIndicesBackward0\b",
    "ReLU": r"^aten::relu\b|\bReluBackward0\b",
    "dropout": r"^aten::dropout\b",
    "loss": r"^aten::cross_entropy_loss\b|\b(LogSoftmax|NllLoss)Backward0\b",
}
# Only for the CNN; other networks may use these operations for something else.
IN_THE_CNN = {
    "dropout": r"\bMulBackward0\b",
}
# For operations outside the update.
DIRECTIONS = {
    "forward": r"^aten::",
    "backward": r"Backward0\b|^torch::autograd::AccumulateGrad",
}
