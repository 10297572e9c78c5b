"""The CNN in Keras 2, from when Keras ran on other libraries: here on CNTK or on Theano.

Idiom: ``Sequential``, ``compile``, ``train_on_batch``; KERAS_BACKEND chooses what computes.
Layout: NCHW, Keras's channels_first.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: with channels_first, ``Flatten`` moves the channels last unless told that they are there.
    And on Theano kernels are turned by half a turn: the same weights are another network.
"""

import os

import numpy as np
from keras import backend as K
from keras.layers import Activation, Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from keras.models import Sequential
from keras.optimizers import SGD

NAMES = [
    layer + kind
    for layer in ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2")
    for kind in (".weight", ".bias")
]


def configure(lane, threads, seed):
    """Set layout and precision, and the backend's own switches; return those in force."""
    best = lane == "best"
    K.set_image_data_format("channels_first")  # the backends' own; else each layer transposes
    K.set_floatx("float32")
    settings = {
        "device": "cpu",
        "layout": "NCHW",
        "precision": K.floatx(),
        "threads": threads,
        "seed": seed,
        "backend": K.backend(),
        "not_in_force": [],
    }
    if K.backend() == "theano":
        import theano

        settings["backend_version"] = theano.__version__
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(threads)  # read when the first compiled function is loaded
        theano.config.floatX = K.floatx()
        theano.config.openmp = threads > 1
        theano.config.allow_gc = not best  # buffers of the last step are kept for the next
        for name in ("device", "mode", "optimizer", "openmp", "allow_gc"):
            settings[name] = getattr(theano.config, name)
        settings["blas.ldflags"] = theano.config.blas.ldflags
    else:
        import cntk

        settings["backend_version"] = cntk.__version__
        cntk.cntk_py.set_max_num_cputhreads(threads)
        cntk.cntk_py.set_fixed_random_seed(1 + seed)  # Keras hands it no seed for its dropout
        if cntk.device.use_default_device().type():
            settings["device"] = "cuda"
    return settings


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) as they are, class numbers one-hot (n, 10)."""
    return images, np.eye(10, dtype=np.float32)[labels]


def symbol(settings, hp):
    """The network as a list of layers."""
    seed = settings["seed"] % 2**30
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    return Sequential(
        [
            Conv2D(50, 3, padding="same", activation="relu", input_shape=(3, 32, 32)),
            Conv2D(50, 3, padding="same"),  # (N, 50, 32, 32)
            MaxPooling2D(2),  # (N, 50, 16, 16)
            Activation("relu"),  # after the pool: a quarter of the work
            Dropout(drop1, seed=3 * seed + 1),
            Conv2D(100, 3, padding="same", activation="relu"),  # (N, 100, 16, 16)
            Conv2D(100, 3, padding="same"),
            MaxPooling2D(2),  # (N, 100, 8, 8)
            Activation("relu"),
            Dropout(drop2, seed=3 * seed + 2),
            Flatten(data_format="channels_last"),  # (N, 6400), C, H, W: leaves the axes as they are
            Dense(512, activation="relu"),  # (N, 512)
            Dropout(drop3, seed=3 * seed + 3),
            Dense(10),  # (N, 10), no softmax: the loss applies it
        ]
    )


def loss(network, settings, hp, weights):
    """Cross-entropy, SGD with momentum, and the shared initial weights put in place."""
    network.set_weights([to_keras(weights[name]) for name in NAMES])

    def crossentropy(y, scores):
        # Keras's own clips probabilities at 1e-7, where their gradient then is zero.
        scores -= K.stop_gradient(K.max(scores, axis=-1, keepdims=True))  # (N, 10)
        return K.log(K.sum(K.exp(scores), axis=-1)) - K.sum(y * scores, axis=-1)  # (N,)

    optimizer = SGD(lr=hp.learning_rate, momentum=hp.momentum, nesterov=False)
    network.compile(loss=crossentropy, optimizer=optimizer)
    return network


def to_keras(w):
    """Keras's layout of a canonical tensor: (height, width, in, out) and (in, out)."""
    if w.ndim == 4 and K.backend() == "theano":
        w = w[:, :, ::-1, ::-1]  # Theano convolves, and turns the kernel back
    return np.ascontiguousarray(w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T)


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    for x, y in batches:
        yield model.train_on_batch(x, y)  # dropout on;  (N, 3, 32, 32), (N, 10)


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    return model.predict(x, batch_size=64)  # dropout off


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """Every weight under its canonical name, back from (height, width, in, out) and (in, out)."""
    found = {}
    for name, w in zip(NAMES, model.get_weights()):
        w = w.transpose(3, 2, 0, 1) if w.ndim == 4 else w.T  # (out, in, height, width)
        if w.ndim == 4 and K.backend() == "theano":
            w = w[:, :, ::-1, ::-1]
        found[name] = np.array(w, order="C")
    return found


def wait(model):
    """Return at once: ``train_on_batch`` has read the loss."""
