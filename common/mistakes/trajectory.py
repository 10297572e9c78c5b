"""Mistakes that only show after several steps or with several models."""

import numpy as np

from common.mistakes.mistake import mistake
from common.system.modules import replaced


@mistake("trajectory")
def models_share_state(module):
    """A new model replaces the previous one, as blobs of the same name do."""
    last = {}

    def loss(network, settings, hp, weights):
        last["model"] = module.loss(network, settings, hp, weights)
        return None

    return replaced(
        module,
        loss=loss,
        train=lambda model, batches: module.train(last["model"], batches),
        predict=lambda model, x: module.predict(last["model"], x),
        weights=lambda model: module.weights(last["model"]),
        wait=lambda model: module.wait(last["model"]),
    )


@mistake("trajectory")
def predicts_with_the_model_built_last(module):
    """The compiled prediction is a global, which the next model overwrites."""
    last = {}

    def loss(network, settings, hp, weights):
        last["model"] = module.loss(network, settings, hp, weights)
        return last["model"]

    return replaced(module, loss=loss, predict=lambda model, x: module.predict(last["model"], x))


@mistake("trajectory")
def losses_rounded(module):
    """The losses are rounded to bfloat16."""

    def train(model, batches):
        for value in module.train(model, batches):
            bits = np.array([float(value)], np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
            yield bits.view(np.float32)[0]

    return replaced(module, train=train)
