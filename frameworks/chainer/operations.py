"""Categories of the operations in Chainer's profiles: see common/profiles/categories.py.

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
# For operations outside the update.
DIRECTIONS = {
    "forward": r", forward$",
    "backward": r", backward$",
}
