"""What the operations in Caffe2's profiles are for: see common/profiles/categories.py."""

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
# Of operations that are not the update's.
DIRECTIONS = {
    "forward": r"^(Conv|FC|MaxPool|Relu|Dropout|SoftmaxWithLoss)$",
    "backward": r"Grad(ient)?$",
}
