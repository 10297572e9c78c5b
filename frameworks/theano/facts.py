"""Theano: what is known before it is imported."""

from frameworks.facts import COMPILER, LINKED_WITH_MKL, Environment, Framework

FLAGS = "base_compiledir={env_dir}/theano,blas.ldflags=-l:libmkl_rt.so.2,openmp=True"

THEANO = Environment(
    "theano",
    "Theano",
    "theano",
    python="3.9",
    system=COMPILER,
    set_env=dict(LINKED_WITH_MKL, THEANO_FLAGS=FLAGS),
    newer_mkl=True,
)

FRAMEWORK = Framework([THEANO], endings=(".pkl",), maintained=False)
