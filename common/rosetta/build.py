"""python -m common.rosetta.build OUT.pyz: one file that runs wherever there is NumPy.

It holds the shared code, the NumPy reference, and two libraries in pure Python, with their
licences. Code that lists its folder cannot run inside an archive, so the file unpacks itself into a
temporary folder first, in a tenth of a second.
"""

import importlib.util
import os
import sys
import zipfile

from common.system import commands
from common.system.errors import InputError
from common.system.files import ROOT, atomic_write

SHEBANG = b"#!/usr/bin/env python3\n"
SOURCES = ("common", "frameworks/numpy", "frameworks/__init__.py", "frameworks/facts.py")
SOURCES += ("frameworks/open_mpi.py", "frameworks/variants.py", "LICENSE")
ENDINGS = (".py", ".json", ".html", ".md", "LICENSE")
LEFT_OUT = ("common/bench", "common/lessons", "common/profiles", "common/exchange")
BUNDLED = ("tqdm", "threadpoolctl")  # MPL and MIT; BSD
# The modules that download data sets import these, but a challenge makes its own data.
ABSENT = {
    "requests.py": '"""Not in rosetta.pyz, which downloads nothing."""\n',
    "pooch.py": '''\
"""Not in rosetta.pyz, which downloads nothing; only the cache's folder."""

import os


def os_cache(project):
    """The project's folder."""
    return os.path.join(os.path.expanduser("~"), ".cache", project)
''',
}
WHEN = (2020, 1, 1, 0, 0, 0)  # of every member: the same code makes the same file

MAIN = '''\
"""Unpack this file into a temporary folder, and run rosetta from there."""

import os
import sys
import tempfile
import zipfile

try:
    import numpy
except ImportError:
    sys.exit("error: rosetta needs NumPy: pip install numpy")

with tempfile.TemporaryDirectory(prefix="rosetta-") as folder:
    with zipfile.ZipFile(os.path.dirname(os.path.abspath(__file__))) as archive:
        archive.extractall(folder)
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    from common.rosetta.command import main

    code = main()
sys.exit(code)
'''


def files(start, folder):
    """Yield (path in the archive, path) of all files at ``folder``/``start``."""
    path = os.path.join(folder, start)
    if os.path.isfile(path):
        yield start, path
    for inside, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            whole = os.path.join(inside, name)
            yield os.path.relpath(whole, folder).replace(os.sep, "/"), whole


def bundled(name):
    """Yield (path in the archive, path) of an installed library's files and licence."""
    origin = importlib.util.find_spec(name).origin
    package = os.path.basename(origin) == "__init__.py"
    folder = os.path.dirname(os.path.dirname(origin) if package else origin)
    start = name if package else os.path.basename(origin)
    for inside, path in files(start, folder):
        yield inside, path
    for about in sorted(os.listdir(folder)):
        if about.lower().startswith(name + "-") and about.endswith("-info"):
            for inside, path in files(about, folder):
                if "licen" in inside.lower() or inside.endswith("METADATA"):
                    yield inside, path


def members():
    """Yield (path in the archive, path) of everything."""
    for start in SOURCES:
        for inside, path in files(start, ROOT):
            if inside.endswith(ENDINGS) and not inside.startswith(LEFT_OUT):
                yield inside, path
    for name in BUNDLED:
        for member in bundled(name):
            yield member


def build(out):
    """Write the file, atomically."""
    with atomic_write(out) as file:
        file.write(SHEBANG)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in dict(ABSENT, **{"__main__.py": MAIN}).items():
                put(archive, name, text.encode())
            for inside, path in members():
                with open(path, "rb") as source:
                    put(archive, inside, source.read())
    os.chmod(out, 0o755)


def put(archive, name, content):
    """Add a member, without the time of its file."""
    entry = zipfile.ZipInfo(name, WHEN)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(entry, content)


def command(arguments):
    """Exit code 0."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        raise InputError("say where to write: python -m common.rosetta.build OUT.pyz")
    build(arguments[0])
    print("%s  %.1f MB" % (arguments[0], os.path.getsize(arguments[0]) / 1e6))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
