"""A small CNN on MNIST: one convolution and two dense layers, in batches of 8."""

from common.data import mnist
from common.networks.hyperparameters import Adam
from common.networks.initializers import xavier_uniform
from common.networks.model import CLASSES, Model, with_biases

MNIST_CNN = Model(
    name="mnist_cnn",
    order=4,
    title="CNN on MNIST",
    task=CLASSES,
    data=mnist.load,
    observation=(1, 28, 28),
    shapes=with_biases(conv1=(10, 1, 3, 3), dense1=(100, 1960), dense2=(10, 100)),
    positions={"conv1": 28 * 28},
    layers=frozenset(["pool"]),
    initialize=xavier_uniform,
    hp=Adam(batch_size=8, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(60000, 5),
    quick=(10000, 1),
    batches_sha256="9fa34f650240123200c2bdb6bf06bd8222415692cf387de6cc6d26bb105113a6",
    challenge="""\
Images (n, 1, 28, 28). Padding of 1 keeps height and width.

    conv1   3x3, 10 channels, then ReLU; max-pool 2x2, stride 2
    flatten in the order channels, height, width: 1960 features
    dense1  100, then ReLU
    dense2   10""",
)
