"""Options and fixtures of the whole harness."""

import pytest

import frameworks
from common import machine
from common.rungs import Certifier


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
    return frameworks.load_module(name)


@pytest.fixture(scope="session")
def certifier(threads):
    """One for all tests, so that the reference computes everything once."""
    return Certifier(threads)
