"""The Rosetta Stone: one folder per framework, and here the facts about each.

This file imports no framework and nothing of the project; ``common/system/modules.py`` imports the
module that it is asked for.
"""

import ctypes
import shutil
from collections import OrderedDict, namedtuple

Framework = namedtuple(
    "Framework",
    "name title folder variant package python system environ best_environ amd_environ endings "
    "onnx gpu",
)
Framework.__doc__ = """What is known of a framework before it is imported.

name: the name on the command line and of the tox environment.
title: the name its makers use.
folder: where its modules stand, a file for each model: ``frameworks/FOLDER/MODEL.py``.
variant: what follows MODEL in the file's name, where a folder holds two idioms of one framework.
package: the import name of the library, whose ``__version__`` is reported.
python: the interpreter that it is run on, as ``tox.ini`` has it.
system: what it needs beyond pip: Debian packages, each with the program or library it is for.
environ: environment variables that must be set before it is imported.
best_environ: those of lane best, that a process must be started with.
amd_environ: further ones of lane best, on an AMD processor alone.
endings: of the framework's own files of weights, which ``frameworks/FOLDER/native.py`` reads.
onnx: whether ``frameworks/FOLDER/export.py`` writes its networks as ONNX.
gpu: whether it is asked for by name on a machine with a GPU, and left out everywhere else.
"""


# Of each folder's own files of weights.
ENDINGS = {
    "pytorch": (".pt", ".pth"),
    "tensorflow": (".ckpt", ".saved_model"),
    "tensorflow1": (".ckpt",),
    "keras": (".keras", ".weights.h5"),
    "keras2": (".h5",),
    "mxnet": (".params",),
    "cntk": (".model",),
    "caffe2": (".pb",),
    "chainer": (".chainer.npz",),  # .npz alone is the file that all share
    "theano": (".pkl",),
}

ONNX = ("pytorch", "keras-torch", "mxnet", "mxnet-module", "cntk", "caffe2", "chainer")


def _framework(
    name,
    title,
    package,
    python="3.11",
    folder=None,
    variant="",
    system=None,
    environ=None,
    best_environ=None,
    amd_environ=None,
    gpu=False,
):
    folder = folder or name
    system, environ = system or {}, environ or {}
    best_environ, amd_environ = best_environ or {}, amd_environ or {}
    endings = ENDINGS.get(folder, ())
    onnx = name in ONNX
    return name, Framework(
        name,
        title,
        folder,
        variant,
        package,
        python,
        system,
        environ,
        best_environ,
        amd_environ,
        endings,
        onnx,
        gpu,
    )


MPI = {"libopenmpi3": "libmpi.so.40"}
COMPILER = {"g++": "g++"}

# On a CPU without VNNI, BF16 or AMX TensorFlow leaves oneDNN off, and has then no NCHW convolution.
ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "1"}
# The first is read when Keras is imported. The second is TensorFlow's: errors, none of its notes.
KERAS_TENSORFLOW = dict(ONEDNN, KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="2")

# OpenBLAS's threads wait for the next product in a busy loop, where others want to work meanwhile:
# 2^26 clock cycles by default, here 2^4.
IDLE_BLAS_SLEEPS = {"OPENBLAS_THREAD_TIMEOUT": "4"}
# MKL's own test of the processor, in its releases up to 2020, asks who made it before it asks what
# it can do. This says: one with AVX2.
INTEL_MKL = {"MKL_DEBUG_CPU_TYPE": "5"}
# Takes the place of GNU's OpenMP, with which MXNet was built; from pip's intel-openmp.
INTEL_OPENMP = {"LD_PRELOAD": "libiomp5.so"}

FRAMEWORKS = OrderedDict(
    [
        _framework(
            "numpy",
            "NumPy, from scratch",
            "numpy",
            environ={"ARRAY_MODULE": "numpy"},
            best_environ=IDLE_BLAS_SLEEPS,
        ),
        _framework(
            "cupy",
            "CuPy, from scratch",
            "cupy",
            folder="numpy",
            environ={"ARRAY_MODULE": "cupy"},
            gpu=True,
        ),
        _framework("pytorch", "PyTorch", "torch"),
        _framework("tensorflow", "TensorFlow", "tensorflow", environ=ONEDNN),
        _framework(
            "tensorflow-cuda",
            "TensorFlow",
            "tensorflow",
            folder="tensorflow",
            environ=ONEDNN,
            gpu=True,
        ),
        _framework(
            "tensorflow1", "TensorFlow 1", "tensorflow", python="3.7", amd_environ=INTEL_MKL
        ),
        _framework("keras", "Keras 3 on TensorFlow", "keras", environ=KERAS_TENSORFLOW),
        _framework(
            "keras-cuda",
            "Keras 3 on TensorFlow",
            "keras",
            folder="keras",
            environ=KERAS_TENSORFLOW,
            gpu=True,
        ),
        _framework(
            "keras-jax",
            "Keras 3 on JAX",
            "keras",
            folder="keras",
            environ={"KERAS_BACKEND": "jax"},
        ),
        _framework(
            "keras-jax-cuda",
            "Keras 3 on JAX",
            "keras",
            folder="keras",
            environ={"KERAS_BACKEND": "jax"},
            gpu=True,
        ),
        _framework(
            "keras-torch",
            "Keras 3 on PyTorch",
            "keras",
            folder="keras",
            environ={"KERAS_BACKEND": "torch"},
        ),
        _framework(
            "keras-cntk",
            "Keras 2 on CNTK",
            "keras",
            python="3.6",
            folder="keras2",
            system=MPI,
            environ={"KERAS_BACKEND": "cntk"},
            amd_environ=INTEL_MKL,
        ),
        _framework(
            "keras-theano",
            "Keras 2 on Theano",
            "keras",
            python="3.8",
            folder="keras2",
            system=COMPILER,
            environ={"KERAS_BACKEND": "theano"},
        ),
        _framework("mxnet", "MXNet, Gluon", "mxnet", best_environ=INTEL_OPENMP),
        _framework("mxnet-cuda", "MXNet, Gluon", "mxnet", folder="mxnet", gpu=True),
        _framework(
            "mxnet-module",
            "MXNet, Module",
            "mxnet",
            folder="mxnet",
            variant="_module",
            best_environ=INTEL_OPENMP,
        ),
        _framework("cntk", "CNTK", "cntk", python="3.6", system=MPI, amd_environ=INTEL_MKL),
        _framework("caffe2", "Caffe2", "torch", python="3.9", amd_environ=INTEL_MKL),
        _framework("chainer", "Chainer", "chainer", python="3.7", amd_environ=INTEL_MKL),
        _framework("chainer-cuda", "Chainer", "chainer", python="3.9", folder="chainer", gpu=True),
        _framework("theano", "Theano", "theano", python="3.9", system=COMPILER),
    ]
)

# Those whose products of bfloat16 a GPU computes, too.
MIXED_ON_GPU = ("cupy", "pytorch", "keras-jax-cuda", "keras-torch")

# Those that are shown as workers which share a batch (``frameworks/FOLDER/workers.py``), and the
# tox environment that has what they need for it.
WORKERS = OrderedDict([("pytorch", "pytorch"), ("chainer", "chainer-mpi")])
# Of that environment alone.
MPI_COMPILER = {"libopenmpi-dev": "mpicc"}


def for_gpu(name):
    """The name of the environment that runs ``name``'s module on a GPU; None if there is none."""
    variant = "cupy" if name == "numpy" else name + "-cuda"
    return variant if variant in FRAMEWORKS else None


# Models that are another one at another size, and have its modules.
SIZES = {"resnet152": "resnet", "alexnet": "pose"}


def path(framework, model="cnn"):
    """The file of ``framework``'s module for a model, from the project's root on."""
    file = SIZES.get(model, model)
    return "frameworks/%s/%s%s.py" % (framework.folder, file, framework.variant)


def missing(system):
    """Those Debian packages of ``system``, as a framework has it, that this machine lacks."""

    def found(file):
        try:
            return bool(shutil.which(file) or ctypes.CDLL(file))
        except OSError:
            return False

    return [package for package, file in system.items() if not found(file)]
