"""The CNN on CIFAR-10 of the original comparison: VGG-like, two blocks of two convolutions."""

from common.data import cifar10
from common.networks.hyperparameters import Momentum
from common.networks.initializers import xavier_uniform
from common.networks.model import CLASSES, Model, with_biases

CNN = Model(
    name="cnn",
    order=1,
    title="CNN on CIFAR-10",
    task=CLASSES,
    data=cifar10.load,
    observation=(3, 32, 32),
    shapes=with_biases(
        conv1=(50, 3, 3, 3),
        conv2=(50, 50, 3, 3),
        conv3=(100, 50, 3, 3),
        conv4=(100, 100, 3, 3),
        dense1=(512, 6400),
        dense2=(10, 512),
    ),
    positions={"conv1": 32 * 32, "conv2": 32 * 32, "conv3": 16 * 16, "conv4": 16 * 16},
    layers=frozenset(["pool"]),
    initialize=xavier_uniform,
    hp=Momentum(batch_size=64, learning_rate=0.01, momentum=0.9, dropout=(0.25, 0.25, 0.5)),
    whole=(50000, 10),
    quick=(10000, 3),
    batches_sha256="a097e3686ab2a815b8fec5c25878657e1f39b96482f51f96098c46c4ca5680f1",
    challenge="""\
Images (n, 3, 32, 32). Padding of 1 keeps height and width.

    conv1   3x3,  50 channels, then ReLU
    conv2   3x3,  50 channels, then ReLU
    max-pool 2x2, stride 2; dropout 1
    conv3   3x3, 100 channels, then ReLU
    conv4   3x3, 100 channels, then ReLU
    max-pool 2x2, stride 2; dropout 2
    flatten in the order channels, height, width: 6400 features
    dense1  512, then ReLU; dropout 3
    dense2   10""",
)
