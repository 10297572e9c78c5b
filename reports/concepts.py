"""The rows of each network's page, and the phrases of the phrase book.

``reports/rows/shared.toml`` has the rows that every network has, ``reports/rows/NETWORK.toml``
those that a network adds. ``frameworks/X/page.py`` says which code shows them;
``reports/reading.py`` finds the lines.
"""

import re
from collections import namedtuple
from functools import lru_cache

import tomllib

from common.networks import MODELS
from reports.committed import HERE

Concept = namedtuple(
    "Concept",
    "key title step says words code also optional",
    defaults=("", "", (), (), False),
)
Concept.__doc__ = """A row of a page.

key: its name in tables and addresses.
title: for people.
step: the part of a module that is searched (see ``sources.steps``).
says: a short explanation; may be empty.
words: further words that find it.
code: fragments of code that are looked for in every framework.
also: further steps that are searched, because some frameworks do it there.
optional: whether a framework needs no code for it if its ``page.py`` does not mention it.
"""

Phrase = namedtuple("Phrase", "name keys file")
Phrase.__doc__ = """A phrase of the phrase book.

name: its name for people, and in tables.
keys: where else it is said, if a table has no entry for the phrase itself, the best first: rows,
    the ``last`` line of a row, a field of the file's ``head``, or a function's ``docstring``.
file: the network whose modules are searched, or one of ``sources.BESIDE``.
"""

# In the order in which they are read: the network first, what prepares it last.
STEPS = {
    "symbol": "The network",
    "loss": "Loss, optimiser, initial weights",
    "train": "One pass over the batches",
    "predict": "The network's output for every row",
    "evaluate": "How good the output is",
    "load": "NumPy arrays as this framework wants them",
    "weights": "The weights, taken out",
    "wait": "Until the device has finished",
    "configure": "The framework's switches; returns the settings in force",
    "head": "Idiom, layout, update rule, surprise, imports",
}
FOLDED = ("configure", "head")  # on the page, until they are opened

# Lines that show no other concept of their step are listed under this one.
REST = {step: "rest-" + step for step in STEPS}
REST.update(head="weight-layout", evaluate="accuracy", weights="weights-out", wait="wait")

# {kind of layer: (its title, further words that find it, functions that show the first of them)}.
LAYERS = {
    "conv": ("convolution", "conv padding kernel", ("def conv", "def convolution")),
    "relu": ("activation", "relu", ("def relu",)),
    "sigmoid": ("activation", "sigmoid", ("def sigmoid",)),
    "pool": ("max-pool", "pooling", ("def pool", "def max_pool")),
    "dropout": ("dropout", "dropout rate", ("def drop", "def dropout")),
    "dense": ("dense", "linear fully connected", ("def dense",)),
}


@lru_cache(maxsize=None)
def rows(network):
    """The rows of a network, the ``Concept``s in their order.

    A network's own rows come first in their step. A row without fields is the shared one, there.
    A text is what a layer says: its key, a kind of ``LAYERS`` and a number, has the rest.
    """
    shared, own = _read("shared"), _read(network)
    like = own.pop("like", None)  # a network whose rows this one has, too
    concepts = []
    for step in STEPS:
        fields = {**_read(like).get(step, {}), **own.get(step, {})} if like else own.get(step, {})
        for key, said in shared[step].items():
            fields[key] = fields.get(key) or said
        concepts += [_concept(step, key, said, fields) for key, said in fields.items()]
    return concepts


def _read(name):
    path = HERE / "rows" / (name + ".toml")
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _concept(step, key, said, others):
    if isinstance(said, str):
        kind, number = split(key)
        title, words, code = LAYERS[kind]
        first = next(other for other in others if split(other)[0] == kind) == key
        return Concept(key, ("%s %s" % (title, number)).strip(), step, said, words, code * first)
    return Concept(key, step=step, **{**said, "code": tuple(said.get("code", ()))})


def split(key):
    """(kind, number) of a row, as ("conv", "2"); a row that is alone of its kind has no number."""
    return re.fullmatch(r"(.*?)(\d*)", key).groups()


@lru_cache(maxsize=None)
def kinds(network):
    """{kind: the keys of its rows} of rows that are numbered.

    A table's entry for a kind says where its rows are, in their order.
    """
    found = {}
    for concept in rows(network):
        kind, number = split(concept.key)
        if number:
            found.setdefault(kind, []).append(concept.key)
    return found


@lru_cache(maxsize=None)
def steps(network):
    """{row's key: its step}."""
    return {concept.key: concept.step for concept in rows(network)}


def _phrase(name, *keys, file="cnn"):
    return Phrase(name, keys, file)


PHRASES = [
    _phrase("layout of images", "layout"),
    _phrase("surprise", "surprise"),
    _phrase("seed", "drop-seed", "seed"),
    _phrase("padding", "conv1"),
    _phrase("pooling", "pool1"),
    _phrase("activation", "relu1"),
    _phrase("precision", "precision"),
    _phrase("flatten order", "flatten"),
    _phrase("weight layout", "docstring: weights"),
    _phrase("initial weights put in", "weights-in"),
    _phrase("training, not prediction", "train-on"),
    _phrase("dropout", "dropout1"),
    _phrase("loss and its reduction", "loss-function"),
    _phrase("label type", "docstring: load"),
    _phrase("momentum", "momentum"),
    _phrase("optimiser", "optimiser"),
    _phrase("gradients reset", "reset"),
    _phrase("backward", "gradient", "backward"),
    _phrase("device", "device-network", "device"),
    _phrase("autotune", "autotune"),
    _phrase("graph or JIT", "compiled"),
    _phrase("prediction", "train-off"),
    _phrase("weights taken out", "weights-out"),
    _phrase("waiting for the device", "last: wait", "docstring: wait"),
    *(
        _phrase(name, *filter(None, [key]), file=model.name)
        for model in MODELS.values()
        for name, key in model.phrases.items()
    ),
    _phrase("save weights", "head: Idiom", file="native"),
    _phrase("restore weights", "head: Idiom", file="native"),
    _phrase("ONNX", "head: Idiom", file="export"),
    _phrase("record a pass", "head: Idiom", file="record"),
    _phrase("profile", "head: Idiom", file="profile"),
    _phrase("several workers", "head: Idiom", file="workers"),
    _phrase("workers started", "head: Start", file="workers"),
    _phrase("gradients of workers averaged", "head: Average", file="workers"),
    _phrase("weights of workers", "head: Weights", file="workers"),
]
