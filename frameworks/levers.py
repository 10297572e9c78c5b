"""What might make a framework faster: levers, each of which is tried alone against lane best.

Those that gained are in the framework's module; here they are taken away again, so that anyone
sees what they give on another machine. Those that did not gain stand here alone.
"""

from collections import namedtuple

Lever = namedtuple("Lever", "says changes environ kept model")
Lever.__doc__ = """One change to a framework in lane best.

says: what it does.
changes: (old, new) texts of the module.
environ: environment variables of the process.
kept: whether lane best has what this takes away.
model: of which network.
"""


def _kept(says, *changes, **environ):
    return Lever(says, changes, environ, True, "cnn")


def _tried(says, *changes, model="cnn", **environ):
    return Lever(says, changes, environ, False, model)


def _by_hand(folder):
    imported = "from frameworks.%s.by_hand import joint_error\n\n\ndef by_autograd(" % folder
    return _tried(
        "the loss's backward pass written by hand", ("def joint_error(", imported), model="pose"
    )


def _pool(says, name):
    imported = "from frameworks.numpy.layers import Convolution, Dense, Flatten, %sReLU\n"
    new = imported % "" + "from frameworks.numpy.pools import %s as MaxPool\n" % name
    return _tried(says, (imported % "MaxPool, ", new), model="mnist_cnn")


GLIBC = {
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_TOP_PAD_": "131072",
}
FREED = _kept("freed memory kept by the process", **GLIBC)

LEVERS = {
    "numpy": {
        "freed": FREED,
        "whole_batch": _tried(
            "convolutions work on the whole batch at a time",
            ('"chunk_images": 4 if xp is np else 64', '"chunk_images": 64'),
        ),
        "one_share": _kept(
            "each thread takes a share of the images",
            ('"shares": threads if lane == "best" and xp is np else 1', '"shares": 1'),
        ),
        "busy_blas": _kept("idle BLAS threads sleep", OPENBLAS_THREAD_TIMEOUT="26"),
        "pool_loop": _pool("the pool's gradients assigned in a loop", "Looped"),
        "pool_index": _pool("the pool's gradients assigned by arrays of indices", "Indexed"),
        "pool_put": _pool("the pool's gradients assigned by `put_along_axis`", "Put"),
        "pool_mask": _pool("the pool's gradients multiplied by a mask", "Masked"),
    },
    "pytorch": {
        "freed": FREED,
        "contiguous": _kept(
            "channels-last memory", ('"channels_last" if best else "contiguous"', '"contiguous"')
        ),
        "plain_optimizer": _kept(
            "the fused optimiser", ('"fused_optimizer": best', '"fused_optimizer": False')
        ),
        "relu_first": _kept(
            "ReLU after the pool",
            (
                "        pool1=nn.MaxPool2d(2),  # (N, 50, 16, 16)\n        relu2=nn.ReLU(),",
                "        relu2=nn.ReLU(),\n        pool1=nn.MaxPool2d(2),",
            ),
            (
                "        pool2=nn.MaxPool2d(2),  # (N, 100, 8, 8)\n        relu4=nn.ReLU(),",
                "        relu4=nn.ReLU(),\n        pool2=nn.MaxPool2d(2),",
            ),
        ),
        "compile": _tried(
            "`torch.compile`",
            (
                "    network, criterion, optimizer = model\n    device",
                "    network, criterion, optimizer = model\n    network.compile()\n    device",
            ),
        ),
        "by_hand": _by_hand("pytorch"),
    },
    "tensorflow": {
        "freed": FREED,
        "nchw": _kept("NHWC", ('"NCHW" if gpus or onednn and not best else "NHWC"', '"NCHW"')),
        "xla": _tried("XLA", ('"jit": bool(best and gpus)', '"jit": best')),
    },
    "tensorflow1": {
        "mkl_dnn": _kept("MKL-DNN", TF_DISABLE_MKL="1"),
        "nchw": _kept("NHWC", ('"NCHW" if gpus or mkl_dnn and not best else "NHWC"', '"NCHW"')),
        "blocktime": _tried("OpenMP's threads sleep after 1 ms", KMP_BLOCKTIME="1"),
        "affinity": _tried(
            "OpenMP's threads stay on their cores",
            KMP_AFFINITY="granularity=fine,compact,1,0",
        ),
    },
    "keras": {
        "nchw": _kept("NHWC", ('best and backend != "torch"', "False")),
    },
    "keras-jax": {
        "nchw": _kept("NHWC", ('best and backend != "torch"', "False")),
        "ynn": _kept("XLA's older convolutions", ("flag if best else", "flag if False else")),
    },
    "keras-torch": {
        "contiguous": _kept(
            "channels-last images", ('"channels_last" if best else "contiguous"', '"contiguous"')
        ),
    },
    "mxnet": {
        "not_static": _kept(
            "`static_alloc` and `static_shape`",
            ('"static_alloc": best', '"static_alloc": False'),
            ('"static_shape": best', '"static_shape": False'),
        ),
        "libgomp": _kept("Intel's OpenMP, not GNU's", LD_PRELOAD=""),
        "naive_engine": _tried("the engine without threads", MXNET_ENGINE_TYPE="NaiveEngine"),
        "bulk": _tried("up to 100 operators at a time", MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN="100"),
    },
    "cntk": {
        "affinity": _tried(
            "OpenMP's threads stay on their cores",
            KMP_AFFINITY="granularity=fine,compact,1,0",
        ),
        "avx512": _tried("MKL told to use AVX-512", MKL_CBWR="AVX512"),
        "cpu_type": _tried("MKL told that an AMD is an Intel", MKL_DEBUG_CPU_TYPE="5"),
    },
    "caffe2": {
        "cpu": _kept(
            "convolutions and ReLUs on IDEEP", ('"Conv MaxPool Relu" if best', '"MaxPool" if best')
        ),
    },
    "chainer": {
        "ideep": _kept("iDeep", ("ideep = best and", "ideep = False and")),
        "type_check": _kept("type checks left out", ("type_check = not best", "type_check = True")),
        "cpu_type": _tried("MKL told that an AMD is an Intel", MKL_DEBUG_CPU_TYPE="5"),
        "by_hand": _by_hand("chainer"),
    },
    "theano": {
        "gc": _kept("a step's buffers kept", ('"cvm_nogc" if best else "cvm"', '"cvm"')),
        "openblas": _kept(
            "MKL, on Debian's OpenBLAS",
            (
                "    config = theano.config\n",
                '    config = theano.config\n    config.blas.ldflags = "-lopenblas"\n',
            ),
        ),
    },
}
