"""PyTorch: what is known before it is imported."""

from frameworks.facts import OF_MKL, Environment, Framework

PYTORCH = Environment(
    "pytorch",
    "PyTorch",
    "torch",
    onnx=True,
    mixed_on_gpu=True,
    newer_mkl=True,
    threads_from=OF_MKL,
    workers_of="pytorch",
)

FRAMEWORK = Framework([PYTORCH], endings=(".pt", ".pth"))
