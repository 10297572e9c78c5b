"""All causes to try, stage by stage.

A network's own ``causes.py`` has ``network()``, causes of wrong scores, and ``training(rule)``,
causes of a wrong step.
"""

from common import networks
from common.challenge import causes, conventions, losses, updates
from common.challenge.networks import following, network, precision


def scores(description, module):
    """Causes of wrong scores."""
    tried = causes.weights(description, module)
    own = networks.part(description.name, "causes")
    if own:
        return tried + own.network()
    return causes.images(description) + tried + network(description, module)


def steps(description, named, evidence, hp, rule=None, second=None):
    """Causes of wrong weights after a step.

    named: {convention: choice} that the challenge names.
    evidence: ``updates.Evidence`` of the model with hyperparameters ``hp``, or None. rule: the
    optimiser's rule with the causes found so far. second: ``updates.Second``, or None.
    """
    tried = conventions.others(description, named)
    tried += losses.causes(description, evidence)
    tried += updates.causes(description, evidence, hp, rule, second)
    own = networks.part(description.name, "causes")
    tried += own.training(rule) if own else precision(prediction=False)
    if "batchnorm" in description.traits:
        tried += following()
    return tried
