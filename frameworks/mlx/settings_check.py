"""MLX: what is in force is seen in arrays, in the BLAS, and in whether a step runs Python."""

import mlx.core as mx
import threadpoolctl
from mlx.utils import tree_flatten


def in_force(module, settings, model):
    network, step, state = model
    arrays = [array for _, array in tree_flatten([network.parameters(), state[1]])]
    (precision,) = {str(array.dtype) for array in arrays if array.ndim}
    return {
        "precision": precision.replace("mlx.core.", ""),
        "threads": blas_threads(),
        "compile": not runs_python(network, step),
    }


def blas_threads():
    """Of the library that was loaded before MLX, whose names it resolves first."""
    (threads,) = {
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["prefix"] == "libopenblas"
    }
    return threads


def runs_python(network, step):
    """Whether a step that has run before calls the network again."""
    calls, kind = [], type(network)
    original = kind.__call__

    def counted(self, x):
        calls.append(x)
        return original(self, x)

    kind.__call__ = counted
    x, y = mx.zeros((64, 32, 32, 3)), mx.zeros(64, mx.int64)
    try:
        for _ in range(2):
            calls.clear()
            mx.eval(step(x, y))
    finally:
        kind.__call__ = original
    return bool(calls)
