"""What machine and which versions a run was made with."""

import functools
import os
import platform
import re
import subprocess
import sys
import time

import numpy as np
import psutil

BOOT_CLOCK = 7  # Linux's CLOCK_BOOTTIME, which Python has a name for since 3.7


def usable_cores():
    """Logical cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def limit_threads(threads):
    """Have every maths library that is imported after this use ``threads`` threads.

    Libraries read these variables once, when they are loaded; so NumPy, which is loaded by now, is
    limited through threadpoolctl.
    """
    for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR"):
        os.environ[name + "_NUM_THREADS"] = str(threads)
    import threadpoolctl

    threadpoolctl.threadpool_limits(limits=threads)


# glibc hands large buffers back to the system when they are freed, and the next step faults them in
# again, page by page. Raised thresholds let it keep them. It reads these when a process starts.
KEEP_FREED_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**28),
}


# What says to maths libraries which processor's code they are to take.
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
    """Start ``python -m module`` anew with ``environ`` added, unless that is there."""
    if any(os.environ.get(name) != value for name, value in environ.items()):
        command = [sys.executable, "-m", module] + arguments
        os.execve(sys.executable, command, dict(os.environ, **environ))


def process_age():
    """Seconds since this process started; of the first program in it, if it was restarted."""
    try:
        with open("/proc/self/stat") as file:  # psutil knows when, to a second only
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return time.clock_gettime(BOOT_CLOCK) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        return time.time() - psutil.Process().create_time()


def _cpuinfo(what):
    """What /proc/cpuinfo says of the first core; None where it does not."""
    try:
        with open("/proc/cpuinfo") as file:
            return re.search(r"%s\s*: (.*)" % what, file.read()).group(1)
    except (OSError, AttributeError):
        return None


def is_amd():
    """Whether the processor is AMD's, which some of Intel's libraries treat as an old one."""
    return _cpuinfo("vendor_id") == "AuthenticAMD"


def cpu():
    """The processor's name."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def takes_bfloat16(on_gpu):
    """Whether frameworks multiply bfloat16 here: on CPUs as oneDNN does, with AVX-512.

    True where a CPU does not tell. ``on_gpu``: or on a GPU.
    """
    flags = _cpuinfo("flags")
    return flags is None or "avx512bw" in flags.split() or (on_gpu and bool(_gpus()))


@functools.lru_cache(maxsize=None)  # it may take seconds, and is asked more than once in a run
def _nvidia_smi():
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.check_output(query, stderr=subprocess.DEVNULL, timeout=60).decode()
    except (OSError, subprocess.SubprocessError):
        return ""


def _gpus():
    """(name, memory in MiB, driver) of each NVIDIA GPU, from nvidia-smi; empty without one."""
    rows = [line.split(", ") for line in _nvidia_smi().splitlines()]
    return [{"name": row[0], "memory": row[1], "driver": row[2]} for row in rows]


def facts():
    """The machine, as a dict of JSON values."""
    return {
        "cpu": cpu(),
        "cores": usable_cores(),
        "physical_cores": psutil.cpu_count(logical=False),
        "memory_bytes": psutil.virtual_memory().total,
        "gpus": _gpus(),
        "system": platform.platform(),
        **environment(),
    }


def environment():
    """What the process's environment says to its allocator, and to libraries of its processor."""
    allocator = [key for key in sorted(os.environ) if key.startswith("MALLOC_")]
    return {
        "allocator": {key: os.environ[key] for key in allocator},
        "cpu_switches": {key: os.environ[key] for key in CPU_SWITCHES if key in os.environ},
    }


def described(facts):
    """The machine for people, on one line."""
    gpus = "".join(", " + gpu["name"] for gpu in facts["gpus"])
    return "%s, %d cores%s" % (facts["cpu"], facts["cores"], gpus)


def folder_name(facts):
    """A name for this kind of machine that can be a folder: its GPU, or its CPU, and the cores."""
    name = facts["gpus"][0]["name"] if facts["gpus"] else facts["cpu"]
    name = re.sub(r"\((R|TM|tm)\)|CPU|Processor|@.*", " ", name)
    words = re.findall(r"[a-z0-9.]+", name.lower())
    return "-".join(words + ["%d" % facts["cores"], "cores"])


def versions(package):
    """Interpreter, NumPy and the BLAS in its wheel, and the library called ``package``."""
    import threadpoolctl

    if package in sys.modules:
        version = str(sys.modules[package].__version__)
    else:  # a framework may be part of another one's package, and not import it
        from importlib.metadata import version as installed

        version = installed(package)
    found = {"python": platform.python_version(), "numpy": np.__version__, "framework": version}
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] == "blas" and "numpy" in os.path.dirname(library["filepath"]):
            # An old one may not know a new CPU, and then computes as for one of long ago.
            words = (library["internal_api"], library["version"], library.get("architecture"))
            found["blas"] = " ".join(word for word in words if word)
    return found


def float32_product(size):
    """NumPy's matrix product, as a function that computes it once."""
    a = np.ones((size, size), np.float32)
    return functools.partial(np.matmul, a, a, out=np.empty_like(a))


def matmul_flops(product=float32_product, size=2048, repeats=5):
    """Floating-point operations a second of a matrix product, the best of a few.

    The yardstick for a CPU: what share of it a training run reaches tells more than its seconds.
    """
    multiply = product(size)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        multiply()
        seconds.append(time.perf_counter() - start)
    return 2.0 * size**3 / min(seconds)


def peak_memory():
    """Most resident memory this process has had, in bytes; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
