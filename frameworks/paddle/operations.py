"""What the operations in Paddle's profiles are for: see common/profiles/categories.py.

That of a gradient ends in _grad or _double_grad.
"""

CATEGORIES = {
    "convolution forward": r"^conv2d$",
    "convolution backward": r"^conv2d_grad$",
    "dense": r"^(matmul|addmm|linear)(_grad)?$",
    "pool": r"^(max_)?pool2d(_with_index)?(_grad)?$",
    "ReLU": r"^relu(_grad)?$",
    "dropout": r"^dropout(_grad)?$",
    "loss": r"^(nll_loss|max|subtract|expm1|log|sum|scale)(_grad)?$",
    "update": r"^(momentum|adam)\w*$",
    "layout and copies": r"^(reshape|flatten|transpose|assign\w*|memcpy\w*|full\w*)(_grad)?$"
    r"|^expand_as(_grad)?$|^onednn_to_paddle_layout$",
}
# Of operations that are not the update's.
DIRECTIONS = {
    "forward": r"^(?!.*_grad$)",
    "backward": r"_grad$",
}
