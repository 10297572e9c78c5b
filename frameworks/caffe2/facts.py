"""Caffe2, which was last shipped inside PyTorch: what is known before it is imported."""

from frameworks.facts import INTEL_MKL, Environment, Framework

CAFFE2 = Environment(
    "caffe2",
    "Caffe2",
    "torch",
    python="3.9",
    # Its kernels are for GPUs up to Volta: on a newer one, the first step would end in an error.
    set_env={"CUDA_VISIBLE_DEVICES": "{env:CUDA_VISIBLE_DEVICES:}"},
    amd_environ=INTEL_MKL,
    onnx=True,
    workers_of="caffe2",
)

FRAMEWORK = Framework([CAFFE2], endings=(".pb",), maintained=False)
