"""Switches: each changes one thing in a training, to measure its effect on accuracy."""

import os
from collections import OrderedDict, namedtuple

import numpy as np

from common.data import batches
from common.lessons import initializers
from common.system import modules
from common.system.files import cache_folder

Training = namedtuple("Training", "module hp initialize order")
Training.__doc__ = """A training, apart from its data, seed and number of epochs.

module: has the six steps.
hp: the hyperparameters.
initialize: makes the initial weights from (shapes, seed).
order: makes the indices of each step from (images, batch size, seed, epoch).
"""

Switch = namedtuple("Switch", "lesson says change mistake predicts")
Switch.__doc__ = """One change.

lesson: the key of its lesson.
says: its title.
change: makes another ``Training`` from the plain one; None if the switch patches the module.
mistake: the key of its patches in a framework's ``variants.LESSONS``, if any.
predicts: whether it only affects prediction, so that it needs no training of its own.
"""


def batches_shuffled(n, batch_size, seed, epoch):
    """Batches of consecutive images; only the order of the batches is shuffled."""
    order = in_order(n, batch_size, seed, epoch)
    return order[np.random.RandomState([seed, epoch]).permutation(len(order))]


def in_order(n, batch_size, seed, epoch):
    """The images in their original order, in every epoch."""
    steps = n // batch_size
    return np.arange(steps * batch_size, dtype=np.int64).reshape(steps, batch_size)


def unit_gain(training):
    """CNTK's update: v = momentum v + (1 - momentum) g.

    With a constant momentum this only scales v, so a learning rate scaled by 1 - momentum gives the
    same updates.
    """
    hp = training.hp
    learning_rate = hp.learning_rate * (1 - hp.momentum)
    return training._replace(hp=hp._replace(learning_rate=learning_rate))


def _ordered(says, order):
    return Switch("shuffling", says, lambda plain: plain._replace(order=order), "", False)


def _initialized(says, initialize):
    def change(plain):
        return plain._replace(initialize=initialize)

    return Switch("initializers", says, change, "", False)


def _mistaken(lesson, says, mistake, predicts=False):
    return Switch(lesson, says, None, mistake, predicts)


SWITCHES = OrderedDict(
    batches_shuffled=_ordered("whole batches shuffled", batches_shuffled),
    not_shuffled=_ordered("nothing shuffled", in_order),
    dropout_in_prediction=_mistaken(
        "dropout", "dropout left on in prediction", "dropout_in_prediction", predicts=True
    ),
    softmax_twice=_mistaken("softmax", "softmax applied twice", "softmax_twice"),
)
SWITCHES.update((key, _initialized(*scheme)) for key, scheme in initializers.SCHEMES.items())
SWITCHES["unit_gain"] = Switch("unit_gain", "unit gain (CNTK)", unit_gain, "", False)

LESSONS = tuple(OrderedDict.fromkeys(switch.lesson for switch in SWITCHES.values()))


def available(name, lessons):
    """{key: switch} of the switches of these lessons that the framework has."""
    patches = modules.lessons(name)
    return OrderedDict(
        (key, switch)
        for key, switch in SWITCHES.items()
        if switch.lesson in lessons and (switch.change or switch.mistake in patches)
    )


def plain(name, lane, model):
    """The plain training of a framework's network."""
    module = modules.in_lane(name, lane)
    return Training(module, model.hp, model.initialize, batches.order)


def throw(name, lane, switch, training):
    """``training`` with the switch thrown."""
    if switch.change:
        return switch.change(training)
    folder = os.path.join(cache_folder(), "lessons", name)
    patches = modules.lessons(name)[switch.mistake]
    module = modules.changed(training.module, patches, folder, switch.mistake)
    return training._replace(module=modules.for_lane(module, name, lane))
