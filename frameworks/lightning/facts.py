"""Lightning on PyTorch: what is known before it is imported."""

from frameworks.facts import Environment, Framework

LIGHTNING = Environment(
    "lightning",
    "Lightning on PyTorch",
    "lightning",
    profiler="pytorch",
    newer_mkl=True,
    workers_of="lightning",
)

FRAMEWORK = Framework([LIGHTNING], endings=(".ckpt",))
