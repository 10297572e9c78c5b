"""The memory that is free, by the standard library alone."""

import os
import re
from contextlib import contextmanager

from common.system import cgroup

UNKNOWN = 2**34  # bytes, where the system does not say


# A control group's file with its limit; the file with what it uses; the key in ``memory.stat`` of
# what is cached from disk, which the system drops if memory is needed. Of versions 2 and 1.
GROUPS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
SPARED = 8


def available(mount=cgroup.MOUNT, membership=cgroup.MEMBERSHIP):
    """Bytes that can be used without swapping, also by a container's limit.

    A part is spared: a system that is full to the last byte kills a process.
    """
    # The mount, too: a container may hide which group this process is in.
    folders = {mount, os.path.join(mount, "memory"), *cgroup.folders("memory", mount, membership)}
    groups = [_of_a_group(folder, *names) for folder in folders for names in GROUPS]
    free = min([_of_the_machine()] + [free for free in groups if free is not None])
    return free - free // SPARED


def _of_a_group(folder, limit, usage, dropped):
    """Bytes that a control group may still use; None without a limit."""
    try:
        most, used = (int(cgroup.read(folder, name)) for name in (limit, usage))
    except (TypeError, ValueError):  # no such file, or "max"
        return None
    stat = cgroup.read(folder, "memory.stat") or ""
    files = re.search(r"^%s (\d+)$" % dropped, stat, re.MULTILINE)
    return max(0, most - used + min(used, int(files.group(1)) if files else 0))


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
