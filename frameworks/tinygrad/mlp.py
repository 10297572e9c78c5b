"""The MLP in tinygrad.

Idiom: a plain class whose ``__call__`` builds a lazy graph of ``Tensor`` methods; ``TinyJit``
    records the kernels of a step, and replays them without Python.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t, in
    float32.
Surprise: Adam multiplies beta**t up in float32, step by step, which loses digits of 1 - beta2**t.
"""

from tinygrad import Context, nn

from frameworks.tinygrad import cnn
from frameworks.tinygrad.cnn import evaluate, load, predict, put, recorded, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN; Adam multiplies its corrections up in float32."""
    return dict(cnn.configure(lane, threads, seed), adam_scalars="float32 products")


class Network:
    """The layers, and the scores that they give."""

    def __init__(self):
        self.dense1 = nn.Linear(784, 1000)
        self.dense2 = nn.Linear(1000, 1000)
        self.dense3 = nn.Linear(1000, 10)

    def __call__(self, x):
        """Scores of a batch of images."""
        x = x.flatten(1)  # (N, 784)
        x = self.dense1(x).relu()  # (N, 1000)
        x = self.dense2(x).relu()  # (N, 1000)
        return self.dense3(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    parameters = nn.state.get_parameters(network)
    optimizer = nn.optim.Adam(
        parameters, lr=hp.learning_rate, b1=hp.beta1, b2=hp.beta2, eps=hp.epsilon
    )

    @Context(TRAINING=1)  # without it, the optimiser refuses to step
    def step(x, y):
        optimizer.zero_grad()
        step_loss = network(x).sparse_categorical_crossentropy(y)  # of scores
        step_loss.backward()  # for x, too, but nothing computes that
        return step_loss.realize(*optimizer.schedule_step())

    return recorded(network, step)
