"""Judge an installation: each planted fault is found and named, and a healthy one has none.

The faults are in timings that are made up here; one test measures a real installation.
"""

import json
import os
import resource
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import frameworks
from common import networks
from common.check import check, measuring, report, trials, worker
from common.run import usual
from common.system import borrowed, cgroup, commands, interpreter, load, machine, mkl, shell
from common.system.errors import InputError
from tests import some

MODEL = networks.find("mlp")
USUAL_SHARE, PRODUCT = 0.5, 300e9
HEALTHY = USUAL_SHARE * PRODUCT / (2 * MODEL.step_multiply_adds)  # observations per second
# An environment and a network that have a committed profile with oneDNN's kernels.
FACTS = machine.facts()
WITH_ONEDNN = some.environment(lambda facts: usual.kernels(facts.name, "cnn", FACTS)), "cnn"
OLD_BLAS = some.environment(lambda facts: "OPENBLAS_CORETYPE" in facts.set_env)
FASTER_ON_AMD = some.environment(lambda facts: facts.amd_environ, gpu_of="")
WITH_NEWER_MKL = some.environment(lambda facts: facts.newer_mkl, gpu_of="")


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    """A machine of two cores without a quota, whatever this one is."""
    facts = dict(FACTS, cpu="any", cores=2, cpu_family=25, cpu_model=17, isa=["avx2", "avx512f"])
    monkeypatch.setattr(machine, "facts", lambda: facts)
    monkeypatch.setattr(machine, "identity", lambda: {"isa": facts["isa"]})
    monkeypatch.setattr(machine, "allowed_cores", lambda: [0, 1])
    monkeypatch.setattr(machine, "physical_cores", lambda: 2)
    monkeypatch.setattr(machine, "cores_without_binding", lambda: 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(cgroup, "cpus", lambda *_: None)
    monkeypatch.setattr(machine, "is_amd", lambda: False)


class Installation:
    """An installation with a fault: a function of a process's variables and its trial.

    It returns factors of the training's speed and of the matrix product's, and further facts.
    """

    model = MODEL

    def __init__(self, fault=lambda environ, trial: (1, 1), own=(), name="numpy", **facts):
        self.fault, self.own, self.name, self.facts = fault, dict(own), name, facts
        self.base, self.timed = dict(self.own), 0
        self.noise = np.random.RandomState(0)

    def time(self, trial=measuring.PLAIN):
        self.timed += 1
        speed, product = self.fault(trial.environ(self.base), trial)
        answer = {
            "per_second": HEALTHY * speed * self.noise.uniform(0.93, 1.07),
            "product": PRODUCT * product * self.noise.uniform(0.93, 1.07),
            "settings": {"threads": 2},
            "versions": {"framework": "1", "python": "3", "numpy": "2", "blas": "openblas 0.3 Zen"},
            "openmp": [],
            "flushes_denormals": True,
            "others": 0.01,
            "busiest": [],
            "throttled": 0.0,
            "paged": {"bytes": 1e6, "share": 0.2},
        }
        return dict(answer, **self.facts)


def judged(installation, of_usual=True):
    known = {"cpu": "any", "cores": 2, "gpus": []}
    versions = {"framework": "1", "numpy": "2"}
    known = usual.Usual(USUAL_SHARE, "2026-11-25T00:00:00Z", known, 2, versions, "reports/x.json")
    yardstick = {"product": PRODUCT, "versions": {"blas": "openblas 0.3 Zen"}}
    return check.Judgement(
        installation.time(),
        yardstick,
        MODEL.step_multiply_adds,
        known if of_usual else None,
        machine.asked_threads(installation.own),
    )


def lines(installation):
    """(the findings' lines, all that is printed)."""
    judgement, said = judged(installation), []
    request = check.Request(installation.name, MODEL, "/opt/python")
    said += report.judged(
        "Any", request, judgement, installation.own, installation.base
    ).splitlines()
    findings = check.search(installation, judgement, said.append) if judgement.suspicious else []
    said += report.verdict(judgement, findings, None).splitlines()
    return [finding.trial.line for finding in findings], said


@pytest.mark.parametrize("seed", range(10))
def test_a_healthy_installation_has_no_fault(seed):
    installation = Installation(own={"OMP_NUM_THREADS": "2", "KMP_BLOCKTIME": "1"})
    installation.noise = np.random.RandomState(seed)
    found, said = lines(installation)
    assert found == [] and installation.timed == 1
    assert said[-1].startswith("answer       yes")


def slow_if(wrong, speed, product=1.0):
    """The fault that slows a process with these variables."""
    return lambda environ, trial: (speed, product) if wrong.items() <= environ.items() else (1, 1)


def slow_unless(right, speed, product=1.0):
    """The fault that slows a process without these variables."""
    return lambda environ, trial: (1, 1) if right.items() <= environ.items() else (speed, product)


@pytest.mark.parametrize(
    "wrong, speed, product",
    [
        ({"OMP_NUM_THREADS": "1"}, 0.52, 1),
        ({"OMP_NUM_THREADS": "8"}, 0.3, 1),
        ({"OPENBLAS_CORETYPE": "Prescott"}, 1.0, 0.2),  # in NumPy alone
        ({"OPENBLAS_CORETYPE": "Prescott"}, 0.2, 0.2),
        ({"ONEDNN_MAX_CPU_ISA": "SSE41"}, 0.3, 1),
        ({"ATEN_CPU_CAPABILITY": "default"}, 0.6, 1),
        ({"MALLOC_TRIM_THRESHOLD_": "0"}, 0.6, 1),
        ({"GOMP_CPU_AFFINITY": "0"}, 0.5, 1),
        ({"KMP_AFFINITY": "compact,1,0"}, 0.5, 1),
    ],
)
def test_a_variable_of_the_shell_is_found(wrong, speed, product):
    others = {"KMP_BLOCKTIME": "1", "MKL_DYNAMIC": "TRUE"}
    (name,) = wrong
    found, said = lines(Installation(slow_if(wrong, speed, product), dict(others, **wrong)))
    assert found[0] == "unset " + name
    assert "do           unset " + name in said


@pytest.mark.parametrize(
    "pair", [("MKL_NUM_THREADS", "OMP_NUM_THREADS"), ("DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA")]
)
def test_two_variables_with_one_effect_are_found(pair):
    """With either one unset, the other is still in force."""

    def fault(environ, trial):
        return (0.5 if set(pair) & set(environ) else 1, 1)

    found, _ = lines(Installation(fault, dict.fromkeys(pair, "1")))
    assert found == ["unset %s; unset %s" % pair]


def test_a_shell_for_all_cores_in_a_container_for_two_is_found(monkeypatch):
    """By default, a framework starts a thread per core of the machine, not of the container."""
    monkeypatch.setattr(machine, "allowed_cores", lambda: list(range(64)))
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)

    def fault(environ, trial):
        return (1 if environ.get("OPENBLAS_NUM_THREADS") == "2" else 0.4, 1)

    found, _ = lines(Installation(fault, settings={"threads": 64}))
    assert found == ["export OPENBLAS_NUM_THREADS=2"]


def test_a_framework_with_one_thread_by_default_is_found():
    def fault(environ, trial):
        return (1 if environ.get("OPENBLAS_NUM_THREADS") == "2" else 0.6, 1)

    found, _ = lines(Installation(fault, settings={"threads": 1}))
    assert found == ["export OPENBLAS_NUM_THREADS=2"]


def test_a_flag_that_the_module_adds_is_named():
    name = some.environment(lambda facts: facts.flags, gpu_of="")
    ((variable, flag),) = frameworks.ENVIRONMENTS[name].flags.items()
    (line,) = report.overridden(name, {}, {variable: flag})
    assert line.startswith("the module adds %s to %s" % (flag, variable))
    assert list(report.overridden(name, {variable: flag}, {variable: flag})) == []
    assert list(report.overridden(name, {}, {variable: ""})) == []


def test_a_variable_that_is_wanted_on_amd_is_found(monkeypatch):
    monkeypatch.setattr(machine, "is_amd", lambda: True)
    fault = slow_unless({"MKL_DEBUG_CPU_TYPE": "5"}, 0.4)
    found, _ = lines(Installation(fault, name=FASTER_ON_AMD))
    assert found == ["export MKL_DEBUG_CPU_TYPE=5"]


def test_a_newer_mkl_on_amd_is_found(monkeypatch):
    library = {"LD_PRELOAD": "/cache/mkl_on_amd.so"}
    monkeypatch.setattr(machine, "is_amd", lambda: True)
    monkeypatch.setattr(mkl, "preloaded", lambda: library)
    found, _ = lines(Installation(slow_unless(library, 0.4), name=WITH_NEWER_MKL))
    assert found == ["export LD_PRELOAD=/cache/mkl_on_amd.so"]


def test_a_library_is_preloaded_beside_those_of_the_shell(monkeypatch):
    monkeypatch.setattr(machine, "is_amd", lambda: True)
    monkeypatch.setattr(mkl, "preloaded", lambda: {"LD_PRELOAD": "/cache/mkl_on_amd.so"})
    both = "/jemalloc.so:/cache/mkl_on_amd.so"
    fault, own = slow_unless({"LD_PRELOAD": both}, 0.4), {"LD_PRELOAD": "/jemalloc.so"}
    assert lines(Installation(fault, own, WITH_NEWER_MKL))[0] == ["export LD_PRELOAD=" + both]


def test_an_allocator_that_returns_memory_is_found():
    def fault(environ, trial):
        return (1, 1) if set(machine.KEEP_FREED_MEMORY) <= set(environ) else (0.7, 1)

    found, said = lines(Installation(fault))
    assert len(found) == 1 and "MALLOC_TRIM_THRESHOLD_=" in found[0]
    assert said[-1].startswith("answer       slower than usual: 0.")


def test_memory_that_each_step_requests_again_is_noted():
    """Even if the installation is fast enough: others of this framework lose as much."""
    _, said = lines(Installation(paged={"bytes": 96e6, "share": 0.11}))
    note = (
        "note         each step returns 96 MB to the system and requests it again; the kernel uses"
    )
    note += " 11% of the CPU time: export MALLOC_ARENA_MAX=1 "
    assert [line for line in said if line.startswith(note)]
    _, said = lines(Installation())
    assert not [line for line in said if "to the system" in line]


def test_pages_are_counted_for_each_step():
    before = SimpleNamespace(ru_minflt=100, ru_utime=1.0, ru_stime=0.5)
    after = SimpleNamespace(ru_minflt=300, ru_utime=4.0, ru_stime=1.5)
    found = worker.paged(before, after, steps=4)
    assert found == {"bytes": 50 * resource.getpagesize(), "share": 0.25}


def test_two_openmp_runtimes_are_found():
    runtimes = ["/a/libgomp-1.so.1", "/b/libiomp5.so"]
    fault = slow_unless({"LD_PRELOAD": runtimes[1]}, 0.5)
    found, said = lines(Installation(fault, openmp=runtimes))
    assert found == ["export LD_PRELOAD=/b/libiomp5.so"]
    assert "note         2 OpenMP runtimes are loaded: " + ", ".join(runtimes) in said


def test_a_blas_without_kernels_for_this_processor_is_found():
    versions = {"framework": "1", "python": "3", "numpy": "1", "blas": "openblas 0.2 Prescott"}
    fault = slow_unless({"OPENBLAS_CORETYPE": "Haswell"}, 0.9, 0.15)
    found, said = lines(Installation(fault, versions=versions))
    assert found == ["export OPENBLAS_CORETYPE=Haswell"]
    assert any("openblas 0.2 Prescott, at 1" in line for line in said)


def test_a_shell_that_may_use_only_some_cores_is_found(monkeypatch):
    monkeypatch.setattr(machine, "allowed_cores", lambda: [1])
    found, said = lines(Installation(lambda environ, trial: (1 if trial.cores else 0.5, 1)))
    assert len(found) == 1 and "without taskset" in found[0]
    assert "note         your shell may use 1 of 2 cores (taskset, a cpuset)" in said
    half = slow_if({"MALLOC_TRIM_THRESHOLD_": "0"}, 0.5)

    def both(environ, trial):
        return (0.5 + 0.5 * trial.cores) * half(environ, trial)[0], 1

    found, _ = lines(Installation(both, {"MALLOC_TRIM_THRESHOLD_": "0"}))
    assert "MALLOC_" in found[0] and "without taskset" in found[-1]  # that may be a wish


def test_threads_on_both_halves_of_a_core_are_found(monkeypatch):
    monkeypatch.setattr(machine, "physical_cores", lambda: 1)

    def fault(environ, trial):
        one = environ.get("OPENBLAS_NUM_THREADS") == "1" and trial.threads == 1
        return (1, 1) if one else (0.6, 1)

    found, _ = lines(Installation(fault))
    assert found == ["export OPENBLAS_NUM_THREADS=1"]  # which NumPy obeys


def test_a_busy_second_process_is_named():
    busy = [[4711, "stress", 0.97]]

    def fault(environ, trial):  # threads wait for the one that has to share its core
        return (0.9 if trial.threads == 1 else 0.4, 1)

    found, said = lines(Installation(fault, others=0.48, busiest=busy))
    assert found == ["export OPENBLAS_NUM_THREADS=1"]
    assert any("used 48% of the cores: stress (process 4711, 1.0 cores)" in line for line in said)
    assert said[-1].startswith("answer       no: 0.4")
    assert "the most gains: export OPENBLAS_NUM_THREADS=1; the machine is busy" in said[-1]


def test_what_others_use_beyond_a_quota_does_not_matter(monkeypatch):
    monkeypatch.setattr(machine, "allowed_cores", lambda: list(range(64)))
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    assert not trials.busy(0.9) and trials.busy(0.98)


def test_a_busy_machine_does_not_hide_a_wrong_number_of_threads():
    """Its matrix product is as slow as one thread's training."""
    own, busy = {"OMP_NUM_THREADS": "1"}, dict(others=0.64, busiest=[])
    found, said = lines(Installation(slow_if(own, 1.0), own, **busy))
    assert "note         your shell asks for 1 threads on 2 cores" in said
    assert any("without OMP_NUM_THREADS=1" in line for line in said) and found == []


def test_a_trial_on_a_busy_machine_is_marked():
    installation = Installation(slow_if({}, 0.6), {"OMP_NUM_THREADS": "2"})
    judgement, said = judged(installation), []
    installation.facts["others"] = 0.7  # they begin after the first measurement
    check.search(installation, judgement, said.append)
    assert said and all(line.endswith("others used 70% of the cores meanwhile") for line in said)


def test_a_quota_is_named(monkeypatch):
    monkeypatch.setattr(cgroup, "cpus", lambda *_: 1.0)
    _, said = lines(Installation(throttled=1.25))
    assert any("the container's quota is 1.0 CPUs' time on 2 cores" in line for line in said)


def test_a_setting_of_the_environment_that_hides_a_fault_is_named(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setattr(mkl, "preloaded", lambda: {"LD_PRELOAD": mkl.LIBRARY})
    (line,) = report.overridden(OLD_BLAS, {}, {})
    assert line.startswith("the check sets OPENBLAS_CORETYPE, which your shell does not")
    assert list(report.overridden(OLD_BLAS, {"OPENBLAS_CORETYPE": "Zen"}, {})) == []


@pytest.mark.parametrize(
    "cpu, family, cores, answer",
    [("any", None, 4, "no: "), ("another", 25, 4, "no: "), ("another", None, 2, "unknown: ")]
    + [("any", 25, 5, "unknown: ")],
)
def test_a_machine_unlike_all_committed_ones_is_not_called_slow(
    monkeypatch, cpu, family, cores, answer
):
    facts = dict({"cpu_family": family} if family else {}, cpu=cpu, cores=cores, gpus=[])
    monkeypatch.setattr(machine, "facts", lambda: facts)
    judgement = judged(Installation(lambda environ, trial: (0.3, 1)))
    last = report.verdict(judgement, [], None).splitlines()[-1]
    assert last.startswith("answer       " + answer)
    assert judgement.comparable == (answer == "no: ")


def test_a_variable_that_the_module_needs_is_not_tried():
    name = some.environment(lambda facts: facts.environ, gpu_of="")
    own = dict(frameworks.ENVIRONMENTS[name].environ, XLA_FLAGS="--any")
    here = Installation(own=own, name=name)
    tried = trials.candidates(name, here.base, own, here.time(), {"versions": {}})
    assert [trial.drop for trial in tried if trial.drop] == [("XLA_FLAGS",)]


def test_a_setting_that_the_module_overrides_is_named():
    name = some.environment(lambda facts: facts.environ, gpu_of="")
    variable, value = next(iter(report.frameworks.ENVIRONMENTS[name].environ.items()))
    environ = frameworks.ENVIRONMENTS[name].environ
    (line,) = report.overridden(name, dict(environ, **{variable: "other"}), {})
    assert line.startswith("your shell sets %s=other" % variable)
    assert list(report.overridden(name, environ, {})) == []


def test_a_variable_that_the_module_sets_is_named():
    """Such as one without which some processors take a library's slower kernels."""

    def tuned(facts):
        return any(key.startswith(tuple(shell.PREFIXES)) for key in facts.environ)

    name = some.environment(tuned, gpu_of="")
    environ = frameworks.ENVIRONMENTS[name].environ
    said = " ".join(report.overridden(name, {}, {}))
    tuning = [key for key in environ if key.startswith(tuple(shell.PREFIXES))]
    assert all("the module sets %s=%s;" % (key, environ[key]) in said for key in tuning)
    assert list(report.overridden(name, environ, {})) == []


def test_a_judgement_has_that_note(monkeypatch):
    """It is asked with the variables of the user's shell, not with the versions."""
    monkeypatch.setattr(report, "overridden", lambda name, own, _: ["your shell sets %s" % own])
    monkeypatch.setattr(report, "circumstances", lambda judgement: [])
    plain = {"versions": dict.fromkeys(("framework", "python", "numpy"), "1"), "settings": {}}
    judgement = SimpleNamespace(
        plain=dict(plain, per_second=1.0), share=0.5, yardstick={"product": 1e9}, usual=None
    )
    asked = SimpleNamespace(name="numpy", python="python", model=networks.find("cnn"))
    assert "note         your shell sets X=1" in report.judged("NumPy", asked, judgement, "X=1", {})


def test_a_lucky_trial_is_not_reported():
    """The second comparison shows no gain."""
    calls = []

    def fault(environ, trial):
        calls.append(trial.name)
        lucky = trial.name.startswith("without") and calls.count(trial.name) == 1
        return (1 if lucky else 0.5, 1)

    found, _ = lines(Installation(fault, {"OMP_DYNAMIC": "TRUE"}))
    assert found == []


def test_a_trial_that_does_not_run_is_no_finding():
    def fault(environ, trial):
        if "without" in trial.name:
            raise InputError("it crashed")
        return 0.5, 1

    found, said = lines(Installation(fault, {"LD_PRELOAD": "needed.so"}))
    assert found == [] and "  does not run    without LD_PRELOAD=needed.so" in said


def test_time_is_limited():
    installation, said = Installation(slow_if({}, 0.3), {"OMP_DYNAMIC": "TRUE"}), []
    times = iter([0.0] + [check.SECONDS + 1.0] * 99)
    assert check.search(installation, judged(installation), said.append, lambda: next(times)) == []
    assert said and all("not tried, because time is up" in line for line in said)


def test_two_faults_are_tried_together():
    made = [trials.unsetting("A", "1"), trials.setting("B", "2", "why")]
    assert trials.joined(made).environ({"A": "1", "C": "3"}) == {"B": "2", "C": "3"}
    assert trials.joined(made).line == "unset A; export B=2"


def test_of_two_changes_of_one_variable_the_better_one_is_advised():
    made = [
        trials.unsetting("A", "1"),
        trials.setting("A", "2", "why"),
        trials.setting("B", "2", ""),
    ]
    found = [check.Finding(trial, gain, 1) for trial, gain in zip(made, (1.4, 1.3, 1.2))]
    assert [finding.trial.line for finding in check.ranked(found)] == ["unset A", "export B=2"]


def test_the_users_shell_does_not_reach_the_yardstick(monkeypatch):
    def check_output(command, env, cwd):
        seen.update(env)
        return b"[1.0, {}]"

    seen = {}
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(measuring.subprocess, "check_output", check_output)
    assert measuring.yardstick()["product"] == 1 and "OMP_NUM_THREADS" not in seen


def test_the_product_is_the_mean_of_before_and_after(monkeypatch):
    products = iter([1.0, 3.0])
    monkeypatch.setattr(measuring, "yardstick", lambda: {"product": next(products), "versions": {}})
    assert check.judge(Installation(slow_if({}, 1.0))).yardstick["product"] == 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux has this")
def test_a_command_is_started_on_all_cores():
    code = "import os; print(len(os.sched_getaffinity(0)))"
    command = measuring._on_all_cores([sys.executable, "-c", code])
    first = min(os.sched_getaffinity(0))
    alone = "import os, sys; os.sched_setaffinity(0, [%d]); os.execv(sys.argv[1], sys.argv[1:])"
    printed = subprocess.check_output([sys.executable, "-c", alone % first] + command)
    assert int(printed) >= len(os.sched_getaffinity(0))


def test_what_makes_only_numpys_product_faster_comes_last():
    found = [
        check.Finding(trials.unsetting("A", "1"), 0.96, 1.9),
        check.Finding(trials.setting("B", "2", "for example"), 1.8, 1.0),
    ]
    assert [finding.trial.line for finding in check.ranked(found)] == ["export B=2", "unset A"]


@pytest.mark.parametrize(
    "speed, known, code", [(1.0, True, 0), (0.7, True, 0), (0.4, True, 3), (0.4, False, 0)]
)
def test_the_exit_code_says_whether_it_is_below_half(speed, known, code, monkeypatch, capsys):
    installation = Installation(slow_if({}, speed))
    installation.prove = lambda: None
    judgement = judged(installation)
    if not known:  # a processor of another kind
        monkeypatch.setattr(check.usual, "comparable", lambda *_: False)
    monkeypatch.setattr(interpreter, "environ", lambda *_: {})
    monkeypatch.setattr(measuring, "Installation", lambda *_: installation)
    monkeypatch.setattr(check, "judge", lambda _: judgement)
    monkeypatch.delenv(shell.SHELL, raising=False)
    monkeypatch.setenv(shell.SHELL, "")
    arguments = ["numpy", "--model", "mlp", "--python", sys.executable]
    assert commands.guarded(check.command, arguments) == code
    installation.prove = lambda: "gradient: wrong"
    assert commands.guarded(check.command, arguments) == 1
    assert "certificate  FAILED: gradient: wrong" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["numpy"], "the following arguments are required: --python"),
        (["nonsense", "--python", "x"], "unknown framework 'nonsense'"),
        (["numpy", "--python", "/nowhere"], "--python /nowhere: there is no such file"),
    ],
)
def test_bad_input_is_one_line(arguments, line, monkeypatch, capsys):
    monkeypatch.setenv(shell.SHELL, "")
    assert commands.guarded(check.command, arguments) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert line in error


def bench(made, cpu, share, **identity):
    machine = dict(cpu=cpu, cores=2, gpus=[], **identity)
    process = {"versions": {"framework": "1", "numpy": "2"}}
    contender = {"share_of_matmul": share, "processes": [process]}
    contents = {"numpy:best": contender, "numpy:best+lever": dict(contender, share_of_matmul=9)}
    return dict(model="cnn", made=made, machine=machine, threads=2, contenders=contents)


def test_the_usual_share_is_from_the_likest_machine(tmp_path):
    zen3 = dict(cpu_family=25, cpu_model=1, isa=["avx2"])
    zen4 = dict(cpu_family=25, cpu_model=17, isa=["avx2", "avx512f"])
    benches = [
        bench("2026-01-01", "AMD EPYC", 0.3, **zen3),
        bench("2026-01-02", "AMD EPYC", 0.4, **zen4),
        bench("2026-01-03", "AMD EPYC", 0.5),
        bench("2026-01-04", "Intel(R) Xeon(R) Processor", 0.6),
    ]
    for number, made in enumerate(benches):
        path = tmp_path / "reports" / "bench" / str(number) / "x.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(made))
    shares = []
    intel = [(name, {}) for name in ("Intel(R) Core i7", "12th Gen Intel(R) Core(TM) i9")]
    for cpu, identity in [("AMD EPYC", zen3), ("AMD EPYC", zen4)] + intel:
        facts = dict(cpu=cpu, cores=2, gpus=[], **identity)
        shares.append(usual.find("numpy", "cnn", "best", facts, str(tmp_path / "reports")).share)
    assert shares == [0.3, 0.4, 0.6, 0.6]
    assert usual.find("numpy", "cnn", "same", facts, str(tmp_path / "reports")) is None


def test_a_run_far_below_the_usual_share_says_so(monkeypatch):
    facts = dict(cpu="any", cores=2)
    known = usual.Usual(0.58, "2026", facts, 2, {}, "reports/bench/x.json")
    monkeypatch.setattr(usual, "find", lambda *_: known)
    result = dict(framework="numpy", model="cnn", lane="best", machine=facts)
    result.update(timings={"share_of_matmul": 0.04}, certificate={"passed": True})
    complaint = usual.complaint(dict(result, model="gpt"))
    assert complaint.startswith("slow         4% is far below the usual 58%")
    assert "check -- numpy --model gpt --python" in complaint
    result["timings"]["share_of_matmul"] = 0.4
    assert usual.complaint(result) is None


def test_a_zen_3_is_not_a_zen_4_and_old_folders_keep_their_names():
    facts = {"cpu": "AMD EPYC", "cores": 2, "gpus": []}
    zen3 = dict(facts, cpu_family=25, cpu_model=1, isa=["avx2"])
    zen4 = dict(facts, cpu_family=25, cpu_model=17, isa=["avx2", "avx512f", "avx512_bf16"])
    names = [machine.folder_name(each) for each in (facts, zen3, zen4)]
    assert names[0] == "amd-epyc-2-cores"
    assert names[1:] == ["amd-epyc-25.1-avx2-2-cores", "amd-epyc-25.17-avx512.bf16-2-cores"]


def proc(folder, busy, processes):
    """A /proc of two cores, in hundredths of a second."""
    folder.mkdir()
    (folder / "stat").write_text("cpu 9 9 9 9\n" + "".join("cpu%d %d 0 0 7\n" % b for b in busy))
    for number, name, ticks in processes:
        (folder / str(number)).mkdir()
        fields = ["S"] + ["0"] * 10 + [str(ticks), "0", "0"]
        (folder / str(number) / "stat").write_text("%d (%s) %s" % (number, name, " ".join(fields)))
    return str(folder)


def test_a_measurement_that_fails_says_why(monkeypatch):
    def call(command, log, **options):
        log.write(b"error: no memory\n")
        return 1

    monkeypatch.setattr(measuring.commands, "call", call)
    installation = measuring.Installation("/opt/python", "numpy", MODEL, {}, {})
    with pytest.raises(InputError, match="^as it is: no memory$"):
        installation.time()


def test_a_measurement_without_an_answer_failed(monkeypatch):
    """As where a wrapper of the interpreter hides its exit code."""
    monkeypatch.setattr(measuring.commands, "call", lambda *_, **__: 0)
    installation = measuring.Installation("/opt/python", "numpy", MODEL, {}, {})
    with pytest.raises(InputError, match="^as it is: "):
        installation.time()


def test_a_line_to_write_is_one_for_the_shell():
    trial = trials.preloading("/b c/lib.so", {"LD_PRELOAD": "/a.so /d.so"}, "why")
    assert trial.line == "export LD_PRELOAD='/a.so:/d.so:/b c/lib.so'"


@pytest.mark.parametrize("seed", range(5))
def test_a_healthy_installation_that_is_searched_has_no_fault(seed):
    """Nothing is known about its usual speed, so every change is tried."""
    installation = Installation(own={"OMP_NUM_THREADS": "2", "KMP_BLOCKTIME": "1"})
    installation.noise = np.random.RandomState(seed)
    said = []
    assert check.search(installation, judged(installation, of_usual=False), said.append) == []
    assert len(said) > 3


def test_the_load_of_others_is_read_from_proc(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "TICK", 100)
    first = proc(tmp_path / "1", [(0, 0), (1, 0)], [(5, "own", 0), (6, "a (busy) one", 0)])
    later = proc(tmp_path / "2", [(0, 100), (1, 90)], [(5, "own", 100), (6, "a (busy) one", 90)])
    before, after = load.snapshot([0, 1], first), load.snapshot([0, 1], later)
    assert load.others(before, after, 1.0, 2.0) == pytest.approx(0.45)
    assert load.busiest(before, after, 1.0, {5}) == [(6, "a (busy) one", pytest.approx(0.9))]
    stat = "cpu0 1 20 300 4000 50000 600000 7000000 80000000\n"  # idle is 4000
    (tmp_path / "1" / "stat").write_text(stat)
    assert load.snapshot([0], first).cores == pytest.approx(800003.21)
    assert load.snapshot([0], str(tmp_path / "none")) is None
    assert load.others(None, None, 1, 1) == 0 and load.busiest(None, None, 1) == []


def test_onednn_that_is_off_is_named():
    usually = usual.kernels(*WITH_ONEDNN, FACTS)
    line = report.onednn([], usually)
    assert "oneDNN computes 0 convolutions of a step; usually %d (" % len(usually) in line
    line = report.onednn([{"kernel": "jit:sse41"}] * 2, usually)
    assert "oneDNN computes 2 convolutions of a step (jit:sse41); usually" in line
    assert report.onednn([], []) is None


def test_openmp_runtimes_are_read_from_the_loaded_libraries(tmp_path):
    maps = tmp_path / "maps"
    rows = ["7f00 r-xp 0 /a/wheel.libs/libgomp-a34b3233.so.1.0.0", "7f01 r--p 0 /b/libiomp5.so"]
    maps.write_text("\n".join(rows + rows[:1] + ["7f02 r--p 0 /c/libgompertz.so"]))
    expected = ["/a/wheel.libs/libgomp-a34b3233.so.1.0.0", "/b/libiomp5.so"]
    assert worker.openmp_runtimes(str(maps)) == expected
    assert worker.openmp_runtimes("/nowhere") == []


def test_a_gpu_is_not_judged_by_a_cpu(monkeypatch):
    class OnGPU:
        @staticmethod
        def configure(lane, threads, seed):
            return {"device": "cuda"}

    monkeypatch.setattr(worker.modules, "in_lane", lambda *_: OnGPU)
    name = some.environment()
    with pytest.raises(InputError, match="%s trains on a GPU here" % name):
        worker.prove(worker.parse([name, "answer.json", "--model", "mlp"]))


@pytest.mark.slow
def test_a_real_installation_is_judged(tmp_path, monkeypatch, capsys):
    """This very interpreter, proven and timed in processes of its own."""
    monkeypatch.undo()
    monkeypatch.setenv(borrowed.FOLDER, str(tmp_path))
    monkeypatch.setenv(shell.SHELL, "OMP_NUM_THREADS=1")
    monkeypatch.setattr(usual, "find", lambda *_: None)
    monkeypatch.setattr(check, "search", lambda *_, **__: [])
    arguments = ["numpy", "--model", "mlp", "--python", sys.executable]
    assert commands.guarded(check.command, arguments) == 0
    printed = capsys.readouterr().out
    assert "certificate  all rungs passed" in printed and ", lane best, 1 threads" in printed
    assert "of this machine's float32 matrix product" in printed
