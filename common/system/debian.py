"""The Debian packages that environments need beyond pip, and which of them are missing.

``python -m common.system.debian [ENVIRONMENT ...]`` prints the missing packages, by default for all
tox environments. It needs only Python.
"""

import ctypes
import os
import re
import shutil
import sys

import frameworks

FACTS = dict(frameworks.ENVIRONMENTS, **frameworks.FOR_WORKERS)
# {tox environment for tests: {package: its program or library}}.
TESTS = {
    "browser-test": {"chromium": os.environ.get("CHROMIUM") or "chromium"},
    "port-test": {"gcc": "gcc", "libopenblas-dev": "libopenblas.so"},
}


def missing(packages):
    """The names in ``packages``, {package: its program or library}, that are missing here.

    On other systems than Linux the list is empty, because nothing is known of their packages.
    """
    if not sys.platform.startswith("linux"):
        return []

    def there(file):
        try:
            return bool(shutil.which(file) or ctypes.CDLL(file))
        except OSError:
            return False

    return [package for package, file in packages.items() if not there(file)]


def needs(environment):
    """{package: its program or library} for a tox environment."""
    kind, name = re.match("(test-|mistakes-|workers-)?(.*)", environment).groups()
    name = frameworks.WORKERS.get(name, name) if kind == "workers-" else name
    return FACTS[name].system if name in FACTS else TESTS.get(environment, {})


if __name__ == "__main__":
    environments = sys.argv[1:] or [*FACTS, *TESTS]
    print(*sorted({package for name in environments for package in missing(needs(name))}))
