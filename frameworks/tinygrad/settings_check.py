"""tinygrad: its context variables, the kernels that a step runs, and the tensors' types."""

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import ALLOW_TF32, BEAM

from frameworks.effects import busy_threads


def in_force(module, settings, model):
    network, step, _ = model
    (precision,) = {tensor.dtype.name for tensor in nn.state.get_parameters(network)}
    x, y = Tensor(np.zeros((64, 3, 32, 32), np.float32)).realize(), Tensor([0] * 64).realize()
    return {
        "precision": {"float": "float32"}[precision],
        "threads": busy_threads(lambda: step(x, y).item()),
        "tf32": bool(ALLOW_TF32.value),
        "beam": BEAM.value,
        "jit": not runs_python(network, step, x, y),
    }


def runs_python(network, step, x, y):
    """Whether a step that has run before calls the network again."""
    calls, kind = [], type(network)
    original = kind.__call__

    def counted(self, x):
        calls.append(x)
        return original(self, x)

    kind.__call__ = counted
    try:
        step(x, y).item()
    finally:
        kind.__call__ = original
    return bool(calls)
