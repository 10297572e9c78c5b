"""The networks of texts at a size that trains in milliseconds; the reference alone has it."""

import hashlib
from collections import OrderedDict
from contextlib import contextmanager

from common import networks
from common.proof.oracle import Oracle

STEPS = 8
SIZES = {65: 13, 64: STEPS, 128: 16, 384: 48, 512: 64, 344: 24, 10000: 40, 125: 6, 300: 24, 100: 8}


def small(name):
    """The network called ``name``, with short texts and small shapes."""
    model = networks.find(name)
    model = model._replace(
        name="small-" + name,
        size_of=name,
        observation=(STEPS,),
        shapes=OrderedDict((n, _shape(n, shape)) for n, shape in model.shapes.items()),
    )
    digest, oracle = hashlib.sha256(), Oracle(model, 1, {})
    for texts, targets in oracle.pairs:
        digest.update(texts.tobytes())
        digest.update(oracle.task.digested(targets))
    return model._replace(batches_sha256=digest.hexdigest())


def _shape(name, shape):
    if name.endswith(("attention.k.weight", "attention.v.weight")):
        return (SIZES[128] // 2, SIZES[128])  # of half as many heads
    return tuple(SIZES.get(size, size) for size in shape)


@contextmanager
def known(name):
    """The small network, which can be found by its name meanwhile."""
    model = small(name)
    networks.ALL[model.name] = networks.MODELS[model.name] = model
    try:
        yield model
    finally:
        del networks.ALL[model.name], networks.MODELS[model.name]
