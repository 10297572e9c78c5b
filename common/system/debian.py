"""Debian packages: what environments need beyond pip, and what this machine lacks.

``python -m common.system.debian`` prints all that is missing; it needs nothing but Python.
"""

import ctypes
import shutil

import frameworks

# What tests need: {tox environment: {package: its program or library}}.
TESTS = {
    "report-test": {"chromium": "chromium"},
    "challenge-test": {"gcc": "gcc", "libopenblas-dev": "libopenblas.so"},
}


def missing(packages):
    """The names in ``packages``, {package: its program or library}, that this machine lacks."""

    def there(file):
        try:
            return bool(shutil.which(file) or ctypes.CDLL(file))
        except OSError:
            return False

    return [package for package, file in packages.items() if not there(file)]


def needs(environment):
    """{package: its program or library} of a tox environment."""
    known = dict(frameworks.ENVIRONMENTS, **frameworks.FOR_WORKERS)
    return known[environment].system if environment in known else TESTS.get(environment, {})


if __name__ == "__main__":
    print(*sorted({p for e in [*frameworks.ENVIRONMENTS, *TESTS] for p in missing(needs(e))}))
