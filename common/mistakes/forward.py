"""Mistakes in the forward pass."""

import numpy as np

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_weights
from common.system.modules import replaced


@mistake("forward", "convolution")
def kernel_flipped(module):
    """A true convolution instead of cross-correlation, some frameworks' default."""

    def flip(weights):
        return {
            name: w[:, :, ::-1, ::-1].copy() if w.ndim == 4 else w for name, w in weights.items()
        }

    return with_weights(module, flip, flip)


@mistake("forward")
def rows_of_a_prediction_out_of_order(module):
    """predict() works in chunks and concatenates them in the wrong order."""

    def predict(model, x):
        chunks = [module.predict(model, x[i : i + 64]) for i in range(0, len(x), 64)]
        return np.concatenate(chunks[::-1])

    return replaced(module, predict=predict)


@mistake("forward")
def last_partial_batch_lost(module):
    """The rows after the last whole batch get no scores."""

    def predict(model, x):
        scores = module.predict(model, x)
        return np.concatenate([scores[: len(x) // 64 * 64], 0 * scores[len(x) // 64 * 64 :]])

    return replaced(module, predict=predict)


@mistake("forward")
def scores_in_half_precision(module):
    """Scores are rounded to float16."""

    def predict(model, x):
        return module.predict(model, x).astype(np.float16).astype(np.float32)

    return replaced(module, predict=predict)
