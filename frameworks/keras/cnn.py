"""The CNN in Keras 3, on the backend that KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches. ``backends.py``
    sets device, threads, precision and autotune, which belong to the backend.
Layout: NCHW; NHWC (Keras's default) in lane best, except on PyTorch; in both lanes for TensorFlow
    on a CPU without oneDNN.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: ``Flatten`` gives the order H, W, C from channels-first images too, so weights trained in
    one layout work in the other.
"""

import keras
import numpy as np
from keras import layers

from frameworks.keras.backends import stored, switch
from frameworks.keras.pools import max_pooling

AXES = {1: (0,), 2: (1, 0), 4: (2, 3, 1, 0)}  # from canonical to Keras's (y, x, in, out)


def configure(lane, threads, seed):
    """Set seed, layout and the backend's switches; return the settings in force."""
    switches = switch(lane, threads)  # device, layout, threads, TF32, autotune
    keras.utils.set_random_seed(seed)
    image_data_format = {"NCHW": "channels_first", "NHWC": "channels_last"}
    keras.config.set_image_data_format(image_data_format[switches["layout"]])
    return {
        "precision": keras.config.floatx(),
        "seed": seed,
        **switches,
        "jit": keras.Sequential().jit_compile,  # what "auto" means for this backend and device
    }


def load(images, labels, settings):
    """Float32 images in the settings' layout, and int64 class numbers (n,) as they are."""
    if settings["layout"] == "NHWC":  # swapping axes 1 and 3 would also transpose the images
        images = np.ascontiguousarray(images.transpose(0, 2, 3, 1))  # (n, 32, 32, 3)
    return stored(images, settings), labels


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    MaxPooling2D = max_pooling(settings)  # layers.MaxPooling2D, except on JAX on a CPU in lane best
    return keras.Sequential(
        [
            keras.Input((3, 32, 32) if settings["layout"] == "NCHW" else (32, 32, 3)),
            layers.Conv2D(50, 3, padding="same", activation="relu", name="conv1"),
            # (N, 50, 32, 32), or channels last
            layers.Conv2D(50, 3, padding="same", activation="relu", name="conv2"),
            MaxPooling2D(2),  # (N, 50, 16, 16)
            layers.Dropout(drop1),
            layers.Conv2D(100, 3, padding="same", activation="relu", name="conv3"),
            # (N, 100, 16, 16)
            layers.Conv2D(100, 3, padding="same", activation="relu", name="conv4"),
            MaxPooling2D(2),  # (N, 100, 8, 8)
            layers.Dropout(drop2),
            layers.Flatten(name="flatten"),  # (N, 6400), in the order H, W, C in both layouts
            layers.Dense(512, activation="relu", name="dense1"),  # (N, 512)
            layers.Dropout(drop3),
            layers.Dense(10, name="dense2"),  # (N, 10), no softmax: the loss applies it
        ]
    )


def flatten_order(network):
    """For each feature in Flatten's order (H, W, C), its index in the canonical order (C, H, W)."""
    shape = network.get_layer("flatten").input.shape[1:]
    if keras.config.image_data_format() == "channels_last":
        shape = shape[-1:] + shape[:-1]
    return np.arange(np.prod(shape)).reshape(shape).transpose(1, 2, 0).ravel()


def put(network, weights):
    """Copy the canonical weights into the layers with the same names."""
    shared = dict(weights)
    shared["dense1.weight"] = shared["dense1.weight"][:, flatten_order(network)]
    for layer in network.layers:
        if layer.weights:
            w, bias = shared[layer.name + ".weight"], shared[layer.name + ".bias"]
            layer.set_weights([w.transpose(AXES[w.ndim]), bias])


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    # Keras's own initialiser is Glorot uniform as well, but with its backend's random numbers.
    put(network, weights)
    network.compile(
        optimizer=keras.optimizers.SGD(hp.learning_rate, hp.momentum),  # nesterov=False
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),  # mean over the batch
        jit_compile=settings["jit"],
    )
    return network


def train(model, batches):
    """One pass over the batches; yields the loss of each step, which Keras has waited for."""
    for x, y in batches:
        yield model.train_on_batch(x, y)


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    return model.predict(x, batch_size=256, verbose=0)  # it turns dropout off


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float(keras.ops.mean(keras.metrics.sparse_categorical_accuracy(labels, scores)))


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    found = {}
    for layer in model.layers:
        if layer.weights:
            w, bias = layer.get_weights()
            found[layer.name + ".weight"] = w.transpose(np.argsort(AXES[w.ndim])).copy()
            found[layer.name + ".bias"] = bias
    found["dense1.weight"] = found["dense1.weight"][:, np.argsort(flatten_order(model))]
    return found


def wait(model):
    """Return when the device has finished: when the variables of the last step can be read."""
    for variable in model.trainable_variables:
        keras.ops.convert_to_numpy(variable)
