"""Keras 2 on two of its backends: what is known before it is imported."""

from frameworks.facts import (
    COMPILER,
    INTEL_MKL,
    LINKED_WITH_MKL,
    OLD_OPEN_MPI_PATH,
    OLD_OPENBLAS,
    OPEN_MPI,
    Environment,
    Framework,
    link_old_open_mpi,
)

THEANO_FLAGS = "base_compiledir={env_dir}/theano,blas.ldflags=-l:libmkl_rt.so.2,openmp=True"
OWN_CONFIGURATION = {"KERAS_HOME": "{env_dir}/keras"}

CNTK = Environment(
    "keras-cntk",
    "Keras 2 on CNTK",
    "keras",
    python="3.6",
    requirements="requirements-cntk.txt",
    system=OPEN_MPI,
    set_env=dict(OLD_OPENBLAS, **OLD_OPEN_MPI_PATH, **OWN_CONFIGURATION),
    prepare=link_old_open_mpi,
    environ={"KERAS_BACKEND": "cntk"},
    profiler="cntk",
    amd_environ=INTEL_MKL,
)
THEANO = Environment(
    "keras-theano",
    "Keras 2 on Theano",
    "keras",
    python="3.8",
    requirements="requirements-theano.txt",
    system=COMPILER,
    set_env=dict(LINKED_WITH_MKL, THEANO_FLAGS=THEANO_FLAGS, **OWN_CONFIGURATION),
    environ={"KERAS_BACKEND": "theano"},
    newer_mkl=True,
    profiler="theano",
)

FRAMEWORK = Framework([CNTK, THEANO], endings=(".h5",), maintained=False)
