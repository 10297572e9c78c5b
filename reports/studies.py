"""Questions that others asked, which a bench answers."""

from collections import namedtuple

import tomllib

from reports.committed import HERE

Study = namedtuple("Study", "question published known why of", defaults=("", ""))
Study.__doc__ = """A question about one network.

published: the answer found elsewhere, with its source's conditions.
known: what else is known here, and where it is shown.
why: why the answer here differs from the published one, if it does.
of: the environment that the published answer is about; "" for any.
"""


def answers(study, answer):
    """The (term, text) pairs of a study; ``answer`` comes from the measurements."""
    pairs = [
        ("Answer", ". ".join([answer] * bool(answer) + [study.known]) + "."),
        ("Published", study.published and study.published[0].upper() + study.published[1:] + "."),
        ("Why it differs", study.why),
    ]
    return [(term, text) for term, text in pairs if text]


# Where lane best has what the first one makes, the second one undoes it, and the other way round.
OPPOSITES = {"relu_first": "pool_first"}


def turned(lever, ratio, low, high):
    """A lever and its ratio of speed, with the interval; those of its opposite, if it has one."""
    if lever in OPPOSITES:
        return OPPOSITES[lever], 1 / ratio, 1 / high, 1 / low
    return lever, ratio, low, high


with open(HERE / "studies.toml", "rb") as file:
    _READ = tomllib.load(file)
# {network: Study}: answered by the network's levers, and by its steps with several batch sizes.
LEVERS, STEP = (
    {model: Study(**study) for model, study in _READ[kind].items()} for kind in ("levers", "step")
)
SHARED = Study(**_READ["shared"])  # answered by workers that share a batch
