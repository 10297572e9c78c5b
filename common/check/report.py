"""A check in words."""

import os

import frameworks
from common.check.trials import KEEPING, busy
from common.run.usual import MUCH_LESS
from common.system import cgroup, machine, mkl, shell

LESS = 0.8  # of the usual share: look for the reason
SLOW_BLAS = 0.7  # of our NumPy's product: look for the reason
GAIN = 1.15  # a trial that gains less is not reported
PAGED = 10e6  # bytes that each step requests again, from which they are reported,
KERNEL = 0.05  # if the kernel has this share of the CPU time


def judged(title, request, judgement, own, base):
    """The judgement as lines of text; own, base: as for ``overridden``."""
    plain, versions = judgement.plain, judgement.plain["versions"]
    noun = request.model.task.observations
    where = (title, versions["framework"], request.python, versions["python"], versions["numpy"])
    lines = [
        "framework    %s %s in %s, Python %s, NumPy %s" % where,
        "network      %s, lane best, %s threads" % (request.model.title, threads(plain)),
        "machine      %s" % machine.described(machine.facts()),
        "certificate  all rungs passed",
        "speed        %.0f %s/s, %.0f%% of this machine's float32 matrix product (%.0f GFLOP/s)"
        % (plain["per_second"], noun, 100 * judgement.share, judgement.yardstick["product"] / 1e9),
    ]
    known = judgement.usual
    text = "%.0f%% on %s" % (100 * known.share, known.text) if known else "no result is committed"
    lines += ["usual        " + text]
    notes = list(circumstances(judgement)) + list(overridden(request.name, own, base))
    lines += ["note         " + line for line in notes]
    return "\n".join(lines)


def threads(plain):
    """The number of threads that a framework reports."""
    return plain["settings"].get("threads", "?")


def circumstances(judgement):
    """Yield notes on the process, and on causes of a slow training that no trial can remove."""
    plain, quota, allowed = judgement.plain, cgroup.cpus(), machine.allowed_cores()
    if quota is not None and quota < len(allowed):
        counts = (quota, len(allowed), plain["throttled"])
        line = (
            "the container's quota is %.1f CPUs' time on %d cores; they stopped for %.1f s in all"
        )
        yield line % counts + ": raise it (docker run --cpus)"
        yield "the check starts %d threads; frameworks start one per core" % machine.usable_cores()
    if len(allowed) < os.cpu_count():
        counts = (len(allowed), os.cpu_count())
        yield "your shell may use %d of %d cores (taskset, a cpuset)" % counts
    if judgement.asked not in (None, machine.usable_cores()):
        counts = (judgement.asked, machine.usable_cores())
        yield "your shell asks for %d threads on %d cores" % counts
    if busy(plain["others"]):
        rows = plain["busiest"]
        most = ["%s (process %d, %.1f cores)" % (name, pid, cores) for pid, name, cores in rows]
        names = ": " + ", ".join(most) if most else ""
        yield "others used %.0f%% of the cores%s" % (100 * plain["others"], names)
    if judgement.blas < SLOW_BLAS:
        kernel = plain["versions"].get("blas", "an unknown BLAS")
        ratio = (kernel, 100 * judgement.blas)
        yield "its NumPy multiplies with %s, at %.0f%% of the speed of ours" % ratio
    if len(plain["openmp"]) > 1:
        runtimes = plain["openmp"]
        yield "%d OpenMP runtimes are loaded: %s" % (len(runtimes), ", ".join(runtimes))
    paged = plain["paged"]
    if paged["bytes"] > PAGED and paged["share"] > KERNEL:
        line = (
            "each step returns %.0f MB to the system and requests it again; the kernel uses %.0f%%"
        )
        amounts = (paged["bytes"] / 1e6, 100 * paged["share"])
        yield line % amounts + " of the CPU time: " + KEEPING.line
    if not plain["flushes_denormals"]:
        yield "denormal numbers are not flushed to 0; they slow some trainings"


def overridden(name, own, base):
    """Variables that the module or its environment sets, and the user's shell differently.

    own: the variables that the shell sets. base: those of the plain process.
    """
    environment = frameworks.ENVIRONMENTS[name]
    for key, flag in environment.flags.items():
        if flag in base.get(key, "") and flag not in own.get(key, ""):
            text = "the module adds %s to %s; without it, your own code may be slower"
            yield text % (flag, key)
    for key, value in environment.environ.items():
        if own.get(key, value) != value:
            text = "your shell sets %s=%s; the module takes %s itself, and your own code does not"
            yield text % (key, own[key], value)
        elif key not in own and key.startswith(tuple(shell.PREFIXES)):
            yield "the module sets %s=%s; without it, your own code may be slower" % (key, value)
    for key in sorted(environment.set_env):
        tunes = key in (*machine.CPU_SWITCHES, "LD_PRELOAD") or key.endswith(shell.COMPILERS)
        if tunes and key not in own and key not in os.environ:
            yield "the check sets %s, which your shell does not: your own code may be slower" % key
    if environment.newer_mkl and machine.is_amd() and not mkl.preloaded():
        yield "not tried: MKL with its kernels for Intel's processors, which needs a C compiler"


def onednn(kernels, usual):
    """Which of oneDNN's kernels compute a step's convolutions; None if it never computes them.

    kernels: here, as ``kernels.read`` gives them. usual: those of a committed profile.
    """
    if not kernels and not usual:
        return None
    own, pinned = (
        ", ".join(sorted({each["kernel"] for each in part})) for part in (kernels, usual)
    )
    own, pinned = (" (%s)" % names if names else "" for names in (own, pinned))
    text = "note         oneDNN computes %d convolutions of a step%s; usually %d%s"
    return text % (len(kernels), own, len(usual), pinned)


def tried(trial, finding, gained):
    """A trial as a line."""
    if finding is None:
        return "  does not run    %s" % trial.name
    text = "%.2f times as fast" % finding.gain
    if finding.product >= GAIN:
        text += ", NumPy's product %.1f times" % finding.product
    line = "  %s  %s%s" % (text, trial.name, "  ->  " + trial.line if gained else "")
    meanwhile = "; others used %.0f%% of the cores meanwhile" % (100 * finding.others)
    return line + (meanwhile if busy(finding.others) else "")


def verdict(judgement, found, best):
    """The answer, in the last lines."""
    lines = []
    if best:
        share = (best.gain, 100 * judgement.share * best.gain)
        lines.append("all of these together: %.2f times as fast, %.0f%% of the product" % share)
    for finding in found:
        lines.append("do           %s" % finding.trial.line)
    part = judgement.of_usual
    if part is None:
        lines.append("answer       unknown: nothing to compare with is committed")
    elif not judgement.comparable:
        lines.append("answer       unknown: the usual share is of a machine too unlike this one")
    elif part >= LESS and not found:
        lines.append("answer       yes: %.2f of the usual share" % part)
    elif part >= LESS:
        lines.append("answer       yes in training (%.2f of the usual share), but see above" % part)
    else:
        word = "no" if part < MUCH_LESS else "slower than usual"
        answer = (word, part, why(judgement, found))
        lines.append("answer       %s: %.2f of the usual share%s" % answer)
    if busy(judgement.plain["others"]):
        lines[-1] += "; the machine is busy: check again when it is idle"
    return "\n".join(lines)


def why(judgement, found):
    """The likeliest reason, for the last line."""
    if found:
        return "; the most gains: %s" % found[0].trial.line
    if busy(judgement.plain["others"]):
        return "; others used %.0f%% of the cores" % (100 * judgement.plain["others"])
    return "; nothing that was tried gains"
