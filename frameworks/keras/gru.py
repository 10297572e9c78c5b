"""The GRU in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches.
Layout: numbers of words (N, T), activations (N, T, features).
Gates: update, reset, new, side by side; two biases, the rows of one array. By default
    the reset gate acts after the recurrent product, as in cuDNN.
Surprise: on TensorFlow an embedding's gradient has a row for each use of a word, and Keras's Adam
    squares each row alone, not a word's sum. So common words, and padding, took other steps; here
    the sum is taken first.
"""

import keras
import numpy as np
from keras import layers, ops

from frameworks.keras import lstm
from frameworks.keras.cnn import evaluate, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the LSTM, but for the layout."""
    return dict(lstm.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) int64 and class numbers (n,), as they are."""
    return sentences, labels


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return keras.Sequential(
        [
            keras.Input((40,), dtype="int32"),
            layers.Embedding(10000, 125, name="words"),  # (N, 40, 125)
            layers.GRU(100, name="gru"),  # (N, 100): the last step's; reset_after=True
            layers.Dense(2, name="dense"),  # (N, 2), no softmax: the loss applies it
        ]
    )


def exchanged(w):
    """A tensor (3 units, ...) whose first two gates have changed places."""
    first, second, new = np.split(w, 3)
    return np.concatenate([second, first, new])


def put(network, weights):
    """Copy the canonical weights into the layers."""
    words, gru, dense = (network.get_layer(name) for name in ("words", "gru", "dense"))
    words.set_weights([weights["words.weight"]])
    matrices = [exchanged(weights["gru.%s.weight" % part]).T for part in ("input", "recurrent")]
    biases = [exchanged(weights["gru.%s.bias" % part]) for part in ("input", "recurrent")]
    gru.set_weights([*matrices, np.stack(biases)])
    dense.set_weights([weights["dense.weight"].T, weights["dense.bias"]])


class Adam(keras.optimizers.Adam):
    """Adam with dense gradients."""

    def apply(self, grads, trainable_variables=None):
        """Add up the rows of TensorFlow's gradient of the embedding."""
        # ``add`` makes IndexedSlices dense; ``ops.convert_to_tensor`` would leave them as they are.
        super().apply([ops.add(g, 0) for g in grads], trainable_variables)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    network.compile(
        optimizer=Adam(hp.learning_rate, beta_1=hp.beta1, beta_2=hp.beta2, epsilon=hp.epsilon),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),  # mean over the batch
        jit_compile=settings["jit"],
    )
    return network


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    kernel, recurrent, biases = model.get_layer("gru").get_weights()
    dense, bias = model.get_layer("dense").get_weights()
    return {
        "words.weight": model.get_layer("words").get_weights()[0],
        "gru.input.weight": exchanged(kernel.T),
        "gru.recurrent.weight": exchanged(recurrent.T),
        "gru.input.bias": exchanged(biases[0]),
        "gru.recurrent.bias": exchanged(biases[1]),
        "dense.weight": dense.T.copy(),
        "dense.bias": bias,
    }
