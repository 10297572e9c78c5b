"""What might make a framework faster: levers, each of which is tried alone against lane best.

Those that gained are in the framework's module; here they are taken away again, so that anyone
sees what they give on another machine. Those that did not gain stand here alone.
"""

from collections import namedtuple

Lever = namedtuple("Lever", "says changes environ kept model amd")
Lever.__doc__ = """One change to a framework in lane best.

says: what it does.
changes: (old, new) texts of the module.
environ: environment variables of the process.
kept: whether lane best has what this takes away.
model: of which network.
amd: whether it is for AMD's processors alone; None where it is for all.
"""


def _kept(says, *changes, amd=None, **environ):
    return Lever(says, changes, environ, True, "cnn", amd)


def _tried(says, *changes, model="cnn", amd=None, **environ):
    return Lever(says, changes, environ, False, model, amd)


def _pool_first(*changes):
    return _tried("pool before the ReLU", *changes)


def _input_gradient(*changes):
    return _kept("no gradient of the images", *changes)


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
KERAS_POOL_FIRST = _pool_first(
    ('padding="same", activation="relu", name="conv2"', 'padding="same", name="conv2"'),
    ("MaxPooling2D(2),  # (N, 50, 16, 16)", "MaxPooling2D(2),\n            layers.ReLU(),"),
    ('padding="same", activation="relu", name="conv4"', 'padding="same", name="conv4"'),
    ("MaxPooling2D(2),  # (N, 100, 8, 8)", "MaxPooling2D(2),\n            layers.ReLU(),"),
)

BETWEEN = _kept(
    "as many operations at once as cores",
    ("set_inter_op_parallelism_threads(at_once)", "set_inter_op_parallelism_threads(1)"),
)

# Of the MKL of 2018 to 2020 in the wheels of CNTK, Caffe2, iDeep and Intel's TensorFlow 1: 0 is
# the code for any processor, which it takes on an AMD, 5 that for AVX2, 7 that for AVX-512.
INTEL = "MKL told that an AMD is an Intel"
MKL_PATHS = {
    "any_cpu": _kept(INTEL, amd=True, MKL_DEBUG_CPU_TYPE="0"),
    "cpu_type": _tried(INTEL, amd=False, MKL_DEBUG_CPU_TYPE="5"),
    "cpu_type_avx512": _tried(INTEL + " with AVX-512", amd=True, MKL_DEBUG_CPU_TYPE="7"),
}

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
        "float32_masks": _tried(
            "dropout's masks from float32 random numbers",
            ('xp.random.RandomState(settings["seed"])', 'Random(settings["seed"])'),
            (
                "def symbol(",
                "class Random:\n    def __init__(self, seed):\n"
                "        self.generator = xp.random.default_rng(seed)\n\n"
                "    def random_sample(self, shape):\n"
                '        return self.generator.random(shape, dtype="float32")\n\n\n'
                "def symbol(",
            ),
        ),
        "pool_loop": _pool("the pool's gradients assigned in a loop", "Looped"),
        "pool_index": _pool("the pool's gradients assigned by arrays of indices", "Indexed"),
        "pool_put": _pool("the pool's gradients assigned by `put_along_axis`", "Put"),
        "pool_mask": _pool("the pool's gradients multiplied by a mask", "Masked"),
        "input_gradient": _input_gradient(
            ("side=32, input_gradient=False)", "side=32)"),
        ),
    },
    "pytorch": {
        "freed": FREED,
        "contiguous": _kept(
            "channels-last memory", ('"channels_last" if best else "contiguous"', '"contiguous"')
        ),
        "plain_optimizer": _kept(
            "the fused optimiser", ('"fused_optimizer": best', '"fused_optimizer": False')
        ),
        "pool_first": _pool_first(
            ("        relu2=nn.ReLU(),\n", ""),
            ("        pool1=nn.MaxPool2d(2),", "        pool1=nn.MaxPool2d(2), relu2=nn.ReLU(),"),
            ("        relu4=nn.ReLU(),\n", ""),
            ("        pool2=nn.MaxPool2d(2),", "        pool2=nn.MaxPool2d(2), relu4=nn.ReLU(),"),
        ),
        "input_gradient": _input_gradient(
            (
                "x = torch.from_numpy(x).to(device, non_blocking=True)",
                "x = torch.from_numpy(x).to(device, non_blocking=True).requires_grad_()",
            )
        ),
        "denormal": _kept(
            "denormal numbers flushed to 0",
            ("torch.set_flush_denormal(best)", "torch.set_flush_denormal(False)"),
        ),
        "uniform_mask": _tried(
            "dropout's masks from `torch.rand`, not `bernoulli_`",
            ("drop1=nn.Dropout(drop1)", "drop1=Dropout(drop1)"),
            ("drop2=nn.Dropout(drop2)", "drop2=Dropout(drop2)"),
            (
                "def symbol(",
                "class Dropout(nn.Dropout):\n    def forward(self, x):\n"
                "        keep = 1 - self.p\n"
                "        mask = (torch.rand_like(x) < keep) / keep\n"
                "        return x * mask if self.training else x\n\n\n"
                "def symbol(",
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
        "between": BETWEEN,
        "update": _tried(
            "the update as one operation",
            (
                "            v.assign(hp.momentum * v + g)\n"
                "            w.assign_sub(hp.learning_rate * v)\n",
                "            tf.raw_ops.ResourceApplyMomentum(\n"
                "                var=w.handle, accum=v.handle, lr=hp.learning_rate, grad=g,\n"
                "                momentum=hp.momentum,\n            )\n",
            ),
        ),
        "pool_first": _pool_first(
            (
                "self.pool(tf.nn.relu(self.convolution(x, self.conv2)))",
                "tf.nn.relu(self.pool(self.convolution(x, self.conv2)))",
            ),
            (
                "self.pool(tf.nn.relu(self.convolution(x, self.conv4)))",
                "tf.nn.relu(self.pool(self.convolution(x, self.conv4)))",
            ),
        ),
    },
    "tensorflow1": {
        "mkl_dnn": _kept("MKL-DNN", TF_DISABLE_MKL="1"),
        "nchw": _kept("NHWC", ('"NCHW" if gpus or mkl_dnn and not best else "NHWC"', '"NCHW"')),
        "blocktime": _tried("OpenMP's threads sleep after 1 ms", KMP_BLOCKTIME="1"),
        "affinity": _tried(
            "OpenMP's threads stay on their cores",
            KMP_AFFINITY="granularity=fine,compact,1,0",
        ),
        **MKL_PATHS,
        "relu_first": _kept(
            "pool before the ReLU",
            (
                'tf.nn.relu(self.pool(self.convolution(x, "conv2", 50, 50)))',
                'self.pool(tf.nn.relu(self.convolution(x, "conv2", 50, 50)))',
            ),
            (
                'tf.nn.relu(self.pool(self.convolution(x, "conv4", 100, 100)))',
                'self.pool(tf.nn.relu(self.convolution(x, "conv4", 100, 100)))',
            ),
        ),
    },
    "keras": {
        "nchw": _kept("NHWC", ('best and backend != "torch"', "False")),
        "between": BETWEEN,
        "pool_first": KERAS_POOL_FIRST,
    },
    "keras-jax": {
        "nchw": _kept(
            "NHWC",
            ('best and backend != "torch"', "False"),
            # Rows and columns are the last axes then.
            ("x[:, :, 0::2], x[:, :, 1::2]", "x[..., 0::2], x[..., 1::2]"),
            ("x[:, 0::2], x[:, 1::2]", "x[:, :, 0::2], x[:, :, 1::2]"),
        ),
        "ynn": _kept("XLA's older convolutions", ("flag if best else", "flag if False else")),
        "windows": _kept(
            "the pool as comparisons of pixels",
            ('"comparisons" if best and not gpu', '"windows" if best'),
        ),
        "pool_first": KERAS_POOL_FIRST,
    },
    "keras-torch": {
        "contiguous": _kept(
            "channels-last images", ('"channels_last" if best else "contiguous"', '"contiguous"')
        ),
        "pool_first": KERAS_POOL_FIRST,
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
        "pool_first": _pool_first(
            ('activation="relu", prefix="conv2_"', 'prefix="conv2_"'),
            ("nn.MaxPool2D(2),  # (N, 50, 16, 16)", 'nn.MaxPool2D(2), nn.Activation("relu"),'),
            ('activation="relu", prefix="conv4_"', 'prefix="conv4_"'),
            ("nn.MaxPool2D(2),  # (N, 100, 8, 8)", 'nn.MaxPool2D(2), nn.Activation("relu"),'),
        ),
        "input_gradient": _input_gradient(
            (
                "x = nd.array(x, device)  # (N, 3, 32, 32)\n",
                "x = nd.array(x, device)\n        x.attach_grad()\n",
            )
        ),
    },
    "mxnet-module": {
        "pool_first": _pool_first(
            (
                """    x = sym.Activation(x, act_type="relu")
    x = sym.Pooling(x, **half)  # (N, 50, 16, 16)
""",
                """    x = sym.Pooling(x, **half)
    x = sym.Activation(x, act_type="relu")
""",
            ),
            (
                """    x = sym.Activation(x, act_type="relu")
    x = sym.Pooling(x, **half)  # (N, 100, 8, 8)
""",
                """    x = sym.Pooling(x, **half)
    x = sym.Activation(x, act_type="relu")
""",
            ),
        ),
        "input_gradient": _input_gradient(
            (
                "trainer.bind(images, [",
                "trainer.bind(images, inputs_need_grad=True, label_shapes=[",
            )
        ),
    },
    "cntk": {
        "affinity": _tried(
            "OpenMP's threads stay on their cores",
            KMP_AFFINITY="granularity=fine,compact,1,0",
        ),
        "avx512": _tried("MKL told to use AVX-512", MKL_CBWR="AVX512"),
        **MKL_PATHS,
        "pool_first": _pool_first(
            ('activation=C.relu, pad=True, name="conv2"', 'pad=True, name="conv2"'),
            (
                "MaxPooling((2, 2), strides=2),  # (50,",
                "MaxPooling((2, 2), strides=2), C.relu,  # (",
            ),
            ('activation=C.relu, pad=True, name="conv4"', 'pad=True, name="conv4"'),
            (
                "MaxPooling((2, 2), strides=2),  # (100,",
                "MaxPooling((2, 2), strides=2), C.relu,  # (",
            ),
        ),
    },
    "keras-cntk": MKL_PATHS,
    "caffe2": {
        "cpu": _kept(
            "convolutions and ReLUs on IDEEP", ('"Conv MaxPool Relu" if best', '"MaxPool" if best')
        ),
        **MKL_PATHS,
        "pool_first": _pool_first(  # not in place: the pool's gradient reads what the pool gave
            ('            brew.relu(model, "conv2", "conv2")\n', ""),
            (
                '            dropout(model, "pool1"',
                '            brew.relu(model, "pool1", "relu1")\n'
                '            dropout(model, "relu1"',
            ),
            ('            brew.relu(model, "conv4", "conv4")\n', ""),
            (
                '            dropout(model, "pool2"',
                '            brew.relu(model, "pool2", "relu2")\n'
                '            dropout(model, "relu2"',
            ),
        ),
        "input_gradient": _input_gradient((", no_gradient_to_input=1", "")),
    },
    "chainer": {
        "ideep": _kept("iDeep", ("ideep = best and", "ideep = False and")),
        "type_check": _kept("type checks left out", ("type_check = not best", "type_check = True")),
        **MKL_PATHS,
        "by_hand": _by_hand("chainer"),
        "pool_first": _pool_first(
            (
                "F.max_pooling_2d(F.relu(self.conv2(x)), 2, cover_all=False)",
                "F.relu(F.max_pooling_2d(self.conv2(x), 2, cover_all=False))",
            ),
            (
                "F.max_pooling_2d(F.relu(self.conv4(x)), 2, cover_all=False)",
                "F.relu(F.max_pooling_2d(self.conv4(x), 2, cover_all=False))",
            ),
        ),
        "input_gradient": _input_gradient(
            (
                "x = network.device.send(x)  # (N, 3, 32, 32)",
                "x = chainer.Variable(network.device.send(x))",
            )
        ),
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
        "pool_first": _pool_first(
            ('max_pool(relu(conv(h, "conv2")))', 'relu(max_pool(conv(h, "conv2")))'),
            ('max_pool(relu(conv(h, "conv4")))', 'relu(max_pool(conv(h, "conv4")))'),
        ),
    },
}
