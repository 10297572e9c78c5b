"""The Rosetta Stone: one folder per framework, and here the facts about each.

This module never imports a framework; ``load_module`` imports the one it is asked for.
"""

import ctypes
import importlib
import os
import shutil
import sys
from collections import OrderedDict, namedtuple

from common.errors import InputError

Framework = namedtuple("Framework", "name title module package python system environ")
Framework.__doc__ = """What is known of a framework before it is imported.

name: the name on the command line and of the tox environment.
title: the name its makers use.
module: the Python module with the six steps.
package: the import name of the library, whose ``__version__`` is reported.
python: the interpreter that it is run on, as ``tox.ini`` has it.
system: what it needs beyond pip: Debian packages, each with the program or library it is for.
environ: environment variables that must be set before it is imported.
"""


def _framework(name, title, package, python="3.11", module=None, system=None, environ=None):
    module = module or "frameworks.%s.cnn" % name
    return name, Framework(name, title, module, package, python, system or {}, environ or {})


MPI = {"libopenmpi3": "libmpi.so.40"}
COMPILER_AND_BLAS = {"g++": "g++", "libopenblas-dev": "libopenblas.so"}

FRAMEWORKS = OrderedDict(
    [
        _framework("numpy", "NumPy, from scratch", "numpy", environ={"ARRAY_MODULE": "numpy"}),
        _framework(
            "cupy",
            "CuPy, from scratch",
            "cupy",
            module="frameworks.numpy.cnn",
            environ={"ARRAY_MODULE": "cupy"},
        ),
        _framework("pytorch", "PyTorch", "torch"),
        _framework("tensorflow", "TensorFlow", "tensorflow"),
        _framework("tensorflow1", "TensorFlow 1", "tensorflow", python="3.7"),
        _framework(
            "keras",
            "Keras 3 on TensorFlow",
            "keras",
            environ={"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"},
        ),
        _framework(
            "keras-jax",
            "Keras 3 on JAX",
            "keras",
            module="frameworks.keras.cnn",
            environ={"KERAS_BACKEND": "jax"},
        ),
        _framework(
            "keras-torch",
            "Keras 3 on PyTorch",
            "keras",
            module="frameworks.keras.cnn",
            environ={"KERAS_BACKEND": "torch"},
        ),
        _framework(
            "keras-cntk",
            "Keras 2 on CNTK",
            "keras",
            python="3.6",
            module="frameworks.keras2.cnn",
            system=MPI,
            environ={"KERAS_BACKEND": "cntk"},
        ),
        _framework(
            "keras-theano",
            "Keras 2 on Theano",
            "keras",
            python="3.8",
            module="frameworks.keras2.cnn",
            system=COMPILER_AND_BLAS,
            environ={"KERAS_BACKEND": "theano"},
        ),
        _framework("mxnet", "MXNet, Gluon", "mxnet"),
        _framework("mxnet-module", "MXNet, Module", "mxnet", module="frameworks.mxnet.cnn_module"),
        _framework("cntk", "CNTK", "cntk", python="3.6", system=MPI),
        _framework("caffe2", "Caffe2", "torch", python="3.9"),
        _framework("chainer", "Chainer", "chainer", python="3.9"),
        _framework("theano", "Theano", "theano", python="3.9", system=COMPILER_AND_BLAS),
    ]
)


def find(name):
    """The facts of the framework called ``name``; InputError lists the known ones."""
    if name not in FRAMEWORKS:
        raise InputError("unknown framework %r; known: %s" % (name, ", ".join(FRAMEWORKS)))
    return FRAMEWORKS[name]


def path(framework):
    """The file of ``framework``'s module, from the project's root on."""
    return framework.module.replace(".", "/") + ".py"


def missing(system):
    """Those Debian packages of ``system``, as a framework has it, that this machine lacks."""

    def found(file):
        try:
            return bool(shutil.which(file) or ctypes.CDLL(file))
        except OSError:
            return False

    return [package for package, file in system.items() if not found(file)]


def load_module(name):
    """Import and return the module with the six steps of ``name``."""
    framework = find(name)
    if any(os.environ.get(name) != value for name, value in framework.environ.items()):
        # Read when the module is imported, so one imported for another framework will not do.
        os.environ.update(framework.environ)
        sys.modules.pop(framework.module, None)
    try:
        return importlib.import_module(framework.module)
    except ImportError as error:
        raise InputError(
            "%s cannot be imported here (%s); run it with: tox run -e %s"
            % (framework.title, error, name)
        )
