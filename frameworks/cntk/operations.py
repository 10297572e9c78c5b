"""Categories of the operations in CNTK's profiles: see common/profiles/categories.py.

A name is NODE, DIRECTION.
"""

CATEGORIES = {
    "update": r"^Weight Update$",
    "convolution forward": r"^Convolution, forward$",
    "convolution backward": r"^Convolution, backward$",
    "dense": r"^Times, ",
    "pool": r"^Pooling, ",
    "ReLU": r"^ReLU, ",
    "dropout": r"^Dropout, ",
    "layout and copies": r"^(TransposeAxes|Reshape), ",
    "not told apart": r"^Plus, ",  # biases of convolutions and of dense layers
}
# Only for the CNN; other networks may use these operations for something else.
IN_THE_CNN = {
    "dropout": r"^Select, ",  # Keras 2: between training and prediction
}
# For operations outside the update.
DIRECTIONS = {
    "forward": r", forward$",
    "backward": r", backward$",
}
