"""Theano: a compiled function tells its mode, its operations and the libraries it has loaded."""

import theano
import threadpoolctl
from theano.gof.op import OpenMPOp

from frameworks.effects import is_loaded


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
