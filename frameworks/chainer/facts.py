"""Chainer: what is known before it is imported."""

from frameworks.facts import (
    INTEL_MKL,
    MPI_COMPILER,
    OLD_OPENBLAS,
    Environment,
    Framework,
    cuda11_path,
)


def constrained(file):
    """pip's own constraint, too: Chainer's setup.py needs an old setuptools.

    From the root, where tox starts pip; its absolute path may have a space, where pip splits it.
    """
    return {"PIP_CONSTRAINT": "frameworks/chainer/" + file}


CHAINER = Environment(
    "chainer",
    "Chainer",
    "chainer",
    python="3.7",
    set_env=dict(OLD_OPENBLAS, **constrained("requirements.txt")),
    amd_environ=INTEL_MKL,
    onnx=True,
)
CUDA = Environment(
    "chainer-cuda",
    "Chainer",
    "chainer",
    python="3.9",
    requirements="requirements-cuda.txt",
    set_env=dict(
        constrained("requirements-cuda.txt"),
        CUDA_PATH="{env_dir}/lib/python3.9/site-packages/nvidia/cuda_runtime",  # headers
        **cuda11_path("3.9"),
    ),
    gpu_of="chainer",
)
# Workers that share a batch, started by mpiexec: common/system/workers.py.
WORKERS = CHAINER._replace(
    name="chainer-mpi",
    requirements="requirements-mpi.txt",
    system=MPI_COMPILER,
    set_env=dict(
        CHAINER.set_env,
        PIP_NO_CACHE_DIR="1",  # a wheel that was compiled for another MPI would not do
    ),
    workers_of="chainer",
)

FRAMEWORK = Framework(
    [CHAINER, CUDA, WORKERS],
    endings=(".chainer.npz",),  # .npz is the canonical file's
    maintained=False,
)
