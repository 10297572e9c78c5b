"""Make a newer MKL use its fast kernels on an AMD processor.

MKL asks one of its own functions whether the processor is Intel's. On any other it leaves out
AVX-512. MKL up to 2020.0 has a variable against that, later versions have none. There, a preloaded
library can answer in the function's place (https://danieldk.eu/Posts/2020-08-31-MKL-Zen.html).
"""

import os
import re
import shutil
import subprocess
import tempfile

from common.system.files import cache_folder

LIBRARY = "mkl_on_amd.so"
SOURCE = b"int mkl_serv_intel_cpu_true(void) { return 1; }\n"
COMPILERS = ("cc", "gcc", "clang")


def preloaded():
    """{variable: value} for a process; empty if there is no C compiler."""
    path = os.path.join(cache_folder(), LIBRARY)
    if re.search("[ :]", path):  # the loader would take it for two
        return {}
    return {"LD_PRELOAD": _joined(path)} if os.path.isfile(path) or _built(path) else {}


def _joined(path):
    """The value of LD_PRELOAD with the library at ``path``, after what is preloaded already."""
    others = libraries(os.environ)
    return ":".join([other for other in others if not other.endswith(LIBRARY)] + [path])


def libraries(environ):
    """The libraries that LD_PRELOAD names."""
    return list(filter(None, re.split("[ :]", environ.get("LD_PRELOAD", ""))))


def _built(path):
    """Whether the library could be built at ``path``."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        return False
    try:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
            part = os.path.join(folder, LIBRARY)
            command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", part]
            if subprocess.run(command, input=SOURCE, stderr=subprocess.DEVNULL).returncode:
                return False
            os.replace(part, path)  # another process may be building it, too
    except OSError:  # the cache cannot be written
        return False
    return True


def in_force(environ):
    """Whether a process with these variables has the library."""
    return LIBRARY in environ.get("LD_PRELOAD", "")
