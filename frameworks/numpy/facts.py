"""NumPy, the reference, and CuPy, which runs the same modules on a GPU."""

from frameworks.facts import IDLE_BLAS_SLEEPS, Environment, Framework

NUMPY = Environment(
    "numpy",
    "NumPy, from scratch",
    "numpy",
    environ={"ARRAY_MODULE": "numpy"},
    threads_from=("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    best_environ=IDLE_BLAS_SLEEPS,
    mixed_anywhere=True,
)
CUPY = Environment(
    "cupy",
    "CuPy, from scratch",
    "cupy",
    requirements="requirements-cupy.txt",
    environ={"ARRAY_MODULE": "cupy"},
    mixed_on_gpu=True,
    mixed_anywhere=True,
    gpu_of="numpy",
)

FRAMEWORK = Framework([NUMPY, CUPY], reference=True)
