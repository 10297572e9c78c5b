"""PyTensor: what is known before it is imported."""

from frameworks.facts import COMPILER, LINKED_WITH_MKL, Environment, Framework

# In its configuration's order: where compiled code is kept, and the library of matrix products.
FLAGS = "base_compiledir={env_dir}/pytensor,blas__ldflags=-l:libmkl_rt.so.2"

PYTENSOR = Environment(
    "pytensor",
    "PyTensor",
    "pytensor",
    system=COMPILER,
    set_env=dict(LINKED_WITH_MKL, PYTENSOR_FLAGS=FLAGS),
    newer_mkl=True,
)

FRAMEWORK = Framework([PYTENSOR], endings=(".pytensor.npz",))
