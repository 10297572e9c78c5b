"""Keras 3: its model, and its backend's switches, threads and kernels."""

import gc
import inspect
import os

import keras
import numpy as np

from frameworks.effects import busy_threads, threads_called


def in_force(module, settings, model):
    backend = keras.backend.backend()
    images, labels = np.zeros((64, 3, 32, 32), np.float32), np.zeros(64, np.int64)
    images, labels = module.load(images, labels, settings)
    (precision,) = {variable.dtype for variable in model.trainable_variables}
    found = {
        "precision": precision,
        "threads": busy_threads(lambda: model.train_on_batch(images, labels)),
        "backend": backend,
    }
    found.update({"tensorflow": tensorflow, "jax": jax, "torch": torch}[backend](model, images))
    return found


def tensorflow(model, images):
    import tensorflow as tf

    from frameworks.tensorflow.settings_check import kernels

    model.train_function = None  # it keeps the data set of fit, which has threads of this name
    gc.collect()
    forward = tf.function(lambda x: model(x, training=True))
    return {
        "backend_version": tf.__version__,
        "threads_between_operations": threads_called("tf_Compute"),
        "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] == "1",
        "onednn": any(op.startswith("_Mkl") for op in kernels(forward, tf.constant(images))),
        "jit": threads_called("tf_XLAEigen") > 0,
    }


def jax(model, images):
    import jax

    compiled = inspect.getclosurevars(model.train_function).nonlocals["step_function"]
    return {
        "backend_version": jax.__version__,
        "tf32": jax.config.jax_default_matmul_precision != "highest",
        "autotune": "autotune_level=0" not in os.environ["XLA_FLAGS"],
        "ynn_convolution": _ynn_convolution(images),
        "pool": _pool(model),
        "jit": compiled._cache_size() > 0,
    }


def _ynn_convolution(images):
    """Whether XLA fused a convolution in that way."""
    import jax

    forward = jax.jit(keras.layers.Conv2D(50, 3))
    return "ynn_fusion" in forward.lower(images).compile().as_text()


def _pool(model):
    """How the model's first pool is computed."""
    import jax

    pool = next(one for one in model.layers if isinstance(one, keras.layers.MaxPooling2D))
    computed = str(jax.make_jaxpr(pool.call)(np.zeros((1,) + pool.input.shape[1:], np.float32)))
    return "windows" if "reduce_window" in computed else "comparisons"


def torch(model, images):
    import torch

    from frameworks.pytorch import settings_check as pytorch

    return {
        "backend_version": torch.__version__,
        "memory_format": _memory_format(model.layers[0](images)),
        "tf32": pytorch.tf32(model.trainable_variables[0].value.device),
        "autotune": torch.backends.cudnn.benchmark,
        "jit": pytorch.jit(),
    }


def _memory_format(x):
    """The order of a tensor's values in memory."""
    import torch

    return "channels_last" if x.is_contiguous(memory_format=torch.channels_last) else "contiguous"
