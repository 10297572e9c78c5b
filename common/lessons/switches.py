"""What is changed in a training, one thing at a time, to see what it does to the accuracy."""

import os
from collections import OrderedDict, namedtuple

import numpy as np

from common.data import batches
from common.lessons import initializers
from common.system import modules
from common.system.files import cache_folder

Training = namedtuple("Training", "module hp initialize order")
Training.__doc__ = """What a training is made of, besides data, seed and the number of epochs.

module: with the six steps.
hp: the hyperparameters.
initialize: makes the initial weights of (shapes, seed).
order: makes the indices of each step of (images, batch size, seed, epoch).
"""

Switch = namedtuple("Switch", "lesson says change mistake predicts")
Switch.__doc__ = """One change.

lesson: the key of the lesson that it belongs to.
says: what it does.
change: makes another ``Training`` of a plain one; None where it changes the module's source alone.
mistake: what a framework's ``variants.LESSONS`` calls the patches, if there are any.
predicts: whether it changes prediction alone: the plain network's weights serve.
"""


def batches_shuffled(n, batch_size, seed, epoch):
    """Batches of consecutive images, which stay together; their order is shuffled."""
    order = in_order(n, batch_size, seed, epoch)
    return order[np.random.RandomState([seed, epoch]).permutation(len(order))]


def in_order(n, batch_size, seed, epoch):
    """The images as they stand, in each epoch."""
    steps = n // batch_size
    return np.arange(steps * batch_size, dtype=np.int64).reshape(steps, batch_size)


def unit_gain(training):
    """CNTK's update: v = momentum v + (1 - momentum) g.

    With a momentum that stays the same all of v is scaled, so a learning rate scaled by
    1 - momentum makes the same updates.
    """
    hp = training.hp
    return training._replace(
        hp=hp._replace(learning_rate=hp.learning_rate * (1 - hp.momentum)),
    )


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
    lecun_normal=_initialized("LeCun normal (Chainer)", initializers.lecun_normal),
    pytorch_uniform=_initialized("PyTorch's own, with biases", initializers.pytorch_uniform),
    xavier_fill=_initialized("XavierFill (Caffe2)", initializers.xavier_fill),
    gluon_xavier=_initialized("Xavier(magnitude=2.24) (Gluon)", initializers.gluon_xavier),
    he_normal=_initialized("He normal", initializers.he_normal),
    unit_gain=Switch("unit_gain", "unit gain (CNTK)", unit_gain, "", False),
)

LESSONS = tuple(OrderedDict.fromkeys(switch.lesson for switch in SWITCHES.values()))


def changes(name, switch):
    """The patches of the framework's module; None where there are none."""
    return modules.lessons(name).get(switch.mistake)


def of(name, lessons):
    """{key: switch} of those of these lessons that the framework called ``name`` can throw."""
    return OrderedDict(
        (key, switch)
        for key, switch in SWITCHES.items()
        if switch.lesson in lessons and (switch.change or changes(name, switch))
    )


def plain(name, lane, model):
    """The training that the others are compared with."""
    module = modules.in_lane(name, lane)
    return Training(module, model.hp, model.initialize, batches.order)


def thrown(name, lane, switch, training):
    """``training`` with the switch thrown."""
    if switch.change:
        return switch.change(training)
    folder = os.path.join(cache_folder(), "lessons", name)
    module = modules.changed(training.module, changes(name, switch), folder, switch.mistake)
    return training._replace(module=modules.for_lane(module, name, lane))
