"""Options and fixtures for all tests."""

import pytest

from common import networks
from common.system import machine, modules


def pytest_addoption(parser):
    parser.addoption("--framework", default="numpy", help="the framework under test")
    parser.addoption("--model", default="cnn", help="the model under test")


@pytest.fixture(scope="session")
def name(request):
    return request.config.getoption("--framework")


@pytest.fixture(scope="session")
def model(request):
    """The description of the model."""
    return networks.find(request.config.getoption("--model"))


@pytest.fixture(scope="session")
def threads():
    """As many threads as the machine has cores, like a run."""
    threads = machine.usable_cores()
    machine.limit_threads(threads)
    return threads


@pytest.fixture(scope="session")
def module(name, model, threads):
    """The framework's module with the six steps."""
    return modules.load(name, model.name)
