"""The canonical weights: names, layouts, and the file that any framework saves and loads."""

import os
import tempfile
import zipfile
from collections import OrderedDict

import numpy as np

from common.errors import InputError

# Convolutions are (out, in, height, width) for cross-correlation; dense weights are (out, in), and
# the first dense layer's inputs are the flattened channels, height, width in that order.
SHAPES = OrderedDict(
    [
        ("conv1.weight", (50, 3, 3, 3)),
        ("conv1.bias", (50,)),
        ("conv2.weight", (50, 50, 3, 3)),
        ("conv2.bias", (50,)),
        ("conv3.weight", (100, 50, 3, 3)),
        ("conv3.bias", (100,)),
        ("conv4.weight", (100, 100, 3, 3)),
        ("conv4.bias", (100,)),
        ("dense1.weight", (512, 6400)),
        ("dense1.bias", (512,)),
        ("dense2.weight", (10, 512)),
        ("dense2.bias", (10,)),
    ]
)
