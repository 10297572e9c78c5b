"""Which optimiser moved an answer's weights, if none of the known causes did.

The reference gives the gradients at the answer's own weights; ``common.compare.optimizers`` tries
every usual optimiser on them.
"""

import numpy as np

from common.challenge import protocol, updates
from common.compare.optimizers import fit, steps, walk
from common.system.modules import replaced

MODEL = "momentum"  # whose weights are asked for after each step


def words(diagnosis, module, answers):
    """The optimiser of these ``answers`` in words; None if it is not known.

    module: the reference, with the mistakes found so far.
    """
    entry = diagnosis.models[MODEL]
    start = {tensor: diagnosis.arrays[name] for tensor, name in entry["weights"].items()}
    batches = [batch for action in entry["do"] for batch in action.get("train", ())]
    weights, gradients = [start], []
    for step, (x, y) in enumerate(batches, 1):
        after = {tensor: answers.get("%s/after%d/%s" % (MODEL, step, tensor)) for tensor in start}
        if any(w is None for w in after.values()):
            break
        batch = diagnosis.arrays[x], diagnosis.arrays[y]
        gradients.append(_gradients(diagnosis, module, entry, weights[-1], batch))
        weights.append(after)
    return _fitted(weights, gradients) if gradients else None


def _gradients(diagnosis, module, entry, weights, batch):
    """{tensor: gradient} in float64 of a model with these weights."""

    def configure(lane, threads, seed):
        return dict(module.configure(lane, threads, seed), precision="float64")

    keeping = updates.with_rule(updates.keep_gradients)(replaced(module, configure=configure))
    entry = dict(entry, weights={tensor: tensor for tensor in weights})
    model, settings = protocol.build(
        entry, weights, diagnosis.description, keeping, "same", diagnosis.threads
    )
    for _ in keeping.train(model, [keeping.load(*batch, settings=settings)]):
        pass
    return {tensor: g.copy() for tensor, g in model[2].state.items()}


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
