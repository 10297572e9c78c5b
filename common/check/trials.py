"""Changes of a process's environment that may make it faster, to try one at a time."""

import math
import shlex
from collections import OrderedDict
from typing import Dict, NamedTuple, Optional, Tuple

import frameworks
from common.system import machine, mkl, modules, shell

BUSY = 0.1  # the share of the cores from which other processes matter
ISAS = ("DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA")  # the old and the new name of one variable
NEWER = "AVX512"  # the instructions that oneDNN is asked to leave out


class Trial(NamedTuple):
    """A change, and the line with which a user makes it.

    add, drop: environment variables to set, and to unset.
    cores: whether to run on all cores of the machine.
    """

    name: str
    line: str
    add: Dict[str, str] = {}
    drop: Tuple[str, ...] = ()
    cores: bool = False
    threads: Optional[int] = None

    @property
    def variables(self):
        """The names of the variables that it changes."""
        return set(self.add) | set(self.drop)

    def environ(self, base):
        """``base`` with the change."""
        kept = {name: value for name, value in base.items() if name not in self.drop}
        return dict(kept, **self.add)


def exporting(name, add, threads=None):
    """The trial that sets these variables."""
    line = "export " + " ".join("%s=%s" % (key, shlex.quote(value)) for key, value in add.items())
    return Trial(name, line, add, threads=threads)


KEEPING = exporting("an allocator that keeps freed memory", machine.KEEP_FREED_MEMORY)


def joined(trials):
    """All changes at once."""
    add = {name: value for trial in trials for name, value in trial.add.items()}
    drop = tuple(name for trial in trials for name in trial.drop)
    threads = [trial.threads for trial in trials if trial.threads]
    line = "; ".join(trial.line for trial in trials)
    cores = any(trial.cores for trial in trials)
    return Trial("all of these", line, add, drop, cores, threads[0] if threads else None)


def setting(name, value, why):
    """The trial that sets a variable."""
    return exporting("%s=%s (%s)" % (name, value, why), {name: value})


def preloading(path, base, why):
    """The trial that preloads a library, after those that the shell preloads."""
    return setting("LD_PRELOAD", ":".join(mkl.libraries(base) + [path]), why)


def unsetting(name, value):
    """The trial that unsets a variable."""
    return Trial("without %s=%s" % (name, value), "unset %s" % name, drop=(name,))


def candidates(name, base, own, plain, yardstick):
    """The trials for an environment, the likeliest cause first.

    base: the variables of the plain process. own: those that the user's shell sets.
    plain: the process's answer. yardstick: our NumPy's answer.
    """
    needed = frameworks.ENVIRONMENTS[name].environ
    tried = [key for key in own if key in base and key not in needed and shell.tunes(key)]
    listed = [unsetting(key, own[key]) for key in _by_likelihood(tried)]
    for alike in (machine.THREADS, ISAS):  # each may do what the others did
        several = [trial for trial in listed if trial.variables & set(alike)]
        if len(several) > 1:
            names = " and ".join(sorted(set().union(*(trial.variables for trial in several))))
            listed.append(joined(several)._replace(name="without %s" % names))
    variable = frameworks.ENVIRONMENTS[name].threads_from[0]
    listed += _beside_others(plain, variable) + _threads(base, variable, plain) + _cores()
    listed += _kernels(plain, yardstick) + _openmp(plain, base) + _lane(name, base)
    return list(OrderedDict((trial.name, trial) for trial in listed).values())


def _by_likelihood(own):
    """Names of variables: numbers of threads first, then those that choose kernels."""
    first = (machine.THREADS, machine.CPU_SWITCHES)
    return sorted(own, key=lambda key: ([key not in names for names in first], key))


def _threads(base, variable, plain):
    """A thread per physical core, and per core, where the plain process may have another number."""
    cores, physical = machine.usable_cores(), machine.physical_cores()
    asked = machine.asked_threads(base) or len(machine.allowed_cores())
    now = plain["settings"].get("threads", asked)
    fewer = min(cores, physical or cores)
    wanted = OrderedDict([(cores, "one per core"), (fewer, "one per physical core")])
    # Variables that the shell sets for other libraries would stay in force.
    others = [key for key in machine.THREADS if key in base and key != variable]
    made = []
    for number in sorted(wanted):
        if asked == now == number:
            continue
        add = OrderedDict.fromkeys([variable] + others, str(number))
        made.append(exporting("%s=%d (%s)" % (variable, number, wanted[number]), add, number))
    return made


def _beside_others(plain, variable):
    """Fewer threads, if others use cores: threads wait for the one that has to share its core."""
    cores, free = machine.usable_cores(), (1 - plain["others"]) * len(machine.allowed_cores())
    fewer = max(1, min(cores, math.floor(free)))
    if not busy(plain["others"]) or fewer == cores:
        return []
    change = setting(variable, str(fewer), "others use the other cores")
    return [change._replace(threads=fewer)]


def busy(others):
    """Whether others, with this share of the allowed cores, leave too little for a process."""
    allowed = len(machine.allowed_cores())
    return others * allowed - (allowed - machine.usable_cores()) > BUSY * machine.usable_cores()


def _cores():
    """All cores that there may be, if the shell may use only some."""
    most = machine.cores_without_binding()
    if len(machine.allowed_cores()) >= most:
        return []
    line = "start it without taskset, numactl or a batch system's binding"
    return [Trial("on %d cores" % most, line, cores=True, threads=most)]


def _kernels(plain, yardstick):
    """Our BLAS's kernels in the user's BLAS; for oneDNN, those for narrower vectors."""
    made = []
    theirs, ours = (_openblas(answer) for answer in (plain, yardstick))
    if theirs and ours and theirs != ours:
        why = "the BLAS of NumPy takes kernels for %s" % theirs
        for kernels in OrderedDict.fromkeys([ours, "Haswell"]):
            made.append(setting("OPENBLAS_CORETYPE", kernels, why))
    if "avx512f" in machine.identity().get("isa", ()):
        made.append(setting("ONEDNN_MAX_CPU_ISA", "AVX2", "oneDNN without %s" % NEWER))
    return made


def _openblas(answer):
    """The processor whose kernels NumPy's OpenBLAS takes; None for another BLAS, or if unknown."""
    words = answer["versions"].get("blas", "").split()
    return words[2] if len(words) == 3 and words[0] == "openblas" else None


def _openmp(plain, base):
    """With two OpenMP runtimes: threads that sleep while they wait, and one of the two for all."""
    if len(plain["openmp"]) < 2:
        return []
    made = [setting("OMP_WAIT_POLICY", "PASSIVE", "waiting threads sleep")]
    for path in plain["openmp"]:
        made.append(preloading(path, base, "one OpenMP runtime for all"))
    return made


def _lane(name, base):
    """The settings of lane best for a process: the allocator, and the framework's variables."""
    keep = KEEPING.add
    made = [] if keep.items() <= base.items() else [KEEPING]
    for key, value in modules.environ(name, "best").items():
        is_set, why = base.get(key) == value, "lane best sets it"
        if mkl.in_force({key: value}):
            if not mkl.in_force(base):
                why = "MKL with its kernels for Intel's processors"
                made.append(preloading(value, base, why))
            continue
        if key not in keep and not is_set:
            made.append(setting(key, value, why))
    return made
