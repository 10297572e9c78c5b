"""The versions of CUDA and cuDNN that a process uses, from the loaded libraries."""

import ctypes
import re
from collections import OrderedDict
from contextlib import suppress

MAPS = "/proc/self/maps"  # where Linux lists a process's libraries


def versions():
    """{"cuda": "12.4", "cudnn": "9.1.0"}, if they are loaded.

    Call this after a step, because some frameworks load cuDNN late. A statically linked CUDA
    runtime is not found.
    """
    known = OrderedDict()
    for name, library, ask in (("cuda", "libcudart", _runtime), ("cudnn", "libcudnn", _cudnn)):
        path = _loaded(library)
        if path:
            with suppress(OSError, AttributeError):  # a run must not fail because of this
                known[name] = ask(ctypes.CDLL(path))
    return known


def _loaded(library):
    """The path of a loaded library; None if it is not loaded or unknown."""
    try:
        with open(MAPS) as file:
            match = re.search(r"(/\S*/%s(-\w+)?\.so\S*)$" % library, file.read(), re.MULTILINE)
    except OSError:
        return None
    return match and match.group(1)


def _runtime(library):
    number = ctypes.c_int()
    library.cudaRuntimeGetVersion(ctypes.byref(number))
    return "%d.%d" % (number.value // 1000, number.value % 1000 // 10)


def _cudnn(library):
    library.cudnnGetVersion.restype = ctypes.c_size_t
    number = library.cudnnGetVersion()
    major = 10000 if number >= 90000 else 1000  # since cuDNN 9
    return "%d.%d.%d" % (number // major, number % major // 100, number % 100)
