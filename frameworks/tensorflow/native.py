"""TensorFlow's own files: a checkpoint, ``.ckpt``, and a SavedModel, a folder.

Idiom: ``tf.train.Checkpoint`` finds the variables by the attributes that lead to them.
Surprise: a checkpoint is several files, whose names begin with the one that is given. The variables
    of a SavedModel are a checkpoint as well; reading them runs none of its functions.
"""

import os

import tensorflow as tf


def save(model, path):
    """Write the model's weights; ``PATH.saved_model`` is a folder."""
    if path.endswith(".ckpt"):
        tf.train.Checkpoint(model[0]).write(path)
    else:
        tf.saved_model.save(model[0], path)


def restore(model, path):
    """Read weights into the model."""
    if not path.endswith(".ckpt"):
        path = os.path.join(path, "variables", "variables")
    tf.train.Checkpoint(model[0]).read(path).assert_existing_objects_matched()
