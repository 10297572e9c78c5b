"""Detect settings by their effects, for frameworks that cannot report them; Linux only."""

import ctypes
import os
import re
import time


def busy_threads(step, seconds=1.0):
    """The number of threads that share the work of ``step``.

    A thread counts if it works at least a fifth of the busiest thread's time. The smallest of three
    measurements, because another process may disturb one of them.
    """
    return min(_busy_threads(step, seconds / 3) for _ in range(3))


def _busy_threads(step, seconds):
    step()
    before, start = _ticks(), time.time()
    while time.time() < start + seconds:
        step()
    spent = {thread: ticks - before.get(thread, 0) for thread, ticks in _ticks().items()}
    return sum(ticks > max(spent.values()) / 5 for ticks in spent.values())


def _ticks():
    """{thread: CPU time in clock ticks} of this process."""
    ticks = {}
    for thread in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/stat" % thread) as file:
            fields = file.read().rpartition(")")[2].split()
        ticks[thread] = int(fields[11]) + int(fields[12])  # user and system time
    return ticks


def mkl_cpu_type():
    """The processor whose code MKL uses, by MKL_DEBUG_CPU_TYPE's numbers; None if unknown."""
    with open("/proc/self/maps") as file:
        paths = {
            line.split()[-1]
            for line in file
            if re.search("libmklml|libmkl_core|libtorch_cpu", line)
        }
    for library in map(ctypes.CDLL, sorted(paths)):
        if hasattr(library, "mkl_serv_cpu_detect"):
            return str(library.mkl_serv_cpu_detect())
    return None


def threads_called(name):
    """The number of this process's threads with this name."""
    names = []
    for thread in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % thread) as file:
            names.append(file.read().strip())
    return names.count(name)


def is_loaded(flag):
    """Whether the library of a linker's flag is in use; NumPy's and SciPy's own do not count.

    -lNAME is lib and NAME, whatever follows; -l:FILE is the file.
    """
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "site-packages" not in line}
    names = [os.path.basename(path) for path in paths]
    begin = flag[3:] if flag.startswith("-l:") else "lib" + flag[2:]
    return flag[:2] != "-l" or any(name.startswith(begin) for name in names)
