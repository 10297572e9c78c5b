"""Mistakes to plant in the LSTM only."""

import numpy as np

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_updates, with_weights
from common.system.modules import replaced


def gates(weights, change):
    """``weights`` with each of the LSTM's tensors changed, as (4, units, ...)."""
    changed = dict(weights)
    for name, w in weights.items():
        if name.startswith("lstm."):
            quarters = w.reshape((4, -1) + w.shape[1:])
            changed[name] = np.ascontiguousarray(change(name, quarters)).reshape(w.shape)
    return changed


@mistake("forward", "lstm")
def gates_in_another_order(module):
    """Gates are in the order input, forget, output, cell, as in some frameworks."""

    def swap(weights):
        return gates(weights, lambda name, quarters: quarters[[0, 1, 3, 2]])

    return with_weights(module, swap, swap)


@mistake("forward", "lstm")
def forget_gate_biased(module):
    """A framework's default initial bias of 1 is added to the forget gate's."""

    def put(weights):
        bias = np.zeros_like(weights["lstm.bias"])
        bias[5:10] = 1
        return dict(weights, **{"lstm.bias": weights["lstm.bias"] + bias})

    return with_weights(module, put)


@mistake("gradient", "lstm", by=with_updates)
def two_biases_trained(steps, before, update, hp):
    """There are two biases that are added, as in cuDNN, and the optimiser moves both."""
    return dict(update, **{"lstm.bias": 2 * update["lstm.bias"]})


@mistake("forward", "lstm")
def recurrent_bias_lost(module):
    """The bias is split into two halves, and one is lost."""

    def put(weights):
        return dict(weights, **{"lstm.bias": weights["lstm.bias"] / 2})

    return with_weights(module, put)


@mistake("forward", "lstm")
def state_lost_before_running_free(module):
    """Free-running starts from a state of zeros, not from the state after the inputs."""

    def predict(model, x):
        values, steps = module.predict(model, x), x.shape[1]
        again = module.predict(model, np.ascontiguousarray(values[:, steps - 1 : -1]))
        return np.concatenate([values[:, :steps], again[:, :steps]], 1)

    return replaced(module, predict=predict)


@mistake("data", "lstm")
def targets_one_step_off(module):
    """Targets are shifted by one step."""

    def load(sequences, targets, settings):
        return module.load(sequences, np.roll(targets, 1, 1), settings)

    return replaced(module, load=load)
