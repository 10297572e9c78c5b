"""The LSTM in TensorFlow 2, below Keras.

Idiom: matrix products on the variables of a ``tf.Module``; a ``GradientTape`` in a ``tf.function``,
    whose Python loop is unrolled: the graph holds every step.
Layout: sequences (N, T, 1).
Gates: written out here, so the order is ours: input, forget, cell, output, side by side; one bias.
State: zeros at the start of every sequence, carried from chunk to chunk; ``stop_gradient``
    between chunks cuts the gradient.
Surprise: below Keras the only LSTMs are in ``tf.raw_ops``. ``BlockLSTM`` has the gates in another
    order, adds 1 to the forget gate and clips the cell at 3; ``BlockLSTMV2`` does none of this.
"""

import tensorflow as tf

from frameworks.tensorflow import mlp
from frameworks.tensorflow.cnn import graphs, layer, load, predict, put, train, wait, weights
from frameworks.tensorflow.mlp import adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps through which the gradient flows back


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NTC")


class Network(tf.Module):
    """Kernels and biases, and the values that they give."""

    def __init__(self):
        super().__init__()
        self.dense1 = layer("dense1", 1, 5)
        self.kernel = tf.Variable(tf.zeros((5, 20)), name="lstm.input.weight")
        self.recurrent = tf.Variable(tf.zeros((5, 20)), name="lstm.recurrent.weight")
        self.bias = tf.Variable(tf.zeros(20), name="lstm.bias")
        self.dense2 = layer("dense2", 5, 1)

    def advance(self, x, state):
        """Values of the steps of x, and the state after them."""
        h, c = state
        weight, bias = self.dense1
        hs = []
        for t in range(x.shape[1]):
            inner = tf.matmul(x[:, t], weight) + bias  # (N, 5)
            gates = tf.matmul(inner, self.kernel) + tf.matmul(h, self.recurrent) + self.bias
            i, f, g, o = tf.split(gates, 4, 1)  # (N, 5) each
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            hs.append(h)
        weight, bias = self.dense2
        return tf.matmul(tf.stack(hs, 1), weight) + bias, (h, c)  # (N, T, 1)

    def __call__(self, x, training):
        """Values of a batch of sequences; in prediction as many again, free-running."""
        zeros = tf.zeros((tf.shape(x)[0], 5))
        state, values = (zeros, zeros), []
        for first in range(0, x.shape[1], CHUNK):
            value, state = self.advance(x[:, first : first + CHUNK], state)
            state = [tf.stop_gradient(part) for part in state]
            values.append(value)
        for _ in range(0 if training else x.shape[1]):
            value, state = self.advance(values[-1][:, -1:], state)
            values.append(value)
        return tf.concat(values, 1)  # (N, T, 1) or (N, 2 T, 1)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    variables = network.trainable_variables
    put(variables, weights)
    update = adam(variables, hp)

    def step(x, y):
        with tf.GradientTape() as tape:
            values = network(x, training=True)
            step_loss = tf.reduce_mean((values - y) ** 2)  # over the batch and its steps
        update(tape.gradient(step_loss, variables))  # not for x
        return step_loss

    return graphs(network, step, settings)


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(tf.sqrt(tf.reduce_mean((values - targets) ** 2)))
