"""MXNet, with Gluon and with its older Module: what is known before it is imported."""

from frameworks.facts import INTEL_OPENMP, LIBRARIES_OF_PIP, Environment, Framework, cuda11_path

GLUON = Environment(
    "mxnet",
    "MXNet, Gluon",
    "mxnet",
    set_env=LIBRARIES_OF_PIP,
    best_environ=INTEL_OPENMP,
    onnx=True,
    workers_of="mxnet",
)
MODULE = GLUON._replace(
    name="mxnet-module", title="MXNet, Module", variant="_module", workers_of=""
)
CUDA = Environment(
    "mxnet-cuda",
    "MXNet, Gluon",
    "mxnet",
    requirements="requirements-cuda.txt",
    set_env=cuda11_path("3.11"),
    gpu_of="mxnet",
)

FRAMEWORK = Framework([GLUON, CUDA, MODULE], endings=(".params",), maintained=False)
