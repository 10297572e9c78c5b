"""tinygrad: what is known before it is imported."""

from frameworks.facts import Environment, Framework

# It compiles each kernel once for each shape: minutes, unless they are in this file already.
CACHE = {"CACHEDB": "{env_dir}/tinygrad.db"}

TINYGRAD = Environment(
    "tinygrad",
    "tinygrad",
    "tinygrad",
    system={"clang": "clang"},
    set_env=CACHE,
    environ={"DEV": "CPU"},  # without it, any GPU is taken
)

FRAMEWORK = Framework([TINYGRAD], endings=(".tinygrad.safetensors",))
