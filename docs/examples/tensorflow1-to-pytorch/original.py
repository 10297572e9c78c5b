"""The old model, as a training script of 2018 has it: TensorFlow 1, channels last.

Trains for some seconds on made-up images of five classes and writes a checkpoint:

    tox exec -e tensorflow1 -- python docs/examples/tensorflow1-to-pytorch/original.py model.ckpt
"""

import sys

import numpy as np
import tensorflow as tf


def images(n, seed):
    """Images (n, 16, 16, 3), a noisy pattern for each of five classes; and their labels."""
    random = np.random.RandomState(seed)
    labels = random.randint(5, size=n)
    patterns = np.random.RandomState(0).uniform(size=(5, 16, 16, 3))
    noise = random.normal(size=(n, 16, 16, 3))
    return (patterns[labels] + noise).astype(np.float32), labels


def network(x, training):
    """Scores of a batch of images."""
    x = tf.layers.conv2d(x, 8, 3, strides=2, padding="same", use_bias=False, name="conv1")
    x = tf.layers.batch_normalization(x, training=training, name="bn1")  # (N, 8, 8, 8)
    x = tf.nn.relu(x)
    x = tf.layers.max_pooling2d(x, 3, 2, padding="same")  # (N, 4, 4, 8)
    x = tf.layers.conv2d(x, 16, 3, padding="same", activation=tf.nn.relu, name="conv2")
    x = tf.nn.lrn(x, 2, bias=1.0, alpha=0.02, beta=0.75)  # (N, 4, 4, 16)
    x = tf.layers.flatten(x)  # (N, 256)
    x = tf.layers.dense(x, 32, activation=tf.nn.relu, name="dense1")
    return tf.layers.dense(x, 5, name="dense2")


def training_step(scores, y):
    """The loss, the gradients with their variables, and the operation that makes one step."""
    loss = tf.losses.sparse_softmax_cross_entropy(y, scores)
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
    gradients = optimizer.compute_gradients(loss)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return loss, gradients, optimizer.apply_gradients(gradients)


def main(path):
    """Train, and write the checkpoint."""
    x = tf.placeholder(tf.float32, (None, 16, 16, 3))
    y = tf.placeholder(tf.int64, (None,))
    loss, _, step = training_step(network(x, training=True), y)
    tf.set_random_seed(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for seed in range(60):
            batch, labels = images(32, seed)
            value, _ = session.run([loss, step], {x: batch, y: labels})
        print("loss of the last step: %.3f" % value)
        tf.train.Saver().save(session, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
