"""All causes that are tried, stage by stage.

A recurrent network's come from its own ``causes.py``: ``network()``, those of its scores, and
``training(rule)``, those of a step.
"""

from common import networks
from common.challenge import causes, losses, updates
from common.challenge.networks import following, network, precision


def scores(description, module):
    """What may change the scores."""
    found = causes.weights(description, module)
    own = networks.part(description.name, "causes")
    if own:
        return found + own.network()
    return causes.images(description) + found + network(description, module)


def steps(description, evidence, hp, rule=None, second=None):
    """What may change the weights after a step.

    evidence: of the model whose hyperparameters ``hp`` are; None where there is none. rule: what
    the optimiser does by the causes that were found before. second: ``updates.Second``, or None.
    """
    found = losses.found(description, evidence)
    found += updates.found(description, evidence, hp, rule, second)
    own = networks.part(description.name, "causes")
    found += own.training(rule) if own else precision(prediction=False)
    if "batchnorm" in description.traits:
        found += following()
    return found
