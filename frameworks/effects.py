"""Effects that show a setting where a framework cannot be asked; Linux only."""

import ctypes
import os
import re
import time


def busy_threads(step, seconds=1.0):
    """How many threads share the work of ``step``: those with a fifth of the busiest one's time.

    The least seen in three goes: another process may disturb one of them.
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
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/stat" % thread) as file:
            fields = file.read().rpartition(")")[2].split()
        found[thread] = int(fields[11]) + int(fields[12])  # user and system time
    return found


def mkl_cpu_type():
    """The processor whose code MKL takes, as MKL_DEBUG_CPU_TYPE counts them; None if none tells."""
    with open("/proc/self/maps") as file:
        found = {line.split()[-1] for line in file if re.search("libmklml|libtorch_cpu", line)}
    for library in map(ctypes.CDLL, sorted(found)):
        if hasattr(library, "mkl_serv_cpu_detect"):
            return str(library.mkl_serv_cpu_detect())
    return None


def threads_called(name):
    """How many of this process's threads have this name."""
    names = []
    for thread in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % thread) as file:
            names.append(file.read().strip())
    return names.count(name)
