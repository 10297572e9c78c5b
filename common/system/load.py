"""How busy the cores are, and with which processes, from Linux's /proc."""

import os
from collections import namedtuple

PROC = "/proc"
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

Snapshot = namedtuple("Snapshot", "cores processes")
Snapshot.__doc__ = """CPU seconds since the machine started.

cores: of all these cores together, idle time left out.
processes: {(process id, name): its own}.
"""


def snapshot(cores, proc=PROC):
    """The present ``Snapshot`` of these cores; None where there is no /proc."""
    seconds = busy(cores, proc)
    return None if seconds is None else Snapshot(seconds, dict(_processes(proc)))


def busy(cores, proc=PROC):
    """CPU seconds of these cores since the machine started; None where there is no /proc."""
    try:
        with open(os.path.join(proc, "stat")) as file:
            lines = [line.split() for line in file if line.startswith("cpu")]
    except OSError:
        return None
    names = {"cpu%d" % core for core in cores}
    # user, nice, system, idle, iowait, irq, softirq, steal: what the hypervisor took
    return sum(sum(map(int, line[1:4] + line[8:9])) for line in lines if line[0] in names) / TICK


def _processes(proc):
    for name in filter(str.isdigit, os.listdir(proc)):
        try:
            with open(os.path.join(proc, name, "stat"), errors="replace") as file:
                before, _, after = file.read().rpartition(")")
        except OSError:  # it has ended
            continue
        user, system = after.split()[11:13]
        yield (int(name), before.partition("(")[2]), (int(user) + int(system)) / TICK


def others(before, after, own_seconds, core_seconds):
    """The share of the cores that others used between two snapshots; 0 if unknown."""
    if before is None or after is None:
        return 0.0
    return max(0.0, (after.cores - before.cores - own_seconds) / core_seconds)


def busiest(before, after, seconds, ours=()):
    """[(process id, name, cores that it used)] of others between two snapshots, busiest first.

    ours: ids of processes to leave out. Processes of less than a twentieth of a core are not
    listed. A process that others have in their own container is invisible, and not listed either.
    """
    if before is None or after is None:
        return []
    used = [
        (number, name, (spent - before.processes.get((number, name), spent)) / seconds)
        for (number, name), spent in after.processes.items()
        if number not in ours
    ]
    return sorted((row for row in used if row[2] > 0.05), key=lambda row: -row[2])
