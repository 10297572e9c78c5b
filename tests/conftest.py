"""Options and fixtures of the whole harness."""

import pytest

from common.host import machine, modules
from common.proof.rungs import Certifier


def pytest_addoption(parser):
    parser.addoption("--framework", default="numpy", help="the framework under test")


@pytest.fixture(scope="session")
def name(request):
    return request.config.getoption("--framework")


@pytest.fixture(scope="session")
def threads():
    """As many as the machine has: what a run uses, too."""
    threads = machine.usable_cores()
    machine.limit_threads(threads)
    return threads


@pytest.fixture(scope="session")
def module(name, threads):
    """The framework's module with the six steps."""
    return modules.load(name)


@pytest.fixture(scope="session")
def certifier(threads):
    """One for all tests, so that the reference computes everything once."""
    return Certifier(threads)
