"""Linux's control groups of this process, and the limit that a container puts on CPU time."""

import os

MOUNT = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"


def cpus(mount=MOUNT, membership=MEMBERSHIP):
    """The CPUs' worth of time that this process may use, such as 1.5; None without a limit.

    Every group above a process limits it as well, so the smallest quota counts. A container may see
    the host's path of its group and not the folder, so missing folders are skipped.
    """
    quotas = [_quota(folder) for folder in folders("cpu", mount, membership)]
    return min(filter(None, quotas), default=None)


def throttled(mount=MOUNT, membership=MEMBERSHIP):
    """{folder: seconds for which a quota has stopped this group, added over cores}.

    The groups are that of this process and those above it.
    """
    seconds = {}
    for folder in folders("cpu", mount, membership):
        for line in (read(folder, "cpu.stat") or "").splitlines():
            name, _, value = line.partition(" ")
            if name in ("throttled_usec", "throttled_time"):
                seconds[folder] = int(value) / (1e6 if name == "throttled_usec" else 1e9)
    return seconds


def stopped(before, after):
    """The seconds for which a quota stopped this process, of ``throttled``; 0 if unknown."""
    return max((after[folder] - before.get(folder, 0) for folder in after), default=0.0)


def folders(controller, mount, membership):
    """The folders of the process's groups for a controller, such as "cpu", the innermost first."""
    for line in (read(membership) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # Version 2 has no list of controllers, and no folder for them. In version 1 the folder's
        # name may list them in another order; then there is a link with the one's name.
        root = os.path.join(mount, controllers)
        if controllers and not os.path.isdir(root):
            root = os.path.join(mount, controller)
        while True:
            yield os.path.join(root, path.strip("/"))
            if path.strip("/") == "":
                break
            path = os.path.dirname(path.rstrip("/"))


def _quota(folder):
    """The quota of one group in CPUs; None if it has none."""
    words = (read(folder, "cpu.max") or "").split()  # version 2: "100000 100000" or "max 100000"
    if not words:
        words = [read(folder, "cpu.cfs_%s_us" % name) or "" for name in ("quota", "period")]
    try:
        quota, period = map(int, words)
    except ValueError:
        return None
    return quota / period if quota > 0 and period > 0 else None


def read(*path):
    """A file's text; None if it cannot be read."""
    try:
        with open(os.path.join(*path), errors="surrogateescape") as file:  # a group of any name
            return file.read().strip()
    except OSError:
        return None
