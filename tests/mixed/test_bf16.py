"""Lane bf16 is proven if a framework has it, and a lack of mixed precision is caught."""

import subprocess
import sys
from multiprocessing import get_context

from common.networks.cnn import CNN
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import machine, modules
from common.system.errors import InputError
from common.system.files import ROOT


def pytest_generate_tests(metafunc):
    name = metafunc.config.getoption("--framework")
    try:
        modules.check_lane(name, modules.MIXED)
        lanes, mistakes = [modules.MIXED], list(traps(name))
    except InputError:
        lanes, mistakes = [], []
    if "lane" in metafunc.fixturenames:
        metafunc.parametrize("lane", lanes)
    if "mistake" in metafunc.fixturenames:
        metafunc.parametrize("mistake", mistakes)


def test_certificate(name, lane):
    command = [sys.executable, "-m", "common.proof", name, "--lane", lane]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True)
    print(done.stdout)
    assert done.returncode == 0


def test_what_is_not_mixed_precision_is_caught(name, mistake, threads, tmp_path):
    """In a separate process, because mixed precision may be on for a whole process."""
    with get_context("spawn").Pool(1) as pool:
        rung = pool.apply(first_failed, (name, mistake, threads, str(tmp_path)))
    assert rung == traps(name)[mistake].rung


def traps(name):
    """{name: trap} of a framework's lane."""
    return {trap.name: trap for trap in modules.traps(name, modules.MIXED)}


def first_failed(name, mistake, threads, folder):
    """The first rung that fails with the mistake; empty if none does."""
    machine.limit_threads(threads)
    patches, module = traps(name)[mistake].patches, modules.load(name)
    made = modules.changed(modules.load(name, modules.MIXED), patches, folder, mistake)
    cache = ReferenceCache(CNN, threads)
    certifier = Certifier(CNN, threads, cache, "bfloat16")
    certifier.take(modules.replaced(module, **made.functions(module)), modules.MIXED)
    failed = (rung for rung in certifier.rungs if not certifier.climb(rung, True)["passed"])
    rung = next(failed, "")
    cache.save()
    return rung
