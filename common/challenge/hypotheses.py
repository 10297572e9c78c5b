"""All causes to try, stage by stage.

A network's own ``causes.py`` has these functions:

    network()           causes of wrong scores
    training(rule)      causes of a wrong step
    generation()        causes of wrong tokens, if it generates any
    visible(name, w)    the part of a tensor whose gradient is more than rounding, if not all of it
"""

from common import networks
from common.challenge import causes, losses, schedules, updates
from common.challenge.conventions import others as other_conventions
from common.challenge.networks import following, network, precision


def scores(description, module):
    """Causes of wrong scores."""
    tried = causes.weights(description, module)
    own = networks.part(description.name, "causes")
    if own:
        return tried + own.network()
    return causes.images(description) + tried + network(description, module)


def steps(description, conventions, evidence, hp, rule=None, second=None, first=None):
    """Causes of wrong weights after a step.

    conventions: {convention: choice} that the challenge names.
    evidence: ``updates.Evidence`` of the model with hyperparameters ``hp``, or None. rule: the
    optimiser's rule with the causes found so far. second: ``updates.Second``, or None. first: as
    in ``schedules.causes``, for AdamW.
    """
    rule = rule or optimizer_rule(description)
    tried = other_conventions(description, conventions)
    tried += losses.causes(description, evidence)
    tried += updates.causes(description, evidence, hp, rule, second, conventions["adam_epsilon"])
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
    """The function that takes an answer's name and array and returns the part to compare."""
    own = networks.part(description.name, "causes")
    return getattr(own, "visible", lambda name, w: w)


def optimizer_rule(description):
    """The right rule of the network's optimiser."""
    if "schedule" in description.traits:
        return schedules.adamw
    return updates.momentum if "momentum" in description.traits else updates.adam
