"""Mixed precision in MXNet: products of bfloat16, weights and updates of float32.

Idiom: ``amp.init`` before the network is made. It wraps MXNet's operators: convolutions and dense
    layers cast their inputs to bfloat16, and operators that need float32 cast them back.
Surprise: it acts on the whole process and cannot be undone. NumPy has no bfloat16, so scores are
    cast before they leave MXNet.
"""

import numpy as np
from mxnet import nd
from mxnet.contrib import amp


def functions(module):
    """The functions of a network's ``module`` that differ in this lane: {name: function}."""

    def configure(lane, threads, seed):
        """As in lane best; products take bfloat16."""
        settings = module.configure("best", threads, seed)
        amp.init("bfloat16")
        return dict(settings, products="bfloat16")

    def predict(model, x):
        """Scores (n, 10) of every row, including the last partial batch."""
        network = model[0]
        device = network[-1].weight.list_ctx()[0]
        parts = [nd.array(x[first : first + 256], device) for first in range(0, len(x), 256)]
        scores = [nd.amp_cast(network(part), dtype="float32").asnumpy() for part in parts]
        return np.concatenate(scores)

    return dict(configure=configure, predict=predict)
