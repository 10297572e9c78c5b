"""The CNN in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches. Nothing below
    names a backend but ``configure``, because threads and precision are the backends' own.
Layout: NCHW; the best lane takes NHWC, Keras's default, but not on PyTorch, which has no NHWC
    convolution, so that Keras would transpose at each layer.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: ``Flatten`` gives the order H, W, C from channels-first images, too, so that weights
    trained in one layout serve in the other.
"""

import os

import keras
import numpy as np
from keras import layers

AXES = {1: (0,), 2: (1, 0), 4: (2, 3, 1, 0)}  # from canonical to Keras's (y, x, in, out)


def configure(lane, threads, seed):
    """Set threads, seed, precision and autotune; return the settings in force."""
    best = lane == "best"
    backend = keras.config.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        threads = tf.config.threading.get_intra_op_parallelism_threads()
        tf.config.experimental.enable_tensor_float_32_execution(False)
        tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
        os.environ["TF_CUDNN_USE_AUTOTUNE"] = "1" if best else "0"  # read when a kernel is made
        autotune, version = best, tf.__version__
    elif backend == "jax":
        import jax

        os.environ["NPROC"] = str(threads)  # these two are read once, when JAX finds its devices
        os.environ.setdefault("XLA_FLAGS", "" if best else "--xla_gpu_autotune_level=0")
        gpus = jax.default_backend() == "gpu"
        jax.config.update("jax_default_matmul_precision", "highest")
        tf32 = jax.config.jax_default_matmul_precision != "highest"
        autotune = "autotune_level=0" not in os.environ["XLA_FLAGS"]
        version = jax.__version__
    else:
        import torch

        gpus = torch.cuda.is_available()
        torch.set_num_threads(threads)
        threads = torch.get_num_threads()
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = best
        tf32, autotune = torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark
        version = torch.__version__
    keras.utils.set_random_seed(seed)
    last = best and backend != "torch"
    keras.config.set_image_data_format("channels_last" if last else "channels_first")
    return {
        "device": "cuda" if gpus else "cpu",
        "layout": {"channels_first": "NCHW", "channels_last": "NHWC"}[
            keras.config.image_data_format()
        ],
        "precision": keras.config.floatx(),
        "threads": threads,
        "seed": seed,
        "backend": backend,
        "backend_version": version,
        "tf32": tf32,
        "autotune": autotune,
        "jit": keras.Sequential().jit_compile,  # what "auto" comes to with this backend and device
        "not_in_force": [] if gpus else ["tf32", "autotune"],
    }


def load(images, labels, settings):
    """Float32 images in the settings' layout, and int64 class numbers (n,) as they are."""
    if settings["layout"] == "NHWC":  # each axis by name: to swap 1 and 3 turns the images, too
        images = np.ascontiguousarray(images.transpose(0, 2, 3, 1))  # (n, 32, 32, 3)
    return images, labels


def symbol(settings, hp):
    """The network as a list of layers."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    return keras.Sequential(
        [
            keras.Input((3, 32, 32) if settings["layout"] == "NCHW" else (32, 32, 3)),
            layers.Conv2D(50, 3, padding="same", activation="relu"),  # (N, 50, 32, 32)
            layers.Conv2D(50, 3, padding="same"),
            layers.MaxPooling2D(2),  # (N, 50, 16, 16)
            layers.ReLU(),  # after the pool: the same result, from a quarter of the numbers
            layers.Dropout(drop1),
            layers.Conv2D(100, 3, padding="same", activation="relu"),  # (N, 100, 16, 16)
            layers.Conv2D(100, 3, padding="same"),
            layers.MaxPooling2D(2),  # (N, 100, 8, 8)
            layers.ReLU(),
            layers.Dropout(drop2),
            layers.Flatten(),  # (N, 6400), in the order H, W, C whatever the layout
            layers.Dense(512, activation="relu"),  # (N, 512)
            layers.Dropout(drop3),
            layers.Dense(10),  # (N, 10), no softmax: the loss applies it
        ]
    )


def loss(network, settings, hp, weights):
    """Cross-entropy, SGD with momentum, and the shared initial weights put in place."""
    # Keras's own initialiser is Glorot uniform too, but from the backend's random numbers.
    shared = dict(weights)
    dense1 = shared["dense1.weight"].reshape(512, 100, 8, 8).transpose(0, 2, 3, 1)  # H, W, C
    shared["dense1.weight"] = dense1.reshape(512, 6400)
    network.set_weights([shared[name].transpose(AXES[shared[name].ndim]) for name in weights])
    network.compile(
        optimizer=keras.optimizers.SGD(hp.learning_rate, hp.momentum),  # nesterov=False
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),  # mean over the batch
        jit_compile=settings["jit"],
    )
    return network


def train(model, batches):
    """One pass over the batches; yields the loss of each step, which Keras has waited for."""
    for x, y in batches:  # not fit(), which would shuffle them once more
        yield model.train_on_batch(x, y)


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    return model.predict(x, batch_size=256, verbose=0)  # it turns dropout off


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float(keras.ops.mean(keras.metrics.sparse_categorical_accuracy(labels, scores)))


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    names = [
        layer + kind
        for layer in ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2")
        for kind in (".weight", ".bias")
    ]
    arrays = [w.transpose(np.argsort(AXES[w.ndim])).copy() for w in model.get_weights()]
    found = dict(zip(names, arrays))
    dense1 = found["dense1.weight"].reshape(512, 8, 8, 100).transpose(0, 3, 1, 2)  # C, H, W
    found["dense1.weight"] = dense1.reshape(512, 6400)
    return found


def wait(model):
    """Return when the device has finished: when the biases of the last step can be read."""
    for variable in model.trainable_variables[1::2]:
        keras.ops.convert_to_numpy(variable)
