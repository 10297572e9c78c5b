"""The types that describe a network."""

from collections import namedtuple
from typing import Callable, FrozenSet, NamedTuple, Tuple

import numpy as np

from common.networks.hyperparameters import ADAMS

Task = namedtuple("Task", "name observations targets outputs figure")
Task.__doc__ = """What a network predicts for an observation.

name: "classes", "values", "joints" or "tokens".
observations, targets, outputs: their names, for people and for the modules' arguments.
figure: the measure of quality, which is also its key in a result.
"""

CLASSES = Task("classes", "images", "labels", "scores", "accuracy")
VALUES = Task("values", "sequences", "targets", "values", "rms_error")
JOINTS = Task("joints", "images", "targets", "joints", "joint_error")
SENTENCES = Task("classes", "sentences", "labels", "scores", "accuracy")
TOKENS = Task("tokens", "sequences", "targets", "scores", "held_out_loss")


class Model(NamedTuple):
    """A network, its data and its training.

    name: its name on the command line, and its file's in each framework's folder.
    order: its position in lists and tables.
    title: for people.
    task: what it predicts: a score for each class, values, or the positions of joints.
    data: loads its data set, from "auto", "synthetic" or a folder.
    observation: an observation's shape: an image (channels, height, width), a sequence (steps,
        features), or the numbers of words or characters (steps,).
    shapes: {canonical name: shape} of the weights, in the order of the layers. Convolutions are
        (out, in, height, width) for cross-correlation. Dense weights are (out, in); a dense layer
        after images takes them flattened in the order channels, height, width. An LSTM has (4
        units, in), (4 units, units) and one bias (4 units,), its gates in the order input, forget,
        cell, output. Batch normalisation has a weight, a bias and two tensors of state, which no
        optimiser moves: the running mean and variance. An embedding is (words, features).
    positions: {layer: how often a forward pass applies its weights to an observation}, if not once:
        the size of a convolution's output, or a sequence's steps.
    initialize: draws initial weights from (shapes, seed).
    hp: the hyperparameters of its recipe.
    whole, quick: (observations, epochs) of the recipe, and of a run that is short on a CPU.
    batches_sha256: the hash of the trajectory's batches, observations and targets.
    layers: kinds of layers that shapes do not show: "pool", "recurrent", "sigmoid", "embedding",
        "untied" (a row of the embedding has a gradient only if a batch uses it), "attention",
        "ignored" (targets that do not count).
    products: multiply-adds of a forward pass in products of two activations, as in attention.
    challenge: its description on a challenge's page; "" if it can have no challenge.
    phrases: {its entry in the page's phrase book: "", or where else a module says it, such as
        "head: Adam", a field of the docstring}.
    size_of: the network of which this is another size, or "".
    """

    name: str
    order: int
    title: str
    task: Task
    data: Callable
    observation: Tuple[int, ...]
    shapes: dict
    initialize: Callable
    hp: tuple
    whole: Tuple[int, int]
    quick: Tuple[int, int]
    batches_sha256: str
    positions: dict = {}
    products: int = 0
    layers: FrozenSet[str] = frozenset()
    challenge: str = ""
    phrases: dict = {}
    size_of: str = ""

    @property
    def file(self):
        """The name of its module in each framework's folder."""
        return self.size_of or self.name

    @property
    def traits(self):
        """The names of its parts, which select the checks and mistakes that apply.

        "adam" or "momentum", "schedule", "batchnorm", "convolution", "dropout", and its
        ``layers``.
        """
        present = {
            "adam": isinstance(self.hp, ADAMS),
            "momentum": not isinstance(self.hp, ADAMS),
            "schedule": hasattr(self.hp, "warmup"),
            "batchnorm": bool(self.state),
            "convolution": any(len(shape) == 4 for shape in self.shapes.values()),
            "dropout": bool(self.hp.dropout),
        }
        return self.layers | {trait for trait, there in present.items() if there}

    @property
    def state(self):
        """The names of the tensors that training changes but no optimiser moves."""
        return {name for name in self.shapes if is_state(name)}

    @property
    def multiply_adds(self):
        """(those of a forward pass, those of its first layer) for one observation."""
        counts = [
            self.positions.get(name[: -len(".weight")], 1) * int(np.prod(shape))
            for name, shape in self.shapes.items()
            if len(shape) > 1
        ]
        first = 0 if "embedding" in self.traits else counts[0]
        return sum(counts) + self.products, first

    @property
    def step_multiply_adds(self):
        """The multiply-adds of a training step for one observation; each is two operations.

        As many as three forward passes, less the gradient of the first layer's input, which is not
        needed.
        """
        forward, first = self.multiply_adds
        return 3 * forward - first


def is_state(name):
    """Whether training changes the tensor of this canonical name but no optimiser moves it."""
    return name.endswith((".mean", ".variance"))


def with_biases(**layers):
    """{name.weight, name.bias: shape} of layers whose weights have these shapes."""
    shapes = {}
    for layer, shape in layers.items():
        shapes[layer + ".weight"] = shape
        shapes[layer + ".bias"] = shape[:1]
    return shapes
