"""Conventions that a port may follow although the challenge names others.

They are not mistakes. Such a port needs a challenge written with ``--named``.
"""

from common.challenge import protocol
from common.challenge.causes import Cause
from common.proof.reference import CHOICES, EXACT, ROUNDED, applicable
from common.system.modules import replaced

BARELY = 0.5  # share of a tolerance

# {convention: (concept of the phrase book, {choice: in words})}. The others are not here:
# ``updates.py`` has the rule of ``adam_epsilon``, ``nearer`` finds ``adam_scalars``, and
# ``variance`` only changes rounding.
WORDS = {
    "ties": (
        "pooling",
        {
            "one": "of equal maxima in a pool, the first alone gets the gradient",
            "all": "of equal maxima in a pool, each gets the whole gradient",
            "shared": "of equal maxima in a pool, each gets an equal part of the gradient",
        },
    ),
    "running_variance": (
        "running mean and variance",
        {
            "unbiased": "the running variance follows the batch's, divided by n - 1",
            "biased": "the running variance follows the batch's, divided by n",
            "unbiased halves": "the running variance follows the batch's, divided by n - 2",
        },
    ),
}


def others(description, conventions):
    """A cause for each choice that ``conventions``, {convention: choice}, does not name.

    Only conventions that apply to the network.
    """
    causes = []
    for key in applicable(description):
        concept, words = WORDS.get(key, (None, {}))
        for choice in getattr(CHOICES, key) if words else ():
            if choice != conventions[key]:
                says = "%s: not a mistake, but another convention (%s)" % (
                    words[choice],
                    protocol.option(key, choice),
                )
                made = Cause(says, following(key, choice), concept=concept)
                causes.append(made._replace(convention=(key, choice)))
    return causes


def following(key, choice):
    """A cause's ``make``: the module follows this convention, whatever its settings name."""

    def make(module):
        def changed(settings):
            rounded = {"scalars": ROUNDED} if key == "adam_scalars" else {}
            return dict(settings, **dict(rounded, **{key: choice}))

        def symbol(settings, hp):
            return module.symbol(changed(settings), hp)

        def loss(network, settings, hp, weights):
            return module.loss(network, changed(settings), hp, weights)

        return replaced(module, symbol=symbol, loss=loss)

    return make


def barely(judged):
    """Whether the losses passed, but with most of their tolerance used."""
    (rung,) = [rung for rung in judged["rungs"] if rung["rung"] == "trajectory"]
    return bool(rung["passed"]) and rung["error"] > BARELY * rung["tolerance"]


def nearer(challenge, arrays, answers, description):
    """The (name, choice) of ``adam_scalars`` that halves the distance of the losses, or None.

    Float32's 1 - beta**t shows in the first losses only, and hardly in a weight.
    """
    names = protocol.names_of_losses(challenge)
    if "adam_scalars" not in applicable(description) or not all(n in answers for n in names):
        return None
    module = protocol.reference(challenge, description)

    def configure(lane, threads, seed):
        return dict(module.configure(lane, threads, seed), precision=EXACT)

    def distance(choice):
        follows = following("adam_scalars", choice)(replaced(module, configure=configure))
        part = dict(challenge, models=[protocol.entry_of(challenge, "recipe")])
        exact = protocol.carry_out(part, arrays, description, follows, "same", 1)
        return max(abs(answers[name] - exact[name]).max() for name in names)

    chosen = challenge["named"]["adam_scalars"]
    distances = {choice: distance(choice) for choice in CHOICES.adam_scalars}
    best = min(distances, key=distances.get)
    return ("adam_scalars", best) if distances[best] < distances[chosen] / 2 else None
