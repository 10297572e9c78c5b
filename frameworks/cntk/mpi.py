"""Give Debian's Open MPI the names under which CNTK's library asks for it.

CNTK 2.7 was linked with Open MPI 1.10. Open MPI 4 has the same calls; only its files are named
otherwise. tox makes the links when it sets the environment up; elsewhere
``python -m frameworks.cntk.mpi FOLDER`` does. FOLDER must be in LD_LIBRARY_PATH when Python starts.
"""

import ctypes
import os
import sys

NAMES = {"libmpi.so.12": "libmpi.so.40", "libmpi_cxx.so.1": "libmpi_cxx.so.40"}


def path_of(library):
    """Where the loader found ``library``; OSError if it did not."""
    ctypes.CDLL(library)
    with open("/proc/self/maps") as maps:
        paths = [line.split()[-1] for line in maps]
    return next(path for path in paths if os.path.basename(path).startswith(library))


def link(folder):
    """Make the links in ``folder``; OSError where a library is missing.

    A link that is right is left alone: another process may be loading through it.
    """
    os.makedirs(folder, exist_ok=True)
    for name, library in NAMES.items():
        target, made = path_of(library), os.path.join(folder, name)
        if os.path.lexists(made) and os.readlink(made) == target:
            continue
        part = "%s.%d" % (made, os.getpid())
        os.symlink(target, part)
        os.replace(part, made)


def main(folder):
    """Make the links in ``folder``; what to install, where a library is missing."""
    try:
        link(folder)
    except OSError as error:
        return "CNTK needs Open MPI (%s); get it with: apt install libopenmpi3" % error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
