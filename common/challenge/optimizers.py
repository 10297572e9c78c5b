"""Which optimiser moved an answer's weights, if none of the known causes did.

The reference gives the gradients at the answer's own weights; ``common.compare.optimizers`` tries
every usual optimiser on them.
"""

import numpy as np

from common.compare.optimizers import fit, steps, walk

MODEL = "momentum"  # the challenge asks for its weights after each step


def words(diagnosis, module, answers):
    """The optimiser of these ``answers`` in words; None if it is not known.

    module: the reference, with the mistakes found so far.
    """
    entry = diagnosis.models[MODEL]
    start = {tensor: diagnosis.arrays[name] for tensor, name in entry["weights"].items()}
    batches = [batch for action in entry["do"] for batch in action.get("train", ())]
    weights, gradients = [start], []
    own = dict(entry, weights={tensor: tensor for tensor in start})
    for step, batch in enumerate(batches, 1):
        after = {tensor: answers.get("%s/after%d/%s" % (MODEL, step, tensor)) for tensor in start}
        if any(w is None for w in after.values()):
            break
        _, (_, _, optimizer) = diagnosis.unmoved(module, own, weights[-1], batch)
        gradients.append({tensor: g.copy() for tensor, g in optimizer.state.items()})
        weights.append(after)
    return _fitted(weights, gradients) if gradients else None


def _fitted(weights, gradients):
    """The optimiser in words; weights: before the first step and after each."""
    walks = {}
    for tensor in gradients[0]:
        path = [np.float64(w[tensor]) for w in weights]
        walks[tensor] = steps.Walk(tensor, [g[tensor] for g in gradients], path)
    if len(gradients) > 1:
        walked = walk.side(walks)
        return walked and walk.words(walked)
    first = {
        tensor: steps.Step(tensor, own.gradients[0], own.weights[1], own.weights[0])
        for tensor, own in walks.items()
    }
    found = fit.side(first)
    return found and fit.words(found)
