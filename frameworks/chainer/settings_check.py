"""Chainer: ``chainer.config`` has its switches, arrays their precision, the BLAS its threads."""

import chainer
import numpy as np
import threadpoolctl


def in_force(module, settings, model):
    network, _, optimizer = model
    arrays = [parameter.array for parameter in network.params()]
    arrays += [parameter.update_rule.state["v"] for parameter in network.params()]
    (precision,) = {str(array.dtype) for array in arrays}
    (threads,) = {one["num_threads"] for one in threadpoolctl.threadpool_info()}
    return {
        "chainer_device": str(network.device),
        "precision": precision,
        "threads": threads,
        "tf32_override": str(int(_tf32(network.xp))),
        "ideep": _ideep(network.device),
        "autotune": chainer.config.autotune,
        "tensor_core": chainer.config.use_cudnn_tensor_core,
        "cudnn_workspace": chainer.backends.cuda.get_max_workspace_size(),
        "type_check": _types_are_checked(),
    }


def _ideep(device):
    """Whether a convolution gives an array of iDeep's own."""
    x, w = (device.send(np.ones(shape, np.float32)) for shape in ((1, 8, 8, 8), (8, 8, 3, 3)))
    y = chainer.functions.convolution_2d(x, w).array
    return "auto" if type(y).__name__ == "mdarray" else "never"


def _types_are_checked():
    """The check's effect: ReLU refuses integers, although it could compute with them."""
    try:
        chainer.functions.relu(np.arange(3))
    except chainer.utils.type_check.InvalidType:
        return True
    return False


def _tf32(xp):
    """TF32's effect: it keeps 10 bits of 1 + 2**-12, so that a product is exactly 1."""
    product = xp.full((64, 64), 1 + 2**-12, np.float32) @ xp.eye(64, dtype=np.float32)
    return bool((product == 1).any())
