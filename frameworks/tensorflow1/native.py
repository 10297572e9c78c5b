"""TensorFlow 1's own file of weights: a checkpoint, ``.ckpt``.

Idiom: a ``Saver`` writes the variables by their names; a checkpoint reader gives each as an array.
Surprise: a ``Saver`` adds operations to the graph, and this model's graph is finalized. So it works
    in a graph of its own, with variables of the same names.
"""

import tensorflow as tf


def variables(session):
    """The model's variables, without the optimiser's."""
    return session.graph.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)


def save(model, path):
    """Write the model's weights."""
    named = {variable.op.name: variable for variable in variables(model[0])}
    arrays = model[0].run(named)
    with tf.Graph().as_default(), tf.Session() as session:
        copies = {name: tf.Variable(array) for name, array in arrays.items()}
        session.run(tf.global_variables_initializer())
        tf.train.Saver(copies).save(session, path, write_meta_graph=False, write_state=False)


def restore(model, path):
    """Read weights into the model."""
    reader = tf.train.load_checkpoint(path)
    for variable in variables(model[0]):
        variable.load(reader.get_tensor(variable.op.name), model[0])
