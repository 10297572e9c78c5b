"""Categories of the operations in MXNet's profiles: see common/profiles/categories.py."""

CATEGORIES = {
    "convolution forward": r"^Convolution$",
    "convolution backward": r"^_backward_Convolution$",
    "dense": r"^(_backward_)?FullyConnected$",
    "pool": r"^(_backward_)?Pooling$",
    "dropout": r"^(_backward_)?Dropout$",
    "loss": r"^(_backward_)?(log_softmax|pick|SoftmaxOutput)$",
    "update": r"_update$",
    "layout and copies": r"^(CopyCPU2CPU|(_backward_)?(copy|transpose|Reshape))$",
    "not told apart": r",",  # operators in bulk
}
# Only for the CNN; other networks may use these operations for something else.
IN_THE_CNN = {
    "ReLU": r"^(_backward_)?Activation$",
    "loss": r"^(_backward_)?mean$",
}
# For operations outside the update.
DIRECTIONS = {
    "forward": r"^[A-Z]\w+$|^(log_softmax|pick|mean)$",
    "backward": r"^_backward_",
}
