"""Link Debian's Open MPI 4 under the names that a library linked with Open MPI 1.10 looks for.

Both have the same calls; only the files' names differ. tox makes the links before it runs a
command; without tox, use ``python -m frameworks.open_mpi FOLDER``. FOLDER must be in
LD_LIBRARY_PATH when Python starts.
"""

import ctypes
import os
import sys

NAMES = {"libmpi.so.12": "libmpi.so.40", "libmpi_cxx.so.1": "libmpi_cxx.so.40"}


def path_of(library):
    """The file of ``library`` that the loader finds; OSError if there is none."""
    ctypes.CDLL(library)
    with open("/proc/self/maps") as maps:
        paths = [line.split()[-1] for line in maps]
    return next(path for path in paths if os.path.basename(path).startswith(library))


def link(folder):
    """Make the links in ``folder``; OSError if a library is missing.

    A correct link is not replaced, because another process may be using it.
    """
    os.makedirs(folder, exist_ok=True)
    for name, library in NAMES.items():
        target, made = path_of(library), os.path.join(folder, name)
        if os.path.lexists(made) and os.readlink(made) == target:
            continue
        part = "%s.%d" % (made, os.getpid())
        os.symlink(target, part)
        os.replace(part, made)


def prepare(env_dir):
    """Make the links in the folder of ``facts.OLD_OPEN_MPI_PATH``."""
    link(os.path.join(str(env_dir), "mpi"))


def main(folder):
    """Make the links in ``folder``; return an instruction if a library is missing."""
    try:
        link(folder)
    except OSError as error:
        return "Open MPI is missing (%s); get it with: apt install libopenmpi3" % error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
