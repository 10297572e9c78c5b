"""PaddlePaddle: what is known before it is imported."""

from frameworks.facts import INTEL_MKL, Environment, Framework

PADDLE = Environment(
    "paddle", "PaddlePaddle", "paddle", onnx=True, workers_of="paddle", amd_environ=INTEL_MKL
)
# Not tested on any GPU.
CUDA = PADDLE._replace(
    name="paddle-cuda",
    onnx=False,
    requirements="requirements-cuda.txt",
    without=("gpt", "llama"),  # its attention on a GPU takes no float32
    profiled=False,
    gpu_of="paddle",
    workers_of="",
)

FRAMEWORK = Framework([PADDLE, CUDA], endings=(".pdparams",))
