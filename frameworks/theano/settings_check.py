"""Theano: a compiled function tells its mode, its operations and the libraries it has loaded."""

import os

import theano
import threadpoolctl
from theano.gof.op import OpenMPOp


def in_force(module, settings, model):
    train_step, _, shared = model
    (precision,) = {w.dtype for w in shared.values()}
    return dict(compiled(train_step), precision=precision)


def compiled(function):
    """What a compiled function was made with, and runs with."""
    operations = [node.op for node in function.maker.fgraph.apply_nodes]
    (openmp,) = {op.openmp for op in operations if isinstance(op, OpenMPOp)}
    (threads,) = {one["num_threads"] for one in threadpoolctl.threadpool_info()}
    assert type(function.fn).__name__ == "CVM"
    return {
        "optimizer": function.maker.mode.provided_optimizer.name.replace("OPT_", "").lower(),
        "linker": "cvm" if function.fn.allow_gc else "cvm_nogc",
        "openmp": openmp,
        "threads": threads,
        "blas.ldflags": " ".join(filter(is_loaded, theano.config.blas.ldflags.split())),
    }


def is_loaded(flag):
    """Whether the library of a linker's flag is in use; NumPy's and SciPy's own do not count.

    -lNAME is lib and NAME, whatever follows; -l:FILE is the file.
    """
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "site-packages" not in line}
    names = [os.path.basename(path) for path in paths]
    begin = flag[3:] if flag.startswith("-l:") else "lib" + flag[2:]
    return flag[:2] != "-l" or any(name.startswith(begin) for name in names)
