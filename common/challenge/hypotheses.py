"""All causes to try, stage by stage.

A network's own ``causes.py`` has ``network()``, causes of wrong scores, and ``training(rule)``,
causes of a wrong step; if it generates tokens, ``generation()``, causes of wrong ones; and if a
part of a tensor has no gradient but rounding, ``visible(name, w)``, the rest.
"""

from common import networks
from common.challenge import causes, conventions, losses, schedules, updates
from common.challenge.networks import following, network, precision


def scores(description, module):
    """Causes of wrong scores."""
    tried = causes.weights(description, module)
    own = networks.part(description.name, "causes")
    if own:
        return tried + own.network()
    return causes.images(description) + tried + network(description, module)


def steps(description, named, evidence, hp, rule=None, second=None, first=None):
    """Causes of wrong weights after a step.

    named: {convention: choice} that the challenge names.
    evidence: ``updates.Evidence`` of the model with hyperparameters ``hp``, or None. rule: the
    optimiser's rule with the causes found so far. second: ``updates.Second``, or None. first: of
    AdamW, as ``schedules.causes`` takes it.
    """
    rule = rule or right(description)
    tried = conventions.others(description, named)
    tried += losses.causes(description, evidence)
    tried += updates.causes(description, evidence, hp, rule, second)
    if "schedule" in description.traits:
        tried += schedules.causes(rule, description, first)
    own = networks.part(description.name, "causes")
    tried += own.training(rule) if own else precision(prediction=False)
    if "batchnorm" in description.traits:
        tried += following()
    return tried


def generation(description):
    """Causes of wrong generated tokens."""
    return networks.part(description.name, "causes").generation()


def visible(description):
    """Of an answer's name and array: the part that can be compared."""
    own = networks.part(description.name, "causes")
    return getattr(own, "visible", lambda name, w: w)


def right(description):
    """The optimiser's rule."""
    if "schedule" in description.traits:
        return schedules.adamw
    return updates.momentum if "momentum" in description.traits else updates.adam
