"""What the operations in CNTK's profiles are for: see common/profiles/categories.py.

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
# In the CNN alone; other networks may use these operations otherwise.
IN_THE_CNN = {
    "dropout": r"^Select, ",  # Keras 2: between training and prediction
}
# Of operations that are not the update's.
DIRECTIONS = {
    "forward": r", forward$",
    "backward": r", backward$",
}
