"""Lanes bf16 and tf32 are proven if a framework has them, and a lack of theirs is caught."""

import subprocess
import sys
from contextlib import suppress
from multiprocessing import get_context

from common.networks.cnn import CNN
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import machine, modules
from common.system.errors import InputError
from common.system.files import ROOT


def pytest_generate_tests(metafunc):
    name = metafunc.config.getoption("--framework")
    lanes = []
    for lane in modules.MIXED:
        with suppress(InputError):
            modules.check_lane(name, lane)
            lanes.append(lane)
    if "mistake" in metafunc.fixturenames:
        planted = [(lane, mistake) for lane in lanes for mistake in traps(name, lane)]
        metafunc.parametrize("lane, mistake", planted)
    elif "lane" in metafunc.fixturenames:
        metafunc.parametrize("lane", lanes)


def test_certificate(name, lane):
    command = [sys.executable, "-m", "common.proof", name, "--lane", lane]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True)
    print(done.stdout)
    assert done.returncode == 0


def test_what_is_not_mixed_precision_is_caught(name, lane, mistake, threads, tmp_path):
    """In a separate process, because mixed precision may be on for a whole process."""
    with get_context("spawn").Pool(1) as pool:
        rung = pool.apply(first_failed, (name, lane, mistake, threads, str(tmp_path)))
    assert rung == traps(name, lane)[mistake].rung


def traps(name, lane):
    """{name: trap} of a framework's lane."""
    return {trap.name: trap for trap in modules.traps(name, lane)}


def first_failed(name, lane, mistake, threads, folder):
    """The first rung that fails with the mistake; empty if none does."""
    machine.limit_threads(threads)
    patches, module = traps(name, lane)[mistake].patches, modules.load(name)
    made = modules.changed(modules.load(name, lane), patches, folder, mistake)
    cache = ReferenceCache(CNN, threads)
    certifier = Certifier(CNN, threads, cache, modules.MIXED[lane])
    certifier.take(modules.replaced(module, **made.functions(module)), lane)
    climbed = (certifier.climb(rung, True) for rung in certifier.rungs)
    failed = next((result for result in climbed if not result["passed"]), {"rung": ""})
    cache.save()
    assert failed.get("what") != "ran", failed["detail"]  # it raised an error instead
    return failed["rung"]
