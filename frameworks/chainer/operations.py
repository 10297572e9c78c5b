"""What the operations in Chainer's profiles are for: see common/profiles/categories.py.

A name is FUNCTION, DIRECTION.
"""

CATEGORIES = {
    "convolution forward": r"^Convolution2DFunction, forward$",
    "convolution backward": r"^Convolution2DFunction, backward$",
    "dense": r"^LinearFunction, ",
    "pool": r"^MaxPoolingND, ",
    "ReLU": r"^ReLU, ",
    "dropout": r"^Dropout, ",
    "loss": r"^SoftmaxCrossEntropy, ",
}
# Of operations that are not the update's.
DIRECTIONS = {
    "forward": r", forward$",
    "backward": r", backward$",
}
