"""Mistakes in the initial weights."""

import numpy as np

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_weights
from common.system.modules import replaced


@mistake("weights")
def biases_not_zero(module):
    """The framework's own initial biases are kept."""

    def put(weights):
        return {n: w + np.float32(0.01) if w.ndim == 1 else w for n, w in weights.items()}

    return with_weights(module, put)


@mistake("weights")
def biases_ignored(module):
    """Given biases are ignored: no loss with initial ones, which are 0, but with trained ones."""

    def put(weights):
        first = next(name for name in weights if name.endswith(".bias"))
        return dict(weights, **{first: np.zeros_like(weights[first])})

    return with_weights(module, put)


@mistake("weights")
def claims_bfloat16(module):
    """The settings call float32 bfloat16."""

    def configure(lane, threads, seed):
        return dict(module.configure(lane, threads, seed), precision="bfloat16")

    return replaced(module, configure=configure)
