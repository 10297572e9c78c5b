"""TensorFlow 1: what is known before it is imported."""

from frameworks.facts import INTEL_MKL, OLD_OPENBLAS, Environment, Framework

TENSORFLOW1 = Environment(
    "tensorflow1",
    "TensorFlow 1",
    "tensorflow",
    python="3.7",
    set_env=OLD_OPENBLAS,
    profiler="tensorflow",
    amd_environ=INTEL_MKL,
)

FRAMEWORK = Framework([TENSORFLOW1], endings=(".ckpt",), maintained=False)
