"""MLX: what is known before it is imported."""

from frameworks.facts import COMPILER, Environment, Framework

# The BLAS in MLX's wheel for Linux is the reference implementation; this takes its place.
OPENBLAS = {"LD_PRELOAD": "libopenblas.so.0"}

MLX = Environment(
    "mlx",
    "MLX",
    "mlx",
    system=dict(COMPILER, libopenblas0="libopenblas.so.0"),  # mx.compile does nothing without g++
    set_env=OPENBLAS,
    workers_of="mlx",
)
CUDA = Environment("mlx-cuda", "MLX", "mlx", requirements="requirements-cuda.txt", gpu_of="mlx")

FRAMEWORK = Framework([MLX, CUDA], endings=(".mlx.safetensors", ".mlx.npz"))
