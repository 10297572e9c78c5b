"""Questions that others asked, which a bench answers."""

from collections import namedtuple

import tomllib

from reports.committed import HERE

Study = namedtuple("Study", "question published known why of", defaults=5 * ("",))
Study.__doc__ = """A question about one network.

published: the answer found elsewhere, with its source's conditions.
known: what is known whatever a table's figures are, and where it is shown.
why: what differs between the published measurements and these.
of: the environments that the published answer is about, with spaces between them; "" for any.
"""
NONE = Study()


def about(study, names):
    """The study, but only what is known if a table lacks an environment that it is about."""
    of_these = set(study.of.split()) <= names
    return study if of_these else study._replace(question="", published="", why="")


def answers(study, answer):
    """The (term, text) pairs of a study; ``answer`` comes from the measurements."""
    pairs = [
        ("Answer", ". ".join(filter(None, (answer, study.known))) + "."),
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
