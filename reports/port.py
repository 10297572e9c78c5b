"""My port is off: the symptoms, the rung that catches each, the causes, and the right lines.

The causes are the mistakes planted in the modules, with the rung that caught each, and those that
the diagnosis of a challenge replays in the reference.
"""

import difflib
from collections import namedtuple

import tomllib

import frameworks
from common.challenge import causes, hypotheses
from common.mistakes import catalogue
from common.networks import MODELS
from common.networks.cnn import CNN
from common.proof.reference import USUAL
from common.proof.rungs import RUNGS
from common.system import modules as loader
from common.system import source
from common.system.patches import by_file, patched
from reports import tables
from reports.committed import HERE

Symptom = namedtuple("Symptom", "rung title proves look causes traps")
Symptom.__doc__ = """A symptom of a port that is off.

rung: the one that fails, and nothing before it.
title: the symptom.
proves: what the rung compares.
look: where to look first.
causes: [Cause], of mistakes that can be made in any framework.
traps: [(module, line, name, [(wrong lines, right lines)])], each framework's own.
"""

Mend = namedtuple("Mend", "says phrase", defaults=("", ""))
Mend.__doc__ = """How to mend a mistake.

says: what to do.
phrase: the entry of the phrase book with each framework's right line.
"""

Cause = namedtuple("Cause", "name says mend model caught")
Cause.__doc__ = """A mistake that was planted.

name, says: its name, and what it is.
model: the first network that it was planted in.
caught: for each environment and network whether it was caught.
"""

# rung: (the symptom, what the rung compares, where to look)
SEEN = {
    "data": (
        "The first batch already differs",
        "the batches are the same bytes in the same order",
        "Compare a checksum of the first batch before anything else.",
    ),
    "weights": (
        "The weights you read back are not the weights you put in",
        "weights survive the way in and out bit for bit",
        "Use random weights, and random biases too: zeros hide a lost bias.",
    ),
    "forward": (
        "Off before any step: the untrained network's scores differ",
        "the scores of 300 images, and of images 64 times as bright",
        "Send an image through layers that change nothing, then replace them one by one by the "
        "real ones. The challenge does this, and names the first layer that is off.",
    ),
    "gradient": (
        "Off at step 1: the scores agree, the weights after one step do not",
        "every weight after a step with learning rate 1 and no momentum, which is the gradient",
        "If the first loss differs, look at the loss. If it agrees, divide your update by the "
        "right one: a factor of 64 is a sum over the batch, a tenth is a mean over the ten "
        "classes as well. If only some tensors are off, look at the layers between them and the "
        "loss.",
    ),
    "momentum": (
        "The gradient is right, the update is not: off at step 1 with momentum, or at step 2",
        "every weight after each of three steps, and the updates after sixty more",
        "Divide your first update by the right one: 1 + momentum is Nesterov's, 1 - momentum is "
        "unit gain. If step 1 agrees and step 2 does not, look for dampening, gradients that are "
        "never reset, or a velocity that is reset.",
    ),
    "trajectory": (
        "The first steps agree, then the losses part",
        "the loss of each of 20 steps, dropout off; two models do not disturb each other",
        "Float32 itself drifts from about the sixth step on. Compare with the grey line in the "
        "figure of distances from the reference: if you are clearly above it, there is a mistake.",
    ),
    "dropout": (
        "Everything agrees without dropout; nothing agrees with it",
        "the fraction kept, the scale, and fresh masks in each layer, step and pass; no dropout in "
        "prediction",
        "Is the argument the fraction to drop or the fraction to keep? Is the network in training "
        "mode?",
    ),
    "accuracy": (
        "The losses agree, the accuracy does not",
        "the scores after 20 steps, and how rows are counted",
        "Predict in prediction mode, on all rows, with the weights that were just trained.",
    ),
    "generation": (
        "The scores agree, the generated text does not",
        "the scores of each token that is generated with a cache, against a pass without one",
        "Find the first token whose scores are off. If it is the first one that is generated, look "
        "at the positions and the mask after a cached prefix; if it is a later one, look at how "
        "the cache grows.",
    ),
}


def seen(rung):
    """The symptom of a rung, what it compares and where to look."""
    return SEEN.get(rung, ("Rung %s fails" % rung, "see common/proof/rungs/%s.py" % rung, ""))


def mends():
    """{mistake: its ``Mend``}, the mistakes that people make most often first."""
    read = tomllib.loads((HERE / "mends.toml").read_text(encoding="utf-8"))
    for path in sorted((HERE / "rows").glob("*.toml")):
        read.update(tomllib.loads(path.read_text(encoding="utf-8")).get("mends", {}))
    return {name: Mend(**said) for name, said in read.items()}


def symptoms(modules):
    """[Symptom], in the order of the rungs; the most common causes come first in each."""
    known = mends()
    records = {name: tables.planted(model) for name, model in MODELS.items()}
    order = list(known)
    found, rung_of = {}, {}  # a mistake is listed once, at the rung of the first network
    for name, environments in records.items():
        for mistake in catalogue.mistakes(MODELS[name]):
            pairs = [record["outside"].get(mistake.name) for record in environments.values()]
            pairs = [pair for pair in pairs if pair]
            if mistake.name not in found:
                rung_of[mistake.name] = mistake.rung
                says = " ".join((mistake.make.__doc__ or "").split("\n\n")[0].split())
                mend = known.get(mistake.name, Mend())
                found[mistake.name] = Cause(mistake.name, says, mend, MODELS[name], [])
            found[mistake.name].caught.extend(bool(rung) for _, rung in pairs)
    all_symptoms = []
    for rung in RUNGS:
        title, proves, look = seen(rung)
        causes = sorted(
            (cause for cause in found.values() if rung_of[cause.name] == rung),
            key=lambda c: order.index(c.name) if c.name in order else len(order),
        )
        own = [trap for module in modules for trap in traps(module, rung, records[CNN.name])]
        all_symptoms.append(Symptom(rung, title, proves, look, causes, own))
    return all_symptoms


def first(all_symptoms):
    """[(network's title, its six most common causes)]; each network has what no earlier one has."""
    order = {name: place for place, name in enumerate(mends())}
    found = {}
    for symptom in all_symptoms:
        for cause in symptom.causes:
            if cause.name in order:
                found.setdefault(cause.model.name, []).append(cause)
    return [
        (model.title, sorted(found[name], key=lambda cause: order[cause.name])[:6])
        for name, model in MODELS.items()
        if name in found
    ]


def traps(module, rung, environments):
    """A framework's own traps that a rung catches: as lines of its module, wrong and right."""
    found = []
    for trap in loader.traps(module.key, CNN.name):
        caught = environments.get(module.key, {}).get("own", {}).get(trap.name, [None, None])[1]
        if (caught or trap.rung) != rung:
            continue
        hunks, first = [], 1
        for path, patches in by_file(trap.patches, module.path).items():
            right = source.read(path).splitlines()
            wrong = patched("\n".join(right) + "\n", patches, trap.name).splitlines()
            matcher = difflib.SequenceMatcher(None, wrong, right, autojunk=False)
            changes = [c for c in matcher.get_opcodes() if c[0] != "equal"]
            hunks += [(wrong[a:b], right[c:d]) for _, a, b, c, d in changes]
            if path == module.path:
                first = max(1, min(changes[0][3] + 1, len(right)))
        found.append((module, first, trap.name, hunks))
    return found


def known():
    """The causes that the diagnosis replays in the reference, as sentences in two groups."""
    module = causes.plain(CNN, loader.load(frameworks.REFERENCE))
    return {
        "scores": [cause.says for cause in hypotheses.scores(CNN, module)],
        "steps": [cause.says for cause in hypotheses.steps(CNN, USUAL._asdict(), None, CNN.hp)],
    }


def losses(used):
    """The reference's losses of the CNN's trajectory, from a committed certificate, or [].

    A challenge's ``recipe`` model has the same ones: batches and weights are the same everywhere.
    """
    own = tables.latest(tables.of_model(used.runs, CNN))
    return own[0].result["certificate"]["losses"]["reference"] if own else []
