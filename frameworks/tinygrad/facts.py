"""tinygrad: what is known before it is imported."""

from frameworks.facts import Environment, Framework

# A kernel is compiled once for each shape, by clang; those of a certificate take a minute or two
# of two cores. Kernels in this file are not compiled again, by other processes either.
CACHE = {"CACHEDB": "{env_dir}/tinygrad.db"}
NVRTC = {"LD_LIBRARY_PATH": "{env_dir}/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib"}

TINYGRAD = Environment(
    "tinygrad",
    "tinygrad",
    "tinygrad",
    system={"clang": "clang"},
    set_env=CACHE,
    environ={"DEV": "CPU"},  # without it, tinygrad takes a GPU if there is one
)
CUDA = Environment(
    "tinygrad-cuda",
    "tinygrad",
    "tinygrad",
    requirements="requirements-cuda.txt",
    set_env=dict(CACHE, **NVRTC),
    environ={"DEV": "CUDA"},
    gpu_of="tinygrad",
)

FRAMEWORK = Framework([TINYGRAD, CUDA], endings=(".tinygrad.safetensors",))
