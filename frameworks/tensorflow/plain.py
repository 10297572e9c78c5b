"""The CNN in TensorFlow as a tutorial writes it: ``tf.keras`` layers, ``tf.data``, a compiled step.

The bench times it beside the lanes: ``tox run -e bench -- tensorflow:plain tensorflow:best``.
"""

import tensorflow as tf
from tensorflow.keras import layers

CHANNELS_LAST = True


class Network(tf.keras.Model):
    """The layers, and the scores that they give."""

    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(50, 3, padding="same", activation="relu")
        self.conv2 = layers.Conv2D(50, 3, padding="same", activation="relu")
        self.conv3 = layers.Conv2D(100, 3, padding="same", activation="relu")
        self.conv4 = layers.Conv2D(100, 3, padding="same", activation="relu")
        self.pool = layers.MaxPooling2D()
        self.flatten = layers.Flatten()
        self.dense1 = layers.Dense(512, activation="relu")
        self.dense2 = layers.Dense(10)
        self.dropout1 = layers.Dropout(0.25)
        self.dropout2 = layers.Dropout(0.5)

    def call(self, x, training=False):
        """Scores of a batch of images."""
        x = self.conv1(x)  # (N, 32, 32, 50)
        x = self.pool(self.conv2(x))  # (N, 16, 16, 50)
        x = self.dropout1(x, training=training)
        x = self.conv3(x)  # (N, 16, 16, 100)
        x = self.pool(self.conv4(x))  # (N, 8, 8, 100)
        x = self.dropout1(x, training=training)
        x = self.dense1(self.flatten(x))  # (N, 6400), (N, 512)
        x = self.dropout2(x, training=training)
        return self.dense2(x)  # (N, 10)


def build(learning_rate=0.01):
    """The model: network and compiled step."""
    network = Network()
    criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(learning_rate, momentum=0.9)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = criterion(y, network(x, training=True))
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables))
        return loss

    return network, step


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 32, 32, 3), labels: (n,)."""
    _, step = model
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(10000).batch(64)
    for x, y in data:
        loss = step(x, y)
    return loss
