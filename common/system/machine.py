"""Facts about the machine, and the versions of libraries in this process."""

import functools
import math
import os
import platform
import re
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import numpy as np

from common.system import ALLOWED, cgroup, mkl


def allowed_cores():
    """The numbers of the logical cores on which this process may run."""
    return ALLOWED or list(range(os.cpu_count()))


@contextmanager
def running_on(cores):
    """Bind this thread, and children that it starts, to these cores, where a system can do that."""
    if ALLOWED is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cores_without_binding():
    """The number of logical cores to which this process could bind itself."""
    if ALLOWED is None:
        return os.cpu_count()
    with suppress(OSError), running_on(range(os.cpu_count())):
        return len(os.sched_getaffinity(0))
    return len(os.sched_getaffinity(0))


def usable_cores():
    """The number of logical cores that this process can keep busy.

    A container may be allowed on all cores, but only for a share of their time. Then more threads
    than that would stop each other.
    """
    quota = cgroup.cpus()
    allowed = len(allowed_cores())
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
OBEYED = (
    "ROSETTA_THREADS"  # those that the framework in a user's interpreter obeys, the strongest first
)
OWN = "ROSETTA_PYTHON"  # set in an interpreter of the user's: see interpreter.py


def asked_threads(environ=os.environ):
    """The number of threads that a shell's variables ask for; None if they ask for none."""
    for name in environ.get(OBEYED, " ".join(THREADS)).split():
        number = environ.get(name, "").partition(",")[0].strip()
        if number.isdigit() and int(number):
            return int(number)
    return None


def default_threads():
    """One thread per core; in the user's interpreter, what the user's shell asks for."""
    return (OWN in os.environ and asked_threads()) or usable_cores()


def limit_threads(threads):
    """Limit every maths library to ``threads`` threads.

    Libraries read these variables when they are loaded. NumPy is already loaded, so threadpoolctl
    limits it.
    """
    for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR"):
        os.environ[name + "_NUM_THREADS"] = str(threads)
    import threadpoolctl

    threadpoolctl.threadpool_limits(limits=threads)


# glibc returns large freed buffers to the system, and the next step faults them in again, page by
# page. With higher thresholds it keeps them; but threads other than the first have heaps of 64 MiB
# and return whatever is larger, so they share the first thread's heap. glibc reads these variables
# when a process starts.
KEEP_FREED_MEMORY = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**28),
}


# Variables that make maths libraries use the code for another processor.
CPU_SWITCHES = (
    "ATEN_CPU_CAPABILITY",
    "DNNL_MAX_CPU_ISA",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
)


def restart_with(environ, module, arguments):
    """Restart ``python -m module`` with ``environ`` added, unless it is already set."""
    if any(os.environ.get(name) != value for name, value in environ.items()):
        command = [sys.executable, "-m", module] + arguments
        os.execve(sys.executable, command, dict(os.environ, **environ))


def _cpuinfo(field):
    """The first core's value of a field in /proc/cpuinfo; None if there is none."""
    try:
        with open("/proc/cpuinfo") as file:
            return re.search(r"^%s\s*: (.*)" % field, file.read(), re.MULTILINE).group(1)
    except (OSError, AttributeError):
        return None


def is_amd():
    """Whether AMD made the processor; some of Intel's libraries run old code on these."""
    return _cpuinfo("vendor_id") == "AuthenticAMD"


def cpu():
    """The processor's name."""
    named = _cpuinfo("model name") or _brand() or platform.processor() or platform.machine()
    arm = [_cpuinfo("CPU " + field) for field in ("implementer", "part", "variant")]
    return named if None in arm else "%s %s" % (named, " ".join(arm))  # ARM gives numbers, no name


def _brand():
    """The processor's name on macOS; None elsewhere."""
    with suppress(OSError, subprocess.SubprocessError):
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.check_output(command, stderr=subprocess.DEVNULL).decode().strip() or None


# The instruction sets that decide how fast a CPU multiplies, by their flags in /proc/cpuinfo.
INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16")


def identity():
    """The CPU's family, model and instruction sets, which its name may not tell; {} if unknown.

    Two generations of server CPUs may have one name in a virtual machine.
    """
    flags = _cpuinfo("flags")
    known = {"cpu_family": _cpuinfo("cpu family"), "cpu_model": _cpuinfo("model")}
    if flags is None or None in known.values():
        return {}
    sets = [name for name in INSTRUCTION_SETS if name in flags.split()]
    return dict(cpu_family=int(known["cpu_family"]), cpu_model=int(known["cpu_model"]), isa=sets)


def takes_bfloat16(on_gpu):
    """Whether frameworks can multiply bfloat16 here: oneDNN needs a CPU with AVX-512.

    True if the CPU's flags are unknown. on_gpu: a GPU is enough, too.
    """
    flags = _cpuinfo("flags")
    return flags is None or "avx512bw" in flags.split() or (on_gpu and has_gpu())


@functools.lru_cache(maxsize=None)  # it may take seconds
def _nvidia_smi():
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.check_output(query, stderr=subprocess.DEVNULL, timeout=60).decode()
    except (OSError, subprocess.SubprocessError):
        return ""


def has_gpu():
    """Whether this machine has an NVIDIA GPU."""
    return bool(_gpus())


def _gpus():
    """[{name, memory in MiB, driver}] of the NVIDIA GPUs, from nvidia-smi.

    Only those that ``CUDA_VISIBLE_DEVICES`` names by numbers, if it does.
    """
    rows = [line.split(", ") for line in _nvidia_smi().splitlines()]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and re.match(r"[-0-9, ]*$", visible):
        rows = [rows[int(n)] for n in re.findall(r"-?[0-9]+", visible) if 0 <= int(n) < len(rows)]
    return [{"name": row[0], "memory": row[1], "driver": row[2]} for row in rows]


TOPOLOGY = "/sys/devices/system/cpu/cpu%d/topology/%s"  # of a logical core


def physical_cores():
    """The number of physical cores on which this process may run; None if unknown."""
    with suppress(OSError):
        places = set()
        for core in allowed_cores():
            place = []
            for name in ("physical_package_id", "core_id"):
                with open(TOPOLOGY % (core, name)) as file:
                    place.append(file.read())
            places.add(tuple(place))
        return len(places)
    with suppress(ImportError):  # psutil is optional, because it needs a compiler or a wheel
        import psutil

        return psutil.cpu_count(logical=False)
    return None


def memory():
    """Bytes of memory of the machine."""
    with suppress(ImportError):
        import psutil

        return psutil.virtual_memory().total
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def facts():
    """The machine, as a dict of JSON values."""
    return {
        "cpu": cpu(),
        **identity(),
        "cores": usable_cores(),
        "physical_cores": physical_cores(),
        "memory_bytes": memory(),
        "gpus": _gpus(),
        "system": platform.platform(),
        **environment(),
    }


def environment():
    """The environment variables that change the allocator or the libraries' choice of code."""
    chosen = ("MALLOC_", "GLIBC_TUNABLES")
    allocator = [key for key in sorted(os.environ) if key.startswith(chosen)]
    switches = {key: os.environ[key] for key in CPU_SWITCHES if key in os.environ}
    if mkl.in_force(os.environ):
        switches["LD_PRELOAD"] = mkl.LIBRARY  # its path would name a user's folder
    return {
        "allocator": {key: os.environ[key] for key in allocator},
        "cpu_switches": switches,
    }


def described(facts):
    """The machine in one line, for people."""
    gpus = "".join(", " + gpu["name"] for gpu in facts["gpus"])
    return "%s, %d cores%s" % (facts["cpu"], facts["cores"], gpus)


def folder_name(facts):
    """A folder name for this kind of machine: its GPU, or else its CPU, and the cores.

    Older facts have no CPU family, and their folders are named without it.
    """
    name = facts["gpus"][0]["name"] if facts["gpus"] else facts["cpu"]
    name = re.sub(r"\((R|TM|tm)\)|CPU|Processor|@.*", " ", name)
    words = re.findall(r"[a-z0-9.]+", name.lower())
    if "cpu_family" in facts and not facts["gpus"]:
        words += ["%d.%d" % (facts["cpu_family"], facts["cpu_model"])]
        words += [newest.replace("_", ".") for newest in facts["isa"][-1:]]
    return "-".join(words + ["%d" % facts["cores"], "cores"])


WHEEL = r"-packages/numpy(\.libs)?/"  # where a BLAS is that NumPy brings


def versions(package):
    """The versions of Python, NumPy, the BLAS of NumPy, and the library ``package``."""
    import threadpoolctl

    version = getattr(sys.modules.get(package), "__version__", None)
    if version is None:  # it has none, or is a part of another package that does not import it
        version = "unknown"
        with suppress(ImportError):  # not there before Python 3.8, or another package has it
            from importlib.metadata import version as installed

            version = installed(package)
    known = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "framework": str(version),
    }
    found = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]
    own = [library for library in found if re.search(WHEEL, library["filepath"])]
    if not own and len(found) == 1 and "-packages/" not in found[0]["filepath"]:
        own = found  # conda's, or the system's
    for library in own:
        # An old BLAS that does not know a new CPU may use code for a very old one.
        words = (library["internal_api"], library["version"], library.get("architecture"))
        known["blas"] = " ".join(word for word in words if word)
    return known


def float32_product(size):
    """A function that computes a matrix product with NumPy."""
    a = np.ones((size, size), np.float32)
    return functools.partial(np.matmul, a, a, out=np.empty_like(a))


def matmul_flops(product=float32_product):
    """Floating-point operations per second of a matrix product; the best of five.

    This is the yardstick for a CPU: training speed as a share of it says more than seconds.
    """
    size = 2048
    multiply = product(size)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        multiply()
        seconds.append(time.perf_counter() - start)
    return 2.0 * size**3 / min(seconds)


def peak_memory():
    """Peak resident memory of this process in bytes; None if the system cannot tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
