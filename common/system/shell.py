"""The variables that the user's shell sets for maths libraries.

tox does not pass these variables to the environments. Commands that need them read them from one
variable, SHELL.
"""

import os
from urllib.parse import parse_qsl, urlencode

import frameworks

SHELL = "ROSETTA_SHELL"  # the variables as a query string, because braces mean something to tox
# Variables with these beginnings set the threads, the kernels or the memory of maths libraries, or
# what a framework compiles.
PREFIXES = (
    "ATEN_ BLIS_ DNNL_ FLAGS_ GOMP_ GOTO_ JAX_ KMP_ LD_PRELOAD MALLOC_ MKLDNN_ MKL_ MXNET_ "
    "NPROC NUMEXPR_ OMP_ ONEDNN_ OPENBLAS_ TF_DISABLE_ TF_ENABLE_ TF_NUM_ TF_XLA_ VECLIB_ XLA_ "
    "GLIBC_TUNABLES"
).split()


COMPILERS = "_FLAGS"  # the end of a variable that chooses a BLAS and a compiler
BYTES = "surrogateescape"  # a path may be any bytes
CARRIED = "PYTHONPATH"  # tox sets its own; the user's may be where the framework is


def tunes(name):
    """Whether an environment variable tunes a maths library or a framework."""
    return name.startswith(tuple(PREFIXES)) or name in _frameworks_variables()


def _frameworks_variables():
    environments = frameworks.ENVIRONMENTS.values()
    parts = [
        getattr(environment, part)
        for environment in environments
        for part in ("environ", "best_environ", "amd_environ")
    ]
    names = {name for part in parts for name in part}
    for environment in environments:
        names.update(name for name in environment.set_env if name.endswith(COMPILERS))
    return names


def variables():
    """{variable: value}: what tunes maths libraries in the user's shell, and CARRIED.

    tox gives it in one variable, and withholds the others. Without tox the shell is at hand.
    """
    if SHELL in os.environ:
        return dict(parse_qsl(os.environ[SHELL], keep_blank_values=True, errors=BYTES))
    return {name: value for name, value in os.environ.items() if tunes(name) or name == CARRIED}


def text():
    """``variables`` in the form that ``SHELL`` has."""
    return urlencode(variables(), errors=BYTES)


def keep():
    """Keep the shell's variables for children, before this process sets threads for itself."""
    os.environ[SHELL] = text()
