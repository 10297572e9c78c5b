"""PyTorch: what is known before it is imported."""

from frameworks.facts import Environment, Framework

PYTORCH = Environment(
    "pytorch",
    "PyTorch",
    "torch",
    onnx=True,
    mixed_on_gpu=True,
    newer_mkl=True,
    workers_of="pytorch",
)

FRAMEWORK = Framework([PYTORCH], endings=(".pt", ".pth"))
