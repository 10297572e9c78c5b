"""The residual network in Keras 3, on the backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: the functional interface, whose layers are called on symbolic images; ``compile``, and
    ``train_on_batch`` over the shared batches.
Layout: NCHW; the best lane takes NHWC, Keras's default, but not on PyTorch;
    NHWC on a CPU also if TensorFlow lacks oneDNN.
Momentum: ``v = momentum * v - lr * (g + decay * w); w = w + v``. The decay is a regulariser of
    half the strength, on the kernels: the optimiser's own ``weight_decay`` shrinks the weights
    directly, not through the velocity.
Batch normalisation: ``momentum`` is the part that is kept, and epsilon is 1e-3 by default. The
    running variance is divided by n. On PyTorch, Keras computes a variance as the mean of the
    squares less the square of the mean, which loses digits in float32.
Surprise: ``train_on_batch`` returns the loss plus the regularisers' penalties; the cross-entropy
    alone comes from a metric.
"""

import keras
import numpy as np
from keras import layers

from frameworks.keras import cnn
from frameworks.keras.cnn import AXES, evaluate, load, predict, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the CNN, with the conventions of batch normalisation."""
    settings = dict(cnn.configure(lane, threads, seed), running_variance="biased")
    settings.pop("pool", None)  # has none
    settings["variance"] = "squares" if settings["backend"] == "torch" else "differences"
    return settings


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    decay = keras.regularizers.L2(hp.weight_decay / 2)  # its gradient is 2 * strength * w
    channels = 1 if settings["layout"] == "NCHW" else -1

    def convolution(x, conv, norm, filters, size=1, stride=1):
        if size > 1:  # "same" with a stride of 2 would pad an even side only at its end
            x = layers.ZeroPadding2D(1)(x)
        layer = layers.Conv2D(
            filters, size, stride, use_bias=False, kernel_regularizer=decay, name=conv
        )
        return layers.BatchNormalization(channels, momentum=0.9, epsilon=1e-5, name=norm)(layer(x))

    inputs = keras.Input((3, 32, 32) if settings["layout"] == "NCHW" else (32, 32, 3))
    x = layers.ReLU()(convolution(inputs, "start_conv", "start_norm", 16, 3))  # (N, 16, 32, 32)
    for stage, blocks in enumerate(BLOCKS[hp.depth], 1):
        width = 8 * 2**stage
        for block in range(1, blocks + 1):
            name = "stage%d_block%d_" % (stage, block)  # PyTorch allows no dots
            stride = 2 if stage > 1 and block == 1 else 1
            y = layers.ReLU()(convolution(x, name + "conv1", name + "norm1", width))
            y = layers.ReLU()(convolution(y, name + "conv2", name + "norm2", width, 3, stride))
            y = convolution(y, name + "conv3", name + "norm3", 4 * width)
            if block == 1:
                names = name + "shortcut_conv", name + "shortcut_norm"
                x = convolution(x, *names, 4 * width, 1, stride)
            x = layers.ReLU()(layers.Add()([x, y]))
    # (N, 64, 32, 32), (N, 128, 16, 16), (N, 256, 8, 8), (N, 512, 4, 4) after the four stages
    x = layers.GlobalAveragePooling2D()(x)  # (N, 512)
    scores = layers.Dense(10, kernel_regularizer=decay, name="dense")(x)  # (N, 10)
    return keras.Model(inputs, scores)  # no softmax: the loss applies it


def variables(network):
    """{canonical name: variable}."""
    kinds = {
        "kernel": "weight",
        "gamma": "weight",
        "beta": "bias",
        "bias": "bias",
        "moving_mean": "mean",
        "moving_variance": "variance",
    }
    return {
        "%s.%s" % (layer.name.replace("_", "."), kinds[variable.name]): variable
        for layer in network.layers
        for variable in layer.weights
    }


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, variable in variables(network).items():
        w = weights[name]
        variable.assign(w.transpose(AXES[w.ndim]))
    network.compile(
        optimizer=keras.optimizers.SGD(hp.learning_rate, hp.momentum),  # nesterov=False
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),  # mean over the batch
        metrics=[keras.metrics.SparseCategoricalCrossentropy(from_logits=True)],
        jit_compile=settings["jit"],
    )
    return network


def train(model, batches):
    """One pass over the batches; yields the loss of each step, which Keras has waited for."""
    for x, y in batches:
        _, cross_entropy = model.train_on_batch(x, y)
        yield cross_entropy


def weights(model):
    """Every weight and the state under its canonical name and in its canonical layout."""
    found = {}
    for name, variable in variables(model).items():
        w = keras.ops.convert_to_numpy(variable)
        found[name] = w.transpose(np.argsort(AXES[w.ndim])).copy()
    return found
