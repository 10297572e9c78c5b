"""Mistakes in the initial weights."""

import numpy as np

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_weights
from common.system.modules import replaced


@mistake("weights")
def biases_not_zero(module):
    """Biases keep the framework's own initial values."""

    def put(weights):
        return {n: w + np.float32(0.01) if w.ndim == 1 else w for n, w in weights.items()}

    return with_weights(module, put)


@mistake("weights")
def biases_ignored(module):
    """The first bias is ignored, which does not show with initial biases of 0.

    In a network without biases it is the first normalisation's weight.
    """

    def put(weights):
        biases = [name for name in weights if name.endswith(".bias")]
        first = (biases or [name for name, w in weights.items() if w.ndim == 1])[0]
        return dict(weights, **{first: np.zeros_like(weights[first])})

    return with_weights(module, put)


@mistake("weights")
def claims_bfloat16(module):
    """The settings say bfloat16, but the run used float32."""

    def configure(lane, threads, seed):
        return dict(module.configure(lane, threads, seed), precision="bfloat16")

    return replaced(module, configure=configure)
