"""The switches of Keras's backends: device, threads, precision, autotune and layout.

Idiom: KERAS_BACKEND names the backend before Keras is imported; each has switches of its own, which
    Keras does not set.
Surprise: PyTorch has no NHWC: given channels-last images, Keras transposes them before and after
    each layer. There the best lane stores NCHW images channels-last in memory instead.
"""

import os

import keras

# XLA's newer convolutions on a CPU are slower than its older ones: twice as slow in training.
OLDER_CONVOLUTIONS = "--xla_cpu_experimental_ynn_fusion_type=-individual_convolution"


def switch(lane, threads):
    """Set the switches of the backend in use; return those in force."""
    backend = keras.config.backend()
    of_backend = {"tensorflow": of_tensorflow, "jax": of_jax, "torch": of_torch}[backend]
    return dict(of_backend(lane == "best", threads), backend=backend)


def of_tensorflow(best, threads):
    """TensorFlow's; without oneDNN it has no NCHW convolutions on a CPU."""
    import tensorflow as tf
    from tensorflow.python.util._pywrap_util_port import IsMklEnabled  # it has no public name

    gpus = tf.config.list_physical_devices("GPU")
    for device in gpus:
        tf.config.experimental.set_memory_growth(device, True)  # not all of it at once
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    # In the backward pass, a layer's gradients of kernel and images do not wait for each other. Two
    # operations at once keep more than ``threads`` cores busy if the machine has more.
    at_once = threads if best and threads == os.cpu_count() else 1
    tf.config.threading.set_inter_op_parallelism_threads(at_once)
    tf.config.experimental.enable_tensor_float_32_execution(False)  # on by default
    os.environ["TF_CUDNN_USE_AUTOTUNE"] = "1" if best else "0"  # read when a kernel is made
    return {
        "device": "cuda" if gpus else "cpu",
        "layout": "NHWC" if best or not (gpus or IsMklEnabled()) else "NCHW",
        "backend_version": tf.__version__,
        "threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "threads_between_operations": tf.config.threading.get_inter_op_parallelism_threads(),
        "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] == "1",
        "onednn": IsMklEnabled(),
        "not_in_force": [] if gpus else ["tf32", "autotune"],
    }


def of_jax(best, threads):
    """JAX's; the first device that it makes reads both environment variables, once."""
    import jax

    os.environ.setdefault("NPROC", str(threads))
    flags = OLDER_CONVOLUTIONS if best else "--xla_gpu_autotune_level=0"
    os.environ.setdefault("XLA_FLAGS", flags)
    gpu = jax.default_backend() == "gpu"
    jax.config.update("jax_default_matmul_precision", "highest")
    return {
        "device": "cuda" if gpu else "cpu",
        "layout": "NHWC" if best else "NCHW",
        "backend_version": jax.__version__,
        "threads": int(os.environ["NPROC"]),
        "tf32": jax.config.jax_default_matmul_precision != "highest",
        "autotune": "autotune_level=0" not in os.environ["XLA_FLAGS"],
        "ynn_convolution": "-individual_convolution" not in os.environ["XLA_FLAGS"],
        "pool": "comparisons" if best and not gpu else "windows",
        "not_in_force": ["ynn_convolution"] if gpu else ["tf32", "autotune"],
    }


def of_torch(best, threads):
    """PyTorch's."""
    import torch

    gpu = torch.cuda.is_available()
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    # cuDNN takes TF32 by default, and PyTorch 2.11 does so even if torch.backends says "ieee".
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    torch.backends.cudnn.rnn.fp32_precision = "ieee"
    torch.backends.cudnn.benchmark = best  # autotune
    precisions = (
        torch.backends.cuda.matmul.fp32_precision,
        torch.backends.cudnn.conv.fp32_precision,
    )
    return {
        "device": "cuda" if gpu else "cpu",
        "layout": "NCHW",
        "memory_format": "channels_last" if best else "contiguous",
        "backend_version": torch.__version__,
        "threads": torch.get_num_threads(),
        "tf32": "tf32" in precisions,
        "autotune": torch.backends.cudnn.benchmark,
        "not_in_force": [] if gpu else ["tf32", "autotune"],
    }


def stored(images, settings):
    """The images in the memory format of the settings, which PyTorch's layers keep."""
    if settings.get("memory_format") != "channels_last":
        return images
    import torch

    return torch.from_numpy(images).to(memory_format=torch.channels_last)
