"""A certificate is kept while all that it rests on stays the same, and only then."""

import os
import types

import pytest

import frameworks
from common.networks.cnn import CNN
from common.networks.lstm import LSTM
from common.networks.mlp import MLP
from common.proof import certificate
from common.system import interpreter, machine, modules, shell, source, workers
from common.system.errors import InputError
from common.system.files import write_json
from frameworks import variants
from tests import some

NAME, LANE = frameworks.REFERENCE, "same"
SETTINGS = {"device": "cpu", "precision": "float32", "threads": 1, "seed": 0, "switch": True}
FACTS = {"cpu": "a CPU", "cpu_family": 1, "cpu_model": 2, "isa": ["avx2"]}
FACTS.update(gpus=[], cpu_switches={}, memory_bytes=1)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ROSETTA_CACHE", str(tmp_path / "cache"))
    for name in (workers.PLACE, machine.OWN, shell.SHELL):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine, "facts", lambda: dict(FACTS))


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "network.py"
    path.write_text("x = 1\n")
    return types.SimpleNamespace(__file__=str(path))


def edit(module, text):
    with open(module.__file__, "a") as file:
        file.write(text)


def identity(module, model=MLP, name=NAME, lane=LANE, lever="", **settings):
    return certificate.identity(model, name, module, lane, dict(SETTINGS, **settings), lever)


def obtain(module, **options):
    return certificate.obtain(MLP, NAME, module, LANE, dict(SETTINGS), **options)


def path_of(module):
    return certificate._path(MLP, NAME, LANE, identity(module))


def test_names_for_older_versions_are_in_the_key(module, monkeypatch):
    name = some.environment(lambda env: modules.has(env.name, "older"))
    monkeypatch.setattr(machine, "versions", lambda package: {})
    before, read = identity(module, CNN, name), source.read
    path = frameworks.path(frameworks.ENVIRONMENTS[name], "older")
    changed = lambda other: read(other) + "x = 1\n" * (str(other) == path)  # noqa: E731
    monkeypatch.setattr(source, "read", changed)
    assert identity(module, CNN, name) != before


def test_a_proof_may_use_all_cores_though_openmp_has_bound_this_thread():
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with machine.running_on(machine.allowed_cores()):
            assert os.sched_getaffinity(0) == cores
        assert os.sched_getaffinity(0) == {min(cores)}
    finally:
        os.sched_setaffinity(0, cores)


def test_a_seed_and_a_comment_are_not_in_the_key_but_code_is(module):
    before = identity(module)
    edit(module, "# a comment\n")
    assert identity(module, seed=7) == before
    edit(module, "y = 2\n")
    assert identity(module) != before


@pytest.mark.parametrize(
    "change",
    [
        {"switch": False},
        {"threads": 2},
        {"workers": 2},
        {"lane": "best"},
        {"model": LSTM},
        {"name": some.PLAIN},
    ],
    ids=lambda change: "-".join(change),
)
def test_what_a_run_asks_for_is_in_the_key(module, change):
    assert identity(module, **change) != identity(module)


@pytest.mark.parametrize("key", ["python", "numpy", "framework", "blas"])
def test_versions_are_in_the_key(module, key, monkeypatch):
    before, found = identity(module), machine.versions(NAME)
    monkeypatch.setattr(machine, "versions", lambda package: dict(found, **{key: "another"}))
    assert identity(module) != before


@pytest.mark.parametrize(
    "change",
    [
        {"cpu": "another"},
        {"cpu_family": 9},
        {"cpu_model": 9},
        {"isa": ["avx2", "avx512f"]},
        {"gpus": [{"name": "a GPU", "memory": "1 MiB", "driver": "1"}]},
        {"cpu_switches": {"MKL_CBWR": "AVX2"}},
    ],
    ids=lambda change: "-".join(change),
)
def test_the_machine_is_in_the_key(module, change, monkeypatch):
    before = identity(module)
    monkeypatch.setattr(machine, "facts", lambda: dict(FACTS, memory_bytes=2))
    assert identity(module) == before  # no arithmetic depends on it
    monkeypatch.setattr(machine, "facts", lambda: dict(FACTS, **change))
    assert identity(module) != before


@pytest.mark.parametrize("variable", ["NVIDIA_TF32_OVERRIDE", "CUDA_VISIBLE_DEVICES"])
def test_variables_that_choose_a_gpu_or_its_products_are_in_the_key(module, variable, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    before = identity(module)
    monkeypatch.setenv(variable, "1")
    assert identity(module) != before


def test_the_variables_that_tox_sets_are_in_the_key(module, monkeypatch):
    before = identity(module)
    other = frameworks.ENVIRONMENTS[NAME]._replace(set_env={"FLAGS": "another"})
    monkeypatch.setitem(frameworks.ENVIRONMENTS, NAME, other)
    assert identity(module) != before


def test_a_levers_patches_of_other_files_are_in_the_key(module, monkeypatch):
    made = {identity(module)}
    for new, environ in (("one", {}), ("two", {}), ("two", {"SWITCH": "1"})):
        lever = variants.tried("any", "", ("old", new, "beside"), **environ)
        monkeypatch.setattr(modules, "find_lever", lambda *_, lever=lever, **__: lever)
        made.add(identity(module, lever="any"))
    assert len(made) == 4


def test_the_references_rounding_is_in_the_key_of_lane_bf16(monkeypatch):
    def has_it(name):
        return name != NAME and modules.has(name, "cnn") and modules.has(name, "bf16")

    name = next(filter(has_it, frameworks.ENVIRONMENTS))
    edited = "frameworks/%s/bf16.py" % NAME
    read, own = certificate.source.read, certificate.basis.own
    before = own(name, "cnn", "bf16"), own(name, "cnn", "best")
    monkeypatch.setattr(
        certificate.source, "read", lambda path: read(path) + "\nx = 1\n" * (path == edited)
    )
    after = own(name, "cnn", "bf16"), own(name, "cnn", "best")
    assert after[0] != before[0] and after[1] == before[1]


def test_the_users_own_interpreter_is_in_the_key(module, monkeypatch, tmp_path):
    """Its place, its packages, and what its shell sets for maths libraries but threads."""
    made = [identity(module)]
    monkeypatch.setenv(machine.OWN, "/any/python")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    made.append(identity(module))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert identity(module) == made[-1]  # a setting
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    made.append(identity(module))
    monkeypatch.setattr(interpreter.sys, "prefix", "/another")
    made.append(identity(module))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert identity(module) == made[-1]
    (tmp_path / "jaxlib-2.dist-info").mkdir()
    made.append(identity(module))
    assert len(set(made)) == len(made)


class Prover:
    """Stands for the process that makes a certificate."""

    def __init__(self, module, passed=True, code=None, writes=True):
        self.module, self.passed, self.writes = module, passed, writes
        self.code = (0 if passed else certificate.FAILED) if code is None else code
        self.commands = []

    def __call__(self, command, log=None, **options):
        path = path_of(self.module)
        assert not os.path.exists(path)  # a file found later is new
        self.commands.append(command)
        if self.writes:
            write_json(path, {"identity": identity(self.module), "passed": self.passed})
        return self.code


@pytest.fixture
def prover(module, monkeypatch):
    def install(**options):
        made = Prover(module, **options)
        monkeypatch.setattr(certificate.commands, "call", made)
        return made

    return install


def test_a_certificate_is_made_once_and_again_after_a_change(module, prover):
    process = prover()
    first, second = obtain(module, team=2), obtain(module)
    assert first == second and first["passed"] and len(process.commands) == 1
    assert process.commands[0][1:] == (
        "-m common.proof %s --model mlp --lane same --threads 1 --workers 2" % NAME
    ).split(" ")
    edit(module, "y = 2\n")
    obtain(module)
    assert len(process.commands) == 2


def test_one_that_failed_is_returned_but_made_again(module, prover):
    process = prover(passed=False)
    assert not obtain(module)["passed"] and not obtain(module)["passed"]
    assert len(process.commands) == 2
    prover()
    assert obtain(module)["passed"]


@pytest.mark.parametrize("code, writes", [(1, True), (-11, True), (2, False), (0, False)])
def test_what_a_process_that_crashed_left_is_never_used(module, prover, code, writes):
    prover(code=code, writes=writes)
    with pytest.raises(InputError, match="the certificate could not be made"):
        obtain(module)
    process = prover()
    obtain(module)
    assert len(process.commands) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"passed": true}', b"[]"])
def test_a_damaged_file_is_no_certificate(module, prover, content):
    path = path_of(module)
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(content)
    assert certificate._kept(MLP, NAME, LANE, identity(module)) is None


def test_a_name_alone_is_no_identity(module):
    digest = identity(module)
    write_json(path_of(module), {"identity": digest[:16] + 48 * "0", "passed": True})
    assert certificate._kept(MLP, NAME, LANE, digest) is None


def test_a_worker_proves_nothing_itself(module, prover, monkeypatch, tmp_path):
    process = prover()
    obtain(module)
    monkeypatch.setenv(workers.PLACE, str(tmp_path))
    assert obtain(module)["passed"]
    edit(module, "y = 2\n")
    with pytest.raises(InputError, match="could not be made"):
        obtain(module)
    assert len(process.commands) == 1
