"""The CNN in Keras 3, trained by its own ``fit``, on TensorFlow.

Idiom: ``Sequential``, ``compile``, and ``fit`` over a ``tf.data.Dataset``; its loop calls the
    methods of callbacks.
Layout: NCHW; NHWC (Keras's default) in lane best, and in both lanes on a CPU without oneDNN.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: the loss that ``fit`` logs at a step is the mean of the epoch so far. Unasked, ``fit``
    shuffles arrays in each epoch and trains on their last partial batch; it takes a ``Dataset``'s
    batches as they come. It neither clips, accumulates nor changes the precision.
"""

import warnings

import keras
import tensorflow as tf
from greenlet import getcurrent, greenlet

from frameworks.keras.cnn import configure, evaluate, load, loss, predict, symbol, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

warnings.filterwarnings("ignore", "Your input ran out of data")  # a pass ends there


class HandOver(keras.callbacks.Callback):
    """Pause the loop of ``fit`` after each step, and give the loss to whoever started it."""

    def on_train_batch_begin(self, batch, logs=None):
        """Forget the losses of earlier steps, with which this one's would be averaged."""
        self.model.reset_metrics()

    def on_train_batch_end(self, batch, logs=None):
        """The step's loss is in ``logs``, its update made."""
        getcurrent().parent.switch(logs["loss"])


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    x, y = tf.TensorSpec((None, *model.input_shape[1:])), tf.TensorSpec((None,), tf.int64)
    dataset = tf.data.Dataset.from_generator(lambda: batches, output_signature=(x, y))
    options = tf.data.Options()
    options.autotune.enabled = False  # its thread sleeps, and may be waited for: docs/findings.md
    fit = greenlet(model.fit)
    step_loss = fit.switch(
        dataset.with_options(options), shuffle=False, verbose=0, callbacks=[HandOver()]
    )
    while not fit.dead:
        yield step_loss
        step_loss = fit.switch()
