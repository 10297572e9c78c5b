"""What the operations in Paddle's profiles are for: see common/profiles/categories.py.

A name is OPERATION kernel launch; that of a gradient ends in _grad or _double_grad.
"""

CATEGORIES = {
    "convolution forward": r"^conv2d kernel",
    "convolution backward": r"^conv2d_grad kernel",
    "dense": r"^(matmul|addmm|linear)(_grad)? kernel",
    "pool": r"^(max_)?pool2d(_with_index)?(_grad)? kernel",
    "ReLU": r"^relu(_grad)? kernel",
    "dropout": r"^dropout(_grad)? kernel",
    "loss": r"^(nll_loss|max|subtract|expm1|log|sum|scale)(_grad)? kernel",
    "update": r"^(momentum|adam)\w* kernel",
    "layout and copies": r"^(reshape|flatten|transpose|assign\w*|memcpy\w*|full\w*)(_grad)? kernel",
}
# Of operations that are not the update's.
DIRECTIONS = {
    "forward": r"^(?!.*_grad kernel)",
    "backward": r"_grad kernel",
}
