"""Give Debian's Open MPI the names under which CNTK's library asks for it.

CNTK 2.7 was linked with Open MPI 1.10. Open MPI 4 has the same calls; only its files are named
otherwise. ``python -m frameworks.cntk.mpi FOLDER`` makes the links; FOLDER must then be in
LD_LIBRARY_PATH when Python starts.
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


def main(folder):
    """Make the links in ``folder``; what to install, where a library is missing."""
    os.makedirs(folder, exist_ok=True)
    for name, library in NAMES.items():
        try:
            target = path_of(library)
        except OSError:
            return "CNTK needs %s; get it with: apt install libopenmpi3" % library
        link = os.path.join(folder, name)
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(target, link)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
