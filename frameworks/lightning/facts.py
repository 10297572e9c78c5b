"""Lightning on PyTorch: what is known before it is imported."""

from frameworks.facts import OF_MKL, Environment, Framework

LIGHTNING = Environment(
    "lightning",
    "Lightning on PyTorch",
    "lightning",
    profiler="pytorch",
    newer_mkl=True,
    threads_from=OF_MKL,
    workers_of="lightning",
)

FRAMEWORK = Framework([LIGHTNING], endings=(".ckpt",))
