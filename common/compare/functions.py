"""Activations, softmax and lower precisions, in NumPy."""

import math
from collections import OrderedDict

import numpy as np


def relu(x):
    """The larger of x and 0."""
    return np.maximum(x, 0)


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def gelu(x):
    """x times the normal distribution's probability of being below x, by its usual formula."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


erf = np.frompyfunc(math.erf, 1, 1)


def gelu_exact(x):
    """x times the normal distribution's probability of being below x."""
    return 0.5 * x * (1 + np.asarray(erf(x / math.sqrt(2)), np.float64))


def elu(x):
    """x above 0, exp(x) - 1 below."""
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


ACTIVATIONS = (
    ("ReLU", relu),
    ("ReLU6", lambda x: np.clip(x, 0, 6)),
    ("sigmoid", sigmoid),
    ("tanh", np.tanh),
    ("softplus", lambda x: np.logaddexp(x, 0)),
    ("SiLU", lambda x: x * sigmoid(x)),
    ("GELU (by tanh)", gelu),
    ("GELU (by erf)", gelu_exact),
    ("GELU (x sigmoid(1.702 x))", lambda x: x * sigmoid(1.702 * x)),
    ("ELU", elu),
    ("exponential", lambda x: np.exp(np.minimum(x, 80))),
    ("absolute value", np.abs),
    ("square", np.square),
)

# All activations that a layer is tried with; some equal others on most values.
SHAPES = OrderedDict(ACTIVATIONS)
SHAPES.update(
    [
        ("identity", lambda x: x),
        ("squared ReLU", lambda x: np.maximum(x, 0) ** 2),
        ("Mish", lambda x: x * np.tanh(np.logaddexp(x, 0))),
        ("SELU", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * elu(x))),
        ("softsign", lambda x: x / (1 + np.abs(x))),
        ("log-sigmoid", lambda x: -np.logaddexp(-x, 0)),
        ("hard sigmoid (x / 6 + 0.5)", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
        ("hard sigmoid (0.2 x + 0.5)", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
        ("hard swish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
        ("hard tanh", lambda x: np.clip(x, -1, 1)),
        ("tanh of LeCun", lambda x: 1.7159 * np.tanh(x * 2 / 3)),
    ]
)


def softmax(x, axis):
    """Exponentials along an axis, divided by their sum."""
    x = np.exp(x - x.max(axis, keepdims=True))
    return x / x.sum(axis, keepdims=True)


def log_softmax(x, axis):
    """The logarithm of the softmax."""
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def bfloat16(x):
    """Rounded to 8 significant bits."""
    return _rounded(x, 16)


def tf32(x):
    """Rounded to 11 significant bits."""
    return _rounded(x, 13)


def _rounded(x, bits):
    """Float32 without its last bits, rounded with ties to even."""
    x = np.array(x, np.float32).view(np.uint32)
    x = x + (np.uint32((1 << (bits - 1)) - 1) + ((x >> np.uint32(bits)) & np.uint32(1)))
    return (x >> np.uint32(bits) << np.uint32(bits)).view(np.float32)


def float16(x):
    """Rounded to float16."""
    return x.astype(np.float16).astype(np.float32)


PRECISIONS = (("bfloat16", bfloat16), ("float16 or TF32", float16), ("TF32", tf32))
