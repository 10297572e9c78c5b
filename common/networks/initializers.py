"""Initial weights, drawn once in NumPy and put into every framework."""

import numpy as np


def xavier_uniform(shapes, seed):
    """Xavier (Glorot) uniform weights and zero biases: {name: float32 array} of these ``shapes``.

    A weight is uniform in +-sqrt(6 / (fan_in + fan_out)); a convolution's fans count its kernel's
    positions (Glorot & Bengio, 2010). ``RandomState``, because its streams are frozen: every NumPy
    gives the same bits.
    """
    random = np.random.RandomState(seed)
    weights = {}
    for name, shape in shapes.items():
        if name.endswith(".bias"):
            weights[name] = np.zeros(shape, np.float32)
        else:
            positions = int(np.prod(shape[2:]))
            bound = np.sqrt(6.0 / ((shape[0] + shape[1]) * positions))
            weights[name] = random.uniform(-bound, bound, shape).astype(np.float32)
    return weights


def gpt2_normal(shapes, seed):
    """Normal weights with a standard deviation of 0.02, as GPT-2's: {name: float32 array}.

    The matrices that end a residual branch, ``out.weight`` and ``down.weight``, are divided by the
    root of the number of branches (Radford et al., 2019). Normalisation has weights of 1; biases
    are 0.
    """
    random = np.random.RandomState(seed)
    ends = ("out.weight", "down.weight")
    branches = sum(name.endswith(ends) for name in shapes)
    weights = {}
    for name, shape in shapes.items():
        if len(shape) > 1:
            deviation = 0.02 / (np.sqrt(branches) if name.endswith(ends) else 1)
            weights[name] = random.normal(0, deviation, shape).astype(np.float32)
        else:
            fill = np.zeros if name.endswith(".bias") else np.ones
            weights[name] = fill(shape, np.float32)
    return weights


def he_uniform(shapes, seed):
    """He (Kaiming) uniform weights of these ``shapes``: {name: float32 array}.

    A weight is uniform in +-sqrt(6 / fan_in) (He et al., 2015). Biases and running means are 0;
    batch normalisation's weights and running variances are 1, except for a block's last weight,
    ``norm3``, which is 0, so that each block starts as its shortcut (Goyal et al., 2017). Otherwise
    the first steps magnify rounding errors a thousandfold.
    """
    random = np.random.RandomState(seed)
    weights = {}
    for name, shape in shapes.items():
        if len(shape) > 1:
            bound = np.sqrt(6.0 / np.prod(shape[1:]))
            weights[name] = random.uniform(-bound, bound, shape).astype(np.float32)
        else:
            zero = name.endswith((".bias", ".mean", "norm3.weight"))
            fill = np.zeros if zero else np.ones
            weights[name] = fill(shape, np.float32)
    return weights
