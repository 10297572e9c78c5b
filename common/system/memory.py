"""The memory that is free, by the standard library alone."""

import os
import re
from contextlib import contextmanager

UNKNOWN = 2**34  # bytes, where the system does not say


# Files with a container's limit and what it uses, of control groups of version 2 and 1.
GROUPS = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)
MOUNT = "/sys/fs/cgroup"
SPARED = 8


def available(mount=MOUNT):
    """Bytes that can be used without swapping, also by a container's limit.

    A part is spared: a system that is full to the last byte kills a process.
    """
    groups = [_of_a_group(mount, names) for names in GROUPS]
    free = min([_of_the_machine()] + [free for free in groups if free is not None])
    return free - free // SPARED


def _of_a_group(mount, names):
    """Bytes that a container may still use; None without a limit."""
    try:
        numbers = []
        for name in names:
            with open(os.path.join(mount, name)) as file:
                numbers.append(int(file.read()))
        return max(0, numbers[0] - numbers[1])
    except (OSError, ValueError):  # "max"
        return None


@contextmanager
def limited():
    """A block in which MemoryError comes before the memory is full, where the system can do that.

    A file may say that it needs little, and take any amount.
    """
    try:
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError):
        yield
        return
    limits = [used + available()] + [n for n in before if n != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _of_the_machine():
    try:
        with open("/proc/meminfo") as file:
            return 1024 * int(re.search(r"MemAvailable:\s+(\d+) kB", file.read()).group(1))
    except (OSError, AttributeError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN
