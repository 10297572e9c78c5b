"""Other schemes of initial weights: functions from (shapes, seed) to {name: float32 array}.

Biases are zero unless stated. Weights are drawn in the order of the layers, from the same stream as
``xavier_uniform``, so uniform schemes with the same seed differ only in scale.
"""

from collections import OrderedDict

import numpy as np


def _drawn(shapes, seed, draw):
    """Weights from ``draw(random, fan_in, fan_out, shape)``; zero biases."""
    random = np.random.RandomState(seed)
    weights = {}
    for name, shape in shapes.items():
        if len(shape) > 1:
            fan_in, fan_out = int(np.prod(shape[1:])), shape[0] * int(np.prod(shape[2:]))
            weights[name] = draw(random, fan_in, fan_out, shape).astype(np.float32)
        else:
            weights[name] = np.zeros(shape, np.float32)
    return weights


def _uniform(shapes, seed, bound):
    """Weights uniform in +-bound(fan_in, fan_out); zero biases."""

    def draw(random, fan_in, fan_out, shape):
        return random.uniform(-bound(fan_in, fan_out), bound(fan_in, fan_out), shape)

    return _drawn(shapes, seed, draw)


def _normal(shapes, seed, gain):
    """Normal weights with variance gain / fan_in; zero biases."""

    def draw(random, fan_in, fan_out, shape):
        return random.normal(0, np.sqrt(gain / fan_in), shape)

    return _drawn(shapes, seed, draw)


def lecun_normal(shapes, seed):
    """Chainer's default: ``LeCunNormal``, with variance 1 / fan_in."""
    return _normal(shapes, seed, 1.0)


def he_normal(shapes, seed):
    """Variance 2 / fan_in (He et al., 2015)."""
    return _normal(shapes, seed, 2.0)


def xavier_fill(shapes, seed):
    """Caffe2's default: ``XavierFill``, uniform in +-sqrt(3 / fan_in)."""
    return _uniform(shapes, seed, lambda fan_in, fan_out: np.sqrt(3.0 / fan_in))


def gluon_xavier(shapes, seed):
    """MXNet's ``Xavier(magnitude=2.24)``: uniform in +-sqrt(2.24 / mean of the fans)."""
    return _uniform(
        shapes, seed, lambda fan_in, fan_out: np.sqrt(2.24 / ((fan_in + fan_out) / 2.0))
    )


def pytorch_uniform(shapes, seed):
    """PyTorch's default: weights and biases uniform in +-1 / sqrt(fan_in).

    ``reset_parameters`` calls ``kaiming_uniform_(weight, a=sqrt(5))``, which has the bound
    sqrt(6 / (1 + 5) / fan_in).
    """
    weights = _uniform(shapes, seed, lambda fan_in, fan_out: np.sqrt(1.0 / fan_in))
    random = np.random.RandomState([seed, 1])
    for name in (name for name in shapes if name.endswith(".bias")):
        bound = np.sqrt(1.0 / np.prod(shapes[name.replace(".bias", ".weight")][1:]))
        weights[name] = random.uniform(-bound, bound, shapes[name]).astype(np.float32)
    return weights


# {key of a switch: (its title, its function)}
SCHEMES = OrderedDict(
    lecun_normal=("LeCun normal (Chainer)", lecun_normal),
    pytorch_uniform=("PyTorch's own, with biases", pytorch_uniform),
    xavier_fill=("XavierFill (Caffe2)", xavier_fill),
    gluon_xavier=("Xavier(magnitude=2.24) (Gluon)", gluon_xavier),
    he_normal=("He normal", he_normal),
)
