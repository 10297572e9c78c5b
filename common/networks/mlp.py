"""A multilayer perceptron on MNIST."""

from common.data import mnist
from common.networks.hyperparameters import Adam
from common.networks.initializers import xavier_uniform
from common.networks.model import CLASSES, Model, with_biases

MLP = Model(
    name="mlp",
    order=2,
    title="MLP on MNIST",
    task=CLASSES,
    data=mnist.load,
    observation=(1, 28, 28),
    shapes=with_biases(dense1=(1000, 784), dense2=(1000, 1000), dense3=(10, 1000)),
    initialize=xavier_uniform,
    hp=Adam(batch_size=100, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(60000, 5),
    quick=(60000, 1),
    batches_sha256="aa4e852c90f00651cf0d95c8b7ab8de34a9c260c961a06f28aeb24bf74da3c8a",
    phrases={"Adam": "", "Adam's epsilon": "head: Adam"},
    challenge="""\
Images (n, 1, 28, 28), flattened to 784 features.

    dense1  1000, then ReLU
    dense2  1000, then ReLU
    dense3    10""",
)
