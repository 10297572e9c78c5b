"""The CNN in MXNet, with the symbolic Module API.

Idiom: a symbol, written before there is any data; a ``Module`` binds it to shapes and a device.
Layout: NCHW; MXNet's convolutions take NHWC on a GPU only.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: ``SoftmaxOutput`` computes a softmax forward and the gradient of the cross-entropy
    backward; the loss itself is not in the graph unless it is added as a second output.
"""

import ctypes
import os

import mxnet as mx
import numpy as np
from mxnet import nd, sym

LAYERS = ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2")


def configure(lane, threads, seed):
    """Set seed, precision and autotune; return the settings in force."""
    best = lane == "best"
    gpu = mx.context.num_gpus() > 0
    mx.random.seed(seed)
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # read by cuBLAS and cuDNN when they start
    os.environ["MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"] = "0"  # to float16
    # For inference only: oneDNN's fused operators would keep an earlier prediction's weights.
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    os.environ["MXNET_OPTIMIZER_AGGREGATION_SIZE"] = "12" if best else "4"  # tensors per update
    off = [] if gpu else ["tf32_override", "tensor_core_conversion", "autotune"]
    if mx.util.getenv("OMP_NUM_THREADS") != str(threads):  # read when MXNet is imported
        off.append("threads")
    return {
        "device": "gpu" if gpu else "cpu",
        "layout": "NCHW",
        "precision": "float32",
        "threads": threads,
        # Intel's, if it was preloaded, replaces the one that MXNet brings.
        "openmp": "Intel" if hasattr(ctypes.CDLL(None), "kmp_get_blocktime") else "GNU",
        "seed": seed,
        "tf32_override": mx.util.getenv("NVIDIA_TF32_OVERRIDE"),
        "tensor_core_conversion": mx.util.getenv("MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"),
        "autotune": "fastest" if best else "off",  # of each convolution
        "optimizer_aggregation": mx.optimizer.SGD().aggregate_num,
        "subgraph_backend": mx.util.getenv("MXNET_SUBGRAPH_BACKEND"),
        "onednn": mx.runtime.Features().is_enabled("MKLDNN"),
        "not_in_force": off,
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and class numbers (n,), float32 as MXNet's labels are."""
    return images, labels.astype(np.float32)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    same = {"kernel": (3, 3), "pad": (1, 1), "cudnn_tune": settings["autotune"]}
    half = {"kernel": (2, 2), "stride": (2, 2), "pool_type": "max"}  # the stride is 1 by default
    x = sym.Variable("data")  # (N, 3, 32, 32)
    x = sym.Convolution(x, num_filter=50, name="conv1", **same)  # (N, 50, 32, 32)
    x = sym.Activation(x, act_type="relu")
    x = sym.Convolution(x, num_filter=50, name="conv2", **same)
    x = sym.Activation(x, act_type="relu")
    x = sym.Pooling(x, **half)  # (N, 50, 16, 16)
    x = sym.Dropout(x, p=drop1)
    x = sym.Convolution(x, num_filter=100, name="conv3", **same)  # (N, 100, 16, 16)
    x = sym.Activation(x, act_type="relu")
    x = sym.Convolution(x, num_filter=100, name="conv4", **same)
    x = sym.Activation(x, act_type="relu")
    x = sym.Pooling(x, **half)  # (N, 100, 8, 8)
    x = sym.Dropout(x, p=drop2)
    x = sym.Flatten(x)  # (N, 6400), in the order C, H, W
    x = sym.FullyConnected(x, num_hidden=512, name="dense1")  # (N, 512)
    x = sym.Activation(x, act_type="relu")
    x = sym.Dropout(x, p=drop3)
    return sym.FullyConnected(x, num_hidden=10, name="dense2")  # (N, 10), no softmax yet


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    device = mx.Context(settings["device"])
    images = [("data", (hp.batch_size, 3, 32, 32))]
    label = sym.Variable("softmax_label")
    softmax = sym.SoftmaxOutput(network, label, name="softmax")  # its gradient: a sum, not a mean
    # With a temperature, log_softmax is MXNet's own; on a CPU, oneDNN's is ten times less exact.
    step_loss = sym.mean(-sym.pick(sym.log_softmax(network, temperature=1), label))
    outputs = sym.Group([softmax, sym.BlockGrad(step_loss)])  # the loss is only looked at
    trainer = mx.mod.Module(outputs, context=device)
    trainer.bind(images, [("softmax_label", (hp.batch_size,))])  # images get no gradient
    # Module's default initialiser is uniform in +-0.01, whatever the layer's size.
    shared = {name.replace(".", "_"): nd.array(w) for name, w in weights.items()}
    trainer.set_params(shared, {})
    momentum = {
        "learning_rate": hp.learning_rate,
        "momentum": hp.momentum,
        "rescale_grad": 1 / hp.batch_size,  # makes the sum a mean; Module's default
    }
    trainer.init_optimizer(kvstore=None, optimizer="sgd", optimizer_params=momentum)
    predictor = mx.mod.Module(network, label_names=None, context=device)
    predictor.bind(images, for_training=False, shared_module=trainer)  # the same weights
    return trainer, predictor


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    trainer = model[0]
    for x, y in batches:
        x = nd.array(x)  # (N, 3, 32, 32)
        y = nd.array(y)  # (N,)
        trainer.forward_backward(mx.io.DataBatch([x], [y]))  # dropout on
        trainer.update()
        step_loss = trainer.get_outputs()[1].copy()  # the next step writes into the same array
        yield step_loss.as_np_ndarray()  # float() rejects a legacy NDArray


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    predictor = model[1]
    size = predictor.data_shapes[0].shape[0]
    scores = []
    for first in range(0, len(x), size):
        part = x[first : first + size]
        padded = np.concatenate([part, np.zeros((size - len(part),) + x.shape[1:], x.dtype)])
        predictor.forward(mx.io.DataBatch([nd.array(padded)]))  # no dropout: for_training=False
        scores.append(predictor.get_outputs()[0].asnumpy()[: len(part)])
    return np.concatenate(scores)


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    metric = mx.metric.Accuracy()
    metric.update([nd.array(labels)], [nd.array(scores)])
    return float(metric.get()[1])


def weights(model):
    """Every weight under its canonical name; MXNet's layouts are the canonical ones."""
    names = [layer + kind for layer in LAYERS for kind in (".weight", ".bias")]
    parameters = model[0].get_params()[0]
    return {name: parameters[name.replace(".", "_")].asnumpy() for name in names}


def wait(model):
    """Return when everything has been computed; MXNet is asynchronous on a CPU too."""
    nd.waitall()
