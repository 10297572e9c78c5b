"""The types of a folder's ``facts.py``, and values that several folders share.

This file neither names a framework nor imports one.
"""

from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

from frameworks import open_mpi


class Environment(NamedTuple):
    """The facts that ``tox run -e NAME`` needs before the framework is imported."""

    name: str  # on the command line, and of the tox environment
    title: str  # the name that its makers use
    package: str  # the library's import name; its ``__version__`` is reported
    python: str = "3.11"
    requirements: str = "requirements.txt"  # the pins, in the framework's folder
    variant: str = ""  # follows MODEL in file names, for a second idiom in one folder
    system: Dict[str, str] = {}  # Debian packages, each with its program or library
    set_env: Dict[str, str] = {}  # variables in tox's syntax: {env_dir}, {env:NAME:default}
    prepare: Optional[Callable[[Any], None]] = None  # called with env_dir before each command
    environ: Dict[str, str] = {}  # must be set before the library is imported
    # What decides its number of threads in a user's process; where two do, the stronger one first.
    threads_from: Tuple[str, ...] = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    best_environ: Dict[str, str] = {}  # also set for a process in lane best
    amd_environ: Dict[str, str] = {}  # also set for lane best on an AMD processor
    # What its modules set in lane best where the variable is free. A version that does not know a
    # flag may abort, so a user's interpreter without the flag gets the variable as it is.
    flags: Dict[str, str] = {}
    newer_mkl: bool = False  # contains an MKL after 2020.0, which lane best changes on an AMD
    forget: str = ""  # a function, "module:name", that drops the compiled models that it keeps
    onnx: bool = False  # export.py writes this environment's networks as ONNX
    mixed_on_cpu: bool = True  # a CPU computes bf16.py's products, if the folder has that file
    mixed_on_gpu: bool = False  # a GPU computes them
    mixed_anywhere: bool = False  # bf16.py rounds by itself and needs no special processor
    gpu_of: str = ""  # the environment whose modules this one runs on a GPU
    without: Tuple[str, ...] = ()  # networks of the folder that its version of the library lacks
    profiled: bool = True  # whether profile.py reads the times of what it runs
    profiler: str = ""  # the folder whose operations.py fits its profiler, if not its own
    workers_of: str = ""  # the environment that this one runs as workers; it may be this one
    folder: str = ""  # set by discovery, like the next
    endings: Tuple[str, ...] = ()

    @property
    def gpu(self):
        """Whether it needs a GPU; such an environment is used only if it is named."""
        return bool(self.gpu_of)


class Framework(NamedTuple):
    """A folder: its environments, the usual one first, and facts that all of them share."""

    environments: Sequence[Environment]
    endings: Tuple[str, ...] = ()  # of its own weight files, which native.py reads
    downloads: Tuple[str, ...] = ()  # where it puts CIFAR-10 in the home folder
    reference: bool = False  # whether all others are compared with it
    maintained: bool = True  # False if there will be no further release


OPEN_MPI = {"libopenmpi3": "libmpi.so.40"}
MPI_LAUNCHER = {"openmpi-bin": "mpiexec"}
MPI_COMPILER = {"libopenmpi-dev": "mpicc"}
COMPILER = {"g++": "g++"}

# For a library linked with Open MPI 1.10: the current one under the old names.
OLD_OPEN_MPI_PATH = {"LD_LIBRARY_PATH": "{env_dir}/mpi"}
link_old_open_mpi = open_mpi.prepare

# Where pip puts OpenMP's and MKL's libraries.
LIBRARIES_OF_PIP = {"LD_LIBRARY_PATH": "{env_dir}/lib"}
# For a library that compiles code with GNU's compiler at run time, and links MKL.
LINKED_WITH_MKL = dict(LIBRARIES_OF_PIP, LIBRARY_PATH="{env_dir}/lib", MKL_THREADING_LAYER="GNU")

# What decides the threads of libraries that several frameworks contain: ``threads_from``.
OF_TF = ("TF_NUM_INTRAOP_THREADS",)
OF_XLA = ("NPROC",)
OF_MKL = ("MKL_NUM_THREADS", "OMP_NUM_THREADS")

# XLA's newer convolutions on a CPU are slower than its older ones.
OLDER_CONVOLUTIONS = {"XLA_FLAGS": "--xla_cpu_experimental_ynn_fusion_type=-individual_convolution"}
# XLA takes three quarters of a GPU's memory at its start: a bench and a proof need several clients.
SHARED_GPU = {"XLA_PYTHON_CLIENT_PREALLOCATE": "{env:XLA_PYTHON_CLIENT_PREALLOCATE:false}"}
# While OpenBLAS's threads wait for the next product, they spin for 2^26 clock cycles, which takes
# time from other threads. Here they spin for 2^4.
IDLE_BLAS_SLEEPS = {"OPENBLAS_THREAD_TIMEOUT": "4"}
# An old NumPy's OpenBLAS mistakes a newer CPU for a Pentium 4.
OLD_OPENBLAS = {"OPENBLAS_CORETYPE": "{env:OPENBLAS_CORETYPE:Haswell}"}
# MKL up to 2020 checks the processor's vendor, not only its instructions. This makes it use AVX2.
INTEL_MKL = {"MKL_DEBUG_CPU_TYPE": "5"}
# Replaces GNU's OpenMP; from pip's intel-openmp.
INTEL_OPENMP = {"LD_PRELOAD": "libiomp5.so"}


def cuda11_path(python):
    """Where pip's nvidia-*-cu11 packages put their libraries, for wheels that expect CUDA there."""
    libraries = (
        "cublas cuda_nvrtc cuda_runtime cudnn cufft curand cusolver cusparse nccl nvtx".split()
    )
    folder = "{env_dir}/lib/python%s/site-packages/nvidia/" % python
    return {"LD_LIBRARY_PATH": ":".join(folder + name + "/lib" for name in libraries)}
