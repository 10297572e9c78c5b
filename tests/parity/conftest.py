"""Leave out the tests of what a framework does not have."""

from common.system import modules
from tests.parity.test_findings import snippets


def pytest_ignore_collect(collection_path, config):
    name = config.getoption("--framework")
    for file in ("by_hand", modules.PLAIN):
        if collection_path.name == "test_%s.py" % file:
            return None if modules.has(name, file) else True
    if collection_path.name == "test_findings.py":
        return None if snippets(name) else True
    return None
