"""Keras 3 on each of its backends: what is known before it is imported."""

from frameworks.facts import (
    OF_MKL,
    OF_TF,
    OF_XLA,
    OLDER_CONVOLUTIONS,
    SHARED_GPU,
    Environment,
    Framework,
)

TENSORFLOW = Environment(
    "keras",
    "Keras 3 on TensorFlow",
    "keras",
    requirements="requirements-tensorflow.txt",
    environ={
        "KERAS_BACKEND": "tensorflow",
        "TF_ENABLE_ONEDNN_OPTS": "1",  # see ../tensorflow/facts.py
        "TF_CPP_MIN_LOG_LEVEL": "2",  # TensorFlow prints errors, but not its notes
    },
    threads_from=OF_TF,
    forget="frameworks.tensorflow.graphs:forget",
    profiler="tensorflow",
)
JAX = Environment(
    "keras-jax",
    "Keras 3 on JAX",
    "keras",
    requirements="requirements-jax.txt",
    environ={"KERAS_BACKEND": "jax"},
    flags=OLDER_CONVOLUTIONS,
    threads_from=OF_XLA,
    mixed_on_cpu=False,  # there, XLA sums the gradients of biases in bfloat16
    forget="jax:clear_caches",
    workers_of="keras-jax",
    profiler="jax",
)
TORCH = Environment(
    "keras-torch",
    "Keras 3 on PyTorch",
    "keras",
    requirements="requirements-torch.txt",
    environ={"KERAS_BACKEND": "torch"},
    threads_from=OF_MKL,
    newer_mkl=True,
    profiler="pytorch",
    onnx=True,
    mixed_on_gpu=True,
)
FIT = TENSORFLOW._replace(
    name="keras-fit",
    title="Keras 3, fit on TensorFlow",
    requirements="requirements-fit.txt",
    variant="_fit",
)
TENSORFLOW_CUDA = TENSORFLOW._replace(
    name="keras-cuda",
    requirements="requirements-tensorflow-cuda.txt",
    gpu_of="keras",
    profiled=False,
)
JAX_CUDA = JAX._replace(
    name="keras-jax-cuda",
    workers_of="",
    requirements="requirements-jax-cuda.txt",
    set_env=dict(JAX.set_env, **SHARED_GPU),
    profiled=False,
    mixed_on_gpu=True,
    gpu_of="keras-jax",
)

FRAMEWORK = Framework(
    [TENSORFLOW, TENSORFLOW_CUDA, JAX, JAX_CUDA, TORCH, FIT],
    endings=(".keras", ".weights.h5"),
    downloads=(".keras/datasets", ".keras/datasets/cifar-10-batches-py-target"),
)
