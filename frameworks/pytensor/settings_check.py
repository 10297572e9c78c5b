"""PyTensor: mode and operations are read from a compiled function, libraries from the process."""

import pytensor
import threadpoolctl
from pytensor.compile.mode import predefined_optimizers
from pytensor.link.c.op import OpenMPOp

from frameworks.effects import is_loaded


def in_force(module, settings, model):
    train_step, _, shared = model
    (precision,) = {w.dtype for w in shared.values()}
    operations = [node.op for node in train_step.maker.fgraph.apply_nodes]
    (openmp,) = {operation.openmp for operation in operations if isinstance(operation, OpenMPOp)}
    (threads,) = {library["num_threads"] for library in threadpoolctl.threadpool_info()}
    used = train_step.maker.mode.provided_optimizer
    names = [name for name, known in predefined_optimizers.items() if known is used]
    assert type(train_step.vm).__name__ == "CVM"
    return {
        "precision": precision,
        "optimizer": names[-1],  # it is also "o4"
        "linker": "cvm" if train_step.vm.allow_gc else "cvm_nogc",
        "openmp": openmp,
        "threads": threads,
        "blas__ldflags": " ".join(filter(is_loaded, pytensor.config.blas__ldflags.split())),
    }
