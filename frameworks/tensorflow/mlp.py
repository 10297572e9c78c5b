"""The MLP in TensorFlow 2, below Keras.

Idiom: matrix products on the variables of a ``tf.Module``; a ``GradientTape`` in a ``tf.function``,
    whose Python runs once, to record a graph.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: a Python counter would keep the value it had when the graph was recorded, so the step
    number is a variable. It is float64, because float32 keeps five digits of 1 - 0.999.
"""

import tensorflow as tf

from frameworks.tensorflow import cnn
from frameworks.tensorflow.cnn import (
    evaluate,
    graphs,
    layer,
    load,
    predict,
    put,
    train,
    wait,
    weights,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, but switches of convolutions are not in force."""
    settings = cnn.configure(lane, threads, seed)
    return dict(settings, not_in_force=sorted({"autotune"} | set(settings["not_in_force"])))


class Network(tf.Module):
    """A kernel and a bias for each layer, and the scores that they give."""

    def __init__(self):
        super().__init__()
        self.dense1 = layer("dense1", 784, 1000)
        self.dense2 = layer("dense2", 1000, 1000)
        self.dense3 = layer("dense3", 1000, 10)

    def __call__(self, x, training):  # without dropout both are the same
        """Scores of a batch of images."""
        x = tf.reshape(x, (-1, 784))  # (N, 784)
        for weight, bias in (self.dense1, self.dense2):
            x = tf.nn.relu(tf.matmul(x, weight) + bias)  # (N, 1000)
        weight, bias = self.dense3
        return tf.matmul(x, weight) + bias  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def adam(variables, hp):
    """The function that moves the variables by their gradients."""
    means = [tf.Variable(tf.zeros_like(variable)) for variable in variables]
    squares = [tf.Variable(tf.zeros_like(variable)) for variable in variables]
    steps = tf.Variable(0.0, dtype=tf.float64)

    def update(gradients):
        steps.assign_add(1)
        correction1, correction2 = (
            tf.cast(1 - tf.constant(beta, tf.float64) ** steps, tf.float32)
            for beta in (hp.beta1, hp.beta2)
        )
        for w, m, v, g in zip(variables, means, squares, gradients):
            m.assign_add((1 - hp.beta1) * (g - m))
            v.assign_add((1 - hp.beta2) * (g * g - v))
            w.assign_sub(
                hp.learning_rate * (m / correction1) / (tf.sqrt(v / correction2) + hp.epsilon)
            )

    return update


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    variables = network.trainable_variables
    put(variables, weights)
    update = adam(variables, hp)

    def step(x, y):
        with tf.GradientTape() as tape:
            scores = network(x, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores)  # (N,)
            step_loss = tf.reduce_mean(losses)
        update(tape.gradient(step_loss, variables))  # not for x
        return step_loss

    return graphs(network, step, settings)
