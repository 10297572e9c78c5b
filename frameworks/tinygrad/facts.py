"""tinygrad: what is known before it is imported."""

from frameworks.facts import Environment, Framework

# Each kernel is written by Python and compiled by clang, once for each shape. Only clang's work is
# kept, in this file: the CNN's first step takes half a minute of two cores with it, too.
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
    profiled=False,
)

FRAMEWORK = Framework([TINYGRAD, CUDA], endings=(".tinygrad.safetensors",))
