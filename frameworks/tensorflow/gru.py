"""The GRU in TensorFlow 2, below Keras.

Idiom: matrix products on the variables of a ``tf.Module``; a ``GradientTape`` in a ``tf.function``,
    whose Python loop is unrolled: the graph holds every step.
Layout: numbers of words (N, T), activations (N, T, features); kernels (in, out).
Gates: written out here, so the order is ours: reset, update, new, side by side; two biases.
Surprise: below Keras the only GRUs are in ``tf.raw_ops``: cuDNN's, for a GPU alone, and
    ``GRUBlockCell``, which is another one: its reset gate acts before the recurrent product.
"""

import tensorflow as tf

from frameworks.tensorflow import mlp
from frameworks.tensorflow.cnn import evaluate, graphs, layer, predict, train, wait
from frameworks.tensorflow.mlp import adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

EMBEDDING = "words.weight"


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) int64 and class numbers (n,), as they are."""
    return sentences, labels


class Network(tf.Module):
    """Embedding, GRU, and a dense layer on the last state."""

    def __init__(self):
        super().__init__()
        self.words = tf.Variable(tf.zeros((10000, 125)), name=EMBEDDING)
        self.input = layer("gru.input", 125, 300)
        self.recurrent = layer("gru.recurrent", 100, 300)
        self.dense = layer("dense", 100, 2)

    def __call__(self, words, training):  # without dropout both are the same
        """Scores (N, 2) of sentences (N, T)."""
        kernel, bias = self.input
        inputs = tf.tensordot(tf.gather(self.words, words), kernel, 1) + bias  # (N, T, 300)
        kernel, bias = self.recurrent
        h = tf.zeros((tf.shape(words)[0], 100))
        for t in range(words.shape[1]):
            xr, xz, xn = tf.split(inputs[:, t], 3, 1)  # (N, 100) each
            hr, hz, hn = tf.split(tf.matmul(h, kernel) + bias, 3, 1)
            r, z = tf.sigmoid(xr + hr), tf.sigmoid(xz + hz)
            h = (1 - z) * tf.tanh(xn + r * hn) + z * h
        weight, bias = self.dense
        return tf.matmul(h, weight) + bias  # (N, 2), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def canonical(name, w):
    """The matrix that is (in, out) here and (out, in) there, or the other way round."""
    return w if name == EMBEDDING else w.T


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    variables = network.trainable_variables
    for variable in variables:
        name = variable.name[: -len(":0")]
        variable.assign(canonical(name, weights[name]))
    update = adam(variables, hp)

    def step(x, y):
        with tf.GradientTape() as tape:
            scores = network(x, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores)  # (N,)
            step_loss = tf.reduce_mean(losses)
        gradients = tape.gradient(step_loss, variables)
        update([tf.convert_to_tensor(g) for g in gradients])  # the embedding's made dense
        return step_loss

    return graphs(network, step, settings)


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    names = ((variable, variable.name[: -len(":0")]) for variable in model[0].trainable_variables)
    return {name: canonical(name, variable.numpy()).copy() for variable, name in names}
