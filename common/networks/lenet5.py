"""LeNet-5 (LeCun et al., 1998) on CIFAR-10, with sigmoids and max pools."""

from common.data import cifar10
from common.networks.hyperparameters import Adam
from common.networks.initializers import xavier_uniform
from common.networks.model import CLASSES, Model, with_biases

LENET5 = Model(
    name="lenet5",
    order=3,
    title="LeNet-5 on CIFAR-10",
    task=CLASSES,
    data=cifar10.load,
    observation=(3, 32, 32),
    shapes=with_biases(
        conv1=(6, 3, 5, 5),
        conv2=(16, 6, 5, 5),
        conv3=(120, 16, 4, 4),
        dense1=(84, 480),
        dense2=(10, 84),
    ),
    positions={"conv1": 28 * 28, "conv2": 10 * 10, "conv3": 2 * 2},
    layers=frozenset(["pool", "sigmoid"]),
    initialize=xavier_uniform,
    hp=Adam(batch_size=100, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(50000, 30),
    quick=(10000, 3),
    batches_sha256="a748df98ee5375cd9949e5b0e1c631fb94f1984bc20606c1a0b39fbbcfc7dbfe",
    phrases={"sigmoid": ""},
    challenge="""\
Images (n, 3, 32, 32). No padding.

    conv1   5x5,   6 channels, then sigmoid; max-pool 2x2, stride 2
    conv2   5x5,  16 channels, then sigmoid; max-pool 2x2, stride 2
    conv3   4x4, 120 channels, then sigmoid
    flatten in the order channels, height, width: 480 features
    dense1   84, then sigmoid
    dense2   10""",
)
