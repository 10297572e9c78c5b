"""Categories of the operations in Caffe2's profiles: see common/profiles/categories.py."""

CATEGORIES = {
    "convolution forward": r"^Conv$",
    "convolution backward": r"^ConvGradient$",
    "dense": r"^FC(Gradient)?$",
    "pool": r"^MaxPool(Gradient)?$",
    "ReLU": r"^Relu(Gradient)?$",
    "dropout": r"^Dropout(Grad)?$",
    "loss": r"^SoftmaxWithLoss(Gradient)?$",
    "update": r"Update$|^(Adam|LearningRate|AtomicIter)$",
    "layout and copies": r"^Copy\w+To\w+$",
}
# For operations outside the update.
DIRECTIONS = {
    "forward": r"^(Conv|FC|MaxPool|Relu|Dropout|SoftmaxWithLoss)$",
    "backward": r"Grad(ient)?$",
}
