"""All causes that are tried, stage by stage."""

from common.challenge import causes, losses, networks, recurrent, updates


def scores(description, module):
    """What may change the scores."""
    found = causes.weights(description, module)
    if "lstm" in description.traits:
        return found + recurrent.network()
    return causes.images(description) + found + networks.network(description, module)


def steps(description, evidence, hp, rule=None, second=None):
    """What may change the weights after a step.

    evidence: of the model whose hyperparameters ``hp`` are; None where there is none. rule: what
    the optimiser does by the causes that were found before. second: ``updates.Second``, or None.
    """
    found = losses.found(description, evidence)
    found += updates.found(description, evidence, hp, rule, second)
    if "lstm" in description.traits:
        found += recurrent.training(rule)
    else:
        found += networks.precision(prediction=False)
    if "batchnorm" in description.traits:
        found += networks.following()
    return found
