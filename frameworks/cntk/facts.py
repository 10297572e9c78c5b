"""CNTK: what is known before it is imported."""

from frameworks.facts import (
    INTEL_MKL,
    MPI_LAUNCHER,
    OLD_OPEN_MPI_PATH,
    OLD_OPENBLAS,
    OPEN_MPI,
    Environment,
    Framework,
    link_old_open_mpi,
)

CNTK = Environment(
    "cntk",
    "CNTK",
    "cntk",
    python="3.6",
    system=dict(OPEN_MPI, **MPI_LAUNCHER),
    set_env=dict(OLD_OPENBLAS, **OLD_OPEN_MPI_PATH),
    prepare=link_old_open_mpi,
    amd_environ=INTEL_MKL,
    onnx=True,
    workers_of="cntk",
)

FRAMEWORK = Framework([CNTK], endings=(".model",), maintained=False)
