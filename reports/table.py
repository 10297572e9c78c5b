"""The form of all tables of the reports, and the names of runs in them."""

from collections import namedtuple
from pathlib import Path

import frameworks
from common.networks import ALL, MODELS
from common.proof.contract import ALL_LANES
from common.system import modules, source
from common.system.files import ROOT
from common.system.modules import MIXED

CHANGED = "† The module's code has changed since, or a later proof of it failed."


class Table(namedtuple("Table", "title note columns rows figure answers", defaults=(None, ()))):
    """A table of text.

    title, note: above the table; the note may be empty.
    columns: their heads; one that ends in a space has numbers, and is set flush right.
    rows: lists of cells, each a text, a (text, link) pair or a list of such pairs.
    figure: a function that draws it for the page, or None.
    answers: (term, text) pairs that answer a question which others asked.
    """

    @property
    def explained(self):
        """The note, with what † means if a cell has one."""
        return explained(self.note, " ".join(words(cell) for row in self.rows for cell in row))


def explained(note, marked):
    """A note, with what † means if the text that it explains has one."""
    return " ".join([note] * bool(note) + [CHANGED] * ("†" in marked))


PROSE, CODE = "prose", "code"
APART = "; "  # between the parts of a cell


def words(cell):
    """A cell's text without its links."""
    if isinstance(cell, list):
        return APART.join(map(words, cell))
    return cell if isinstance(cell, str) else cell[0]


def pieces(text):
    """[(PROSE or CODE, part)]; code is between backticks, if each of them has a second one."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or not all(part.strip() for part in parts[1::2]):
        return [(PROSE, text)]
    return [(CODE if number % 2 else PROSE, part) for number, part in enumerate(parts) if part]


def titled(title, model):
    """A title that names the network, unless it is the CNN."""
    if model is MODELS["cnn"]:
        return title
    return "%s%s %s" % (title, "" if title.endswith("?") else ":", model.title)


def position(result):
    """Sort key that puts runs in the order of the registry."""
    names, name = list(frameworks.ENVIRONMENTS), result["framework"]
    return names.index(name) if name in names else len(names), ALL_LANES.index(result["lane"])


def label(result):
    """A run's name; marked if its module's code has changed since."""
    return "%s, %s%s" % (result["framework"], result["lane"], dagger(result))


def dagger(result):
    """The mark of a run whose module's code has changed since; "" if it has not."""
    return "" if module_is_as_it_was(result) else " †"


def module_is_as_it_was(result):
    """Whether the module's code is still that of the run."""
    if result["framework"] not in frameworks.ENVIRONMENTS:
        return False
    framework = frameworks.ENVIRONMENTS[result["framework"]]
    lane, model = result["lane"], result.get("model", "cnn")
    models = [modules.PLAIN] if lane == modules.PLAIN else [model] + [lane] * (lane in MIXED)
    paths = [Path(ROOT, modules.path(framework, model)) for model in models]
    if not all(path.is_file() for path in paths):
        return False
    workers = Path(ROOT, modules.path(framework, "workers"))  # part of it, if there were any
    variants = [paths] + [paths + [workers]] * workers.is_file()
    return result["source_sha256"] in map(source.texts_sha256, variants)


def initial(model):
    """How a network's initial weights are drawn, as a run's result says."""
    return model.initialize.__name__.replace("_", " ")


def kind(result):
    """A run's length for people, images × epochs, and how it deviates from the recipe."""
    images, hp = result["dataset"]["train_images"], result["hyperparameters"]
    model = ALL[result.get("model", "cnn")]
    usual = initial(model)
    cores, threads = result["machine"]["cores"], result["settings"]["threads"]
    parts = ["{:,} × {}".format(images, hp["epochs"])]
    products = result["settings"].get("products", "float32")
    parts += ["products of %s" % products] if products != "float32" else []
    parts += ["no dropout"] if model.hp.dropout and not any(hp["dropout"]) else []
    parts += ["seed %d" % hp["seed"]] if hp.get("seed") else []
    parts += ["weights of its own"] if result.get("weights", usual) != usual else []
    workers = result["settings"].get("workers", 1)
    parts += ["%d workers" % workers] if workers > 1 else []
    parts += ["threads: %d" % threads] if threads != cores else []
    parts += ["synthetic data"] if result["dataset"]["name"].startswith("synthetic") else []
    return ", ".join(parts)
