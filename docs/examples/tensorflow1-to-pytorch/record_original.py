"""The checkpoint's arrays, one pass and three steps of the old model, for the port to match.

    tox exec -e tensorflow1 -- python docs/examples/tensorflow1-to-pytorch/record_original.py \
        model.ckpt FOLDER

Writes weights.npz, forward.npz and steps.npz.
"""

import os
import sys
from collections import OrderedDict

import numpy as np
import original
import tensorflow as tf

LAYERS = ("Conv2D", "BiasAdd", "FusedBatchNormV3", "Relu", "MaxPool", "LRN", "Reshape", "MatMul")
STEPS = 3


def weights(checkpoint):
    """{name: array} of a checkpoint, without the optimiser's; no model is needed for this."""
    reader = tf.train.load_checkpoint(checkpoint)
    names = [name for name in reader.get_variable_to_shape_map() if "Momentum" not in name]
    return OrderedDict((name, reader.get_tensor(name)) for name in sorted(names))


def forward(checkpoint, batch):
    """The images and each layer's result in prediction, in the order of computation."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, (None, 16, 16, 3))
        original.network(x, training=False)
        tf.train.Saver().restore(session, checkpoint)
        layers = [op for op in graph.get_operations() if op.type in LAYERS]
        arrays = session.run([op.outputs[0] for op in layers], {x: batch})
        return OrderedDict([("x", batch)] + list(zip((op.name for op in layers), arrays)))


def steps(checkpoint, batch, labels):
    """Three steps on one batch: the first gradients, the losses, and each array after them."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, (None, 16, 16, 3))
        y = tf.placeholder(tf.int64, (None,))
        loss, gradients, step = original.training_step(original.network(x, training=True), y)
        variables = OrderedDict(
            (v.op.name, v) for v in tf.global_variables() if "Momentum" not in v.op.name
        )
        session.run(tf.global_variables_initializer())  # the velocities begin at 0 ...
        tf.train.Saver(variables).restore(session, checkpoint)  # ... the rest as it was saved
        arrays, losses = OrderedDict(x=batch), []
        for n in range(STEPS):
            value, pairs, _ = session.run([loss, gradients, step], {x: batch, y: labels})
            losses.append(value)
            if n == 0:
                for (_, variable), (gradient, _) in zip(gradients, pairs):
                    arrays["gradient of " + variable.op.name] = gradient
        arrays["losses"] = np.array(losses)
        for name, array in session.run(variables).items():
            arrays["after " + name] = array
        arrays["y"] = labels
        return arrays


def main(checkpoint, folder):
    """Write the three files."""
    os.makedirs(folder, exist_ok=True)
    batch, labels = original.images(8, seed=1000)
    files = {
        "weights": weights(checkpoint),
        "forward": forward(checkpoint, batch),
        "steps": steps(checkpoint, batch, labels),
    }
    for name, arrays in files.items():
        np.savez_compressed(os.path.join(folder, name + ".npz"), **arrays)
        print("%s.npz: %d arrays" % (name, len(arrays)))


if __name__ == "__main__":
    main(*sys.argv[1:])
