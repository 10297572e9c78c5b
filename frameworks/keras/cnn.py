"""The CNN in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches. ``configure``
    and ``load`` alone name backends: threads, precision and memory formats are theirs.
Layout: NCHW; the best lane takes NHWC, Keras's default, but not on PyTorch, where Keras transposes
    the images before and after each layer; NHWC on a CPU, too, where TensorFlow lacks oneDNN.
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
    channels_last = best and backend != "torch"
    if backend == "tensorflow":
        import tensorflow as tf
        from tensorflow.python.util._pywrap_util_port import IsMklEnabled  # it has no public name

        gpus = tf.config.list_physical_devices("GPU")
        for device in gpus:
            tf.config.experimental.set_memory_growth(device, True)  # not all of it at once
        gpu = bool(gpus)
        channels_last = channels_last or not (gpu or IsMklEnabled())
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        # Going back, a layer's gradients of kernel and images do not wait for each other. Two
        # operations at once keep more than ``threads`` cores busy where there are more.
        at_once = threads if best and threads == os.cpu_count() else 1
        tf.config.threading.set_inter_op_parallelism_threads(at_once)
        tf.config.experimental.enable_tensor_float_32_execution(False)  # on by default
        os.environ["TF_CUDNN_USE_AUTOTUNE"] = "1" if best else "0"  # read when a kernel is made
        switches = {
            "backend_version": tf.__version__,
            "threads": tf.config.threading.get_intra_op_parallelism_threads(),
            "threads_between_operations": tf.config.threading.get_inter_op_parallelism_threads(),
            "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
            "autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] == "1",
            "onednn": IsMklEnabled(),
        }
    elif backend == "jax":
        import jax

        os.environ.setdefault("NPROC", str(threads))  # these two are read once, by the first device
        # XLA's newer convolutions on a CPU are slower than its older ones, in training twice.
        flag = "cpu_experimental_ynn_fusion_type=-individual_convolution"
        os.environ.setdefault("XLA_FLAGS", "--xla_" + (flag if best else "gpu_autotune_level=0"))
        gpu = jax.default_backend() == "gpu"
        jax.config.update("jax_default_matmul_precision", "highest")
        switches = {
            "backend_version": jax.__version__,
            "threads": int(os.environ["NPROC"]),
            "tf32": jax.config.jax_default_matmul_precision != "highest",
            "autotune": "autotune_level=0" not in os.environ["XLA_FLAGS"],
            "ynn_convolution": "-individual_convolution" not in os.environ["XLA_FLAGS"],
            "pool": "comparisons" if best and not gpu else "windows",
        }
    else:
        import torch

        gpu = torch.cuda.is_available()
        torch.set_num_threads(threads)
        torch.backends.fp32_precision = "ieee"  # cuDNN's convolutions take TF32 by default
        torch.backends.cudnn.benchmark = best
        precisions = (
            torch.backends.cuda.matmul.fp32_precision,
            torch.backends.cudnn.conv.fp32_precision,
        )
        switches = {
            "backend_version": torch.__version__,
            "memory_format": "channels_last" if best else "contiguous",
            "threads": torch.get_num_threads(),
            "tf32": "tf32" in precisions,
            "autotune": torch.backends.cudnn.benchmark,
        }
    of_gpu, of_cpu = ["tf32", "autotune"], ["ynn_convolution"] if backend == "jax" else []
    keras.utils.set_random_seed(seed)
    keras.config.set_image_data_format("channels_last" if channels_last else "channels_first")
    return {
        "device": "cuda" if gpu else "cpu",
        "layout": "NHWC" if channels_last else "NCHW",
        "precision": keras.config.floatx(),
        "seed": seed,
        "backend": backend,
        **switches,
        "jit": keras.Sequential().jit_compile,  # what "auto" means for this backend and device
        "not_in_force": of_cpu if gpu else of_gpu,
    }


def load(images, labels, settings):
    """Float32 images in the settings' layout, and int64 class numbers (n,) as they are."""
    if settings["layout"] == "NHWC":  # swapping axes 1 and 3 would transpose the images, too
        images = np.ascontiguousarray(images.transpose(0, 2, 3, 1))  # (n, 32, 32, 3)
    if settings.get("memory_format") == "channels_last":  # PyTorch's layers keep their input's
        import torch

        images = torch.from_numpy(images).to(memory_format=torch.channels_last)
    return images, labels


class ComparisonPooling2D(layers.MaxPooling2D):
    """A pool of 2 for NHWC images on a CPU, where XLA is slow at the gradient of a window."""

    def call(self, x):
        """The greatest of each four pixels, and of equal ones the first."""
        left, right = x[:, :, 0::2], x[:, :, 1::2]
        x = keras.ops.where(left >= right, left, right)
        top, bottom = x[:, 0::2], x[:, 1::2]
        return keras.ops.where(top >= bottom, top, bottom)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    compares = settings.get("pool") == "comparisons"
    MaxPooling2D = ComparisonPooling2D if compares else layers.MaxPooling2D
    return keras.Sequential(
        [
            keras.Input((3, 32, 32) if settings["layout"] == "NCHW" else (32, 32, 3)),
            layers.Conv2D(50, 3, padding="same", activation="relu", name="conv1"),
            layers.Conv2D(50, 3, padding="same", activation="relu", name="conv2"),
            MaxPooling2D(2),  # (N, 50, 16, 16)
            layers.Dropout(drop1),
            layers.Conv2D(100, 3, padding="same", activation="relu", name="conv3"),
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
    """The model: network, loss and optimiser, with the initial weights put in place."""
    # Keras's own initialiser is Glorot uniform, too, but with its backend's random numbers.
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
    """Scores (n, 10) of every row, the last partial batch too."""
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
