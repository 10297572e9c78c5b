"""The models: what is to be built, trained and proven, as descriptions.

A model is a file ``MODEL.py`` in each framework's folder. All that the shared code must know of it
stands here; nothing else in ``common/`` names a layer or a shape.
"""

from collections import OrderedDict, namedtuple

import numpy as np

from common.data import cifar10, figures, mnist, wave
from common.networks.hyperparameters import Adam, Decay, Divided, Momentum
from common.networks.initializers import he_uniform, xavier_uniform
from common.system import modules
from common.system.errors import InputError

Task = namedtuple("Task", "name observations targets outputs figure")
Task.__doc__ = """What a network is to say of an observation.

name: "classes", "values" or "joints".
observations, targets, outputs: what they are called, for people and in the modules' arguments.
figure: what says how well it does, and the key of that in a result.
"""

CLASSES = Task("classes", "images", "labels", "scores", "accuracy")
VALUES = Task("values", "sequences", "targets", "values", "rms_error")
JOINTS = Task("joints", "images", "targets", "joints", "joint_error")

Model = namedtuple(
    "Model",
    "name title task data observation shapes initialize hp whole quick multiply_adds traits",
)
Model.__doc__ = """A network, its data and its training.

name: on the command line, and of the file in each framework's folder.
title: for people.
task: what it is to say of an observation: a score for each class, values, or where joints are.
data: reads the data set that it is trained on, from "auto", "synthetic" or a folder.
observation: shape of one: an image (channels, height, width), or a sequence (steps, features).
shapes: {canonical name: shape} of the weights, in the order of the layers. Convolutions are
    (out, in, height, width) for cross-correlation; dense weights are (out, in), and a dense layer
    that follows images takes them flattened in the order channels, height, width. An LSTM's are
    (4 units, in) and (4 units, units), its gates in the order input, forget, cell, output; it has
    one bias (4 units,). Batch normalisation has a weight, a bias and two tensors of state, which no
    optimiser moves: the running mean and variance.
initialize: makes the initial weights of (shapes, seed).
hp: the hyperparameters of its recipe.
whole, quick: (observations, epochs) of the recipe, and of what a CPU can do while people wait.
multiply_adds: (forward pass, first layer) for one observation.
traits: what it is made of, so that parts of the certificate apply: "adam", "batchnorm",
    "convolution", "dropout", "lstm", "pool", "sigmoid"; "momentum" if two sets of weights show the
    whole state of the optimiser.
"""


def _shapes(**layers):
    """{name.weight, name.bias: shape} of layers whose weights have these shapes."""
    shapes = OrderedDict()
    for layer, shape in layers.items():
        shapes[layer + ".weight"] = shape
        shapes[layer + ".bias"] = shape[:1]
    return shapes


CNN = Model(
    name="cnn",
    title="CNN on CIFAR-10",
    task=CLASSES,
    data=cifar10.load,
    observation=(3, 32, 32),
    shapes=_shapes(
        conv1=(50, 3, 3, 3),
        conv2=(50, 50, 3, 3),
        conv3=(100, 50, 3, 3),
        conv4=(100, 100, 3, 3),
        dense1=(512, 6400),
        dense2=(10, 512),
    ),
    initialize=xavier_uniform,
    hp=Momentum(batch_size=64, learning_rate=0.01, momentum=0.9, dropout=(0.25, 0.25, 0.5)),
    whole=(50000, 10),
    quick=(10000, 3),
    multiply_adds=(
        1024 * 50 * 27
        + 1024 * 50 * 450
        + 256 * 100 * 450
        + 256 * 100 * 900
        + 512 * 6400
        + 10 * 512,
        1024 * 50 * 27,
    ),
    traits=frozenset(["convolution", "dropout", "momentum", "pool"]),
)

MLP = Model(
    name="mlp",
    title="MLP on MNIST",
    task=CLASSES,
    data=mnist.load,
    observation=(1, 28, 28),
    shapes=_shapes(dense1=(1000, 784), dense2=(1000, 1000), dense3=(10, 1000)),
    initialize=xavier_uniform,
    hp=Adam(batch_size=100, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(60000, 5),
    quick=(60000, 1),
    multiply_adds=(784 * 1000 + 1000 * 1000 + 10 * 1000, 784 * 1000),
    traits=frozenset(["adam"]),
)

LENET5 = Model(
    name="lenet5",
    title="LeNet-5 on CIFAR-10",
    task=CLASSES,
    data=cifar10.load,
    observation=(3, 32, 32),
    shapes=_shapes(
        conv1=(6, 3, 5, 5),
        conv2=(16, 6, 5, 5),
        conv3=(120, 16, 4, 4),
        dense1=(84, 480),
        dense2=(10, 84),
    ),
    initialize=xavier_uniform,
    hp=Adam(batch_size=100, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(50000, 30),
    quick=(10000, 3),
    multiply_adds=(
        784 * 6 * 75 + 100 * 16 * 150 + 4 * 120 * 256 + 84 * 480 + 10 * 84,
        784 * 6 * 75,
    ),
    traits=frozenset(["adam", "convolution", "pool", "sigmoid"]),
)

MNIST_CNN = Model(
    name="mnist_cnn",
    title="CNN on MNIST",
    task=CLASSES,
    data=mnist.load,
    observation=(1, 28, 28),
    shapes=_shapes(conv1=(10, 1, 3, 3), dense1=(100, 1960), dense2=(10, 100)),
    initialize=xavier_uniform,
    hp=Adam(batch_size=8, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(60000, 5),
    quick=(10000, 1),
    multiply_adds=(784 * 10 * 9 + 100 * 1960 + 10 * 100, 784 * 10 * 9),
    traits=frozenset(["adam", "convolution", "pool"]),
)

LSTM = Model(
    name="lstm",
    title="LSTM on a sine wave",
    task=VALUES,
    data=wave.load,
    observation=(wave.STEPS, 1),
    shapes=OrderedDict(
        [
            ("dense1.weight", (5, 1)),
            ("dense1.bias", (5,)),
            ("lstm.input.weight", (20, 5)),
            ("lstm.recurrent.weight", (20, 5)),
            ("lstm.bias", (20,)),
            ("dense2.weight", (1, 5)),
            ("dense2.bias", (1,)),
        ]
    ),
    initialize=xavier_uniform,
    hp=Adam(batch_size=20, learning_rate=1e-2, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(2000, 20),
    quick=(2000, 5),
    multiply_adds=(wave.STEPS * (5 + 20 * 5 + 20 * 5 + 5), wave.STEPS * 5),
    traits=frozenset(["adam", "lstm"]),
)


def _resnet(depth, blocks, **recipe):
    """A residual network of bottlenecks, with so many blocks in each of its four stages.

    As He et al. (2015) built it for ImageNet, with three changes: a quarter of the channels; a 3x3
    convolution and no pool at the start; and where the size is halved, the stride is in the 3x3
    convolution, not in the 1x1 before it (Goyal et al., 2017).
    """
    shapes, multiply_adds = OrderedDict(), []

    def convolution(name, outputs, inputs, size, side):
        shapes[name + ".weight"] = (outputs, inputs, size, size)
        norm = name.replace("conv", "norm")
        for kind in ("weight", "bias", "mean", "variance"):
            shapes["%s.%s" % (norm, kind)] = (outputs,)
        multiply_adds.append(side**2 * outputs * inputs * size**2)

    convolution("start.conv", 16, 3, 3, 32)
    inputs, side = 16, 32
    for stage, count in enumerate(blocks):
        width = 16 * 2**stage
        for block in range(count):
            name = "stage%d.block%d." % (stage + 1, block + 1)
            convolution(name + "conv1", width, inputs, 1, side)
            side = side // 2 if stage and not block else side
            convolution(name + "conv2", width, width, 3, side)
            convolution(name + "conv3", 4 * width, width, 1, side)
            if not block:
                convolution(name + "shortcut.conv", 4 * width, inputs, 1, side)
            inputs = 4 * width
    shapes["dense.weight"], shapes["dense.bias"] = (10, inputs), (10,)
    return Model(
        title="ResNet-%d on CIFAR-10" % depth,
        task=CLASSES,
        data=cifar10.load,
        observation=(3, 32, 32),
        shapes=shapes,
        initialize=he_uniform,
        multiply_adds=(sum(multiply_adds) + 10 * inputs, multiply_adds[0]),
        traits=frozenset(["batchnorm", "convolution", "momentum"]),
        hp=Decay(
            batch_size=32,
            learning_rate=0.02,
            momentum=0.9,
            dropout=(),
            weight_decay=1e-4,
            depth=depth,
        ),
        **recipe,
    )


RESNET = _resnet(29, (2, 2, 3, 2), name="resnet", whole=(50000, 30), quick=(10000, 3))
RESNET152 = _resnet(152, (3, 8, 36, 3), name="resnet152", whole=(50000, 30), quick=(2000, 1))


def _alexnet(divisor, **recipe):
    """AlexNet (Krizhevsky et al., 2012), one tower; its last layer gives the joints of a figure.

    As DeepPose has it (Toshev & Szegedy, 2014). Convolutions 1 and 2 are followed by ReLU, local
    response normalisation and a pool, 3 and 4 by ReLU, 5 by ReLU and a pool.
    """
    one, two, three = 96 // divisor, 256 // divisor, 384 // divisor
    units, outputs = 4096 // divisor, 2 * len(figures.JOINTS)
    shapes = _shapes(
        conv1=(one, 3, 11, 11),  # stride 4: 220 x 220 pixels become 53 x 53
        conv2=(two, one, 5, 5),  # 26 x 26 behind a pool of 3 x 3, stride 2
        conv3=(three, two, 3, 3),  # 12 x 12
        conv4=(three, three, 3, 3),
        conv5=(two, three, 3, 3),
        dense1=(units, two * 5 * 5),
        dense2=(units, units),
        dense3=(outputs, units),
    )
    places = (53**2, 26**2, 12**2, 12**2, 12**2, 1, 1, 1)
    weights = (shape for shape in shapes.values() if len(shape) > 1)
    multiply_adds = [n * int(np.prod(shape)) for n, shape in zip(places, weights)]
    return Model(
        task=JOINTS,
        data=figures.load,
        observation=(3, figures.SIDE, figures.SIDE),
        shapes=shapes,
        initialize=he_uniform,
        hp=Divided(
            batch_size=16,
            learning_rate=0.02,
            momentum=0.9,
            dropout=(0.5, 0.5),
            divisor=divisor,
        ),
        multiply_adds=(sum(multiply_adds), multiply_adds[0]),
        traits=frozenset(["convolution", "dropout", "momentum", "pool"]),
        **recipe,
    )


POSE = _alexnet(4, name="pose", title="Pose, a narrow AlexNet", whole=(2000, 30), quick=(2000, 3))
ALEXNET = _alexnet(1, name="alexnet", title="Pose, AlexNet", whole=(2000, 30), quick=(2000, 1))

MODELS = OrderedDict(
    (model.name, model) for model in (CNN, MLP, LENET5, MNIST_CNN, LSTM, RESNET, POSE)
)
# Those, too, that are another one's at another size.
ALL = OrderedDict(MODELS, resnet152=RESNET152, alexnet=ALEXNET)


def step_multiply_adds(model):
    """Those of a training step for one observation; each is two operations.

    The forward pass's three times, but for the first layer's gradient of its input, which nobody
    needs.
    """
    forward, first = model.multiply_adds
    return 3 * forward - first


def state(names):
    """Those of the canonical ``names`` that training changes and no optimiser moves."""
    return {name for name in names if name.endswith((".mean", ".variance"))}


def find(name):
    """The model called ``name``; InputError lists the known ones."""
    if name not in ALL:
        raise InputError("unknown model %r; known: %s" % (name, ", ".join(ALL)))
    return ALL[name]


def of(framework):
    """The models that a framework, given by its name, has a module for."""
    return [model for model in MODELS.values() if modules.has(framework, model.name)]
