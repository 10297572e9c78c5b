"""NumPy's levers, and the mistakes of the lessons."""

from frameworks.variants import input_gradient, kept, tried


def _pool(name, says, layer):
    imported = "from frameworks.numpy.pools import %s as MaxPool\n\n\ndef symbol(" % layer
    return tried(name, says, ("def symbol(", imported), model="mnist_cnn")


LEVERS = [
    tried(
        "whole_batch",
        "convolutions work on the whole batch at a time",
        ('"chunk_images": 4 if xp is np else 64', '"chunk_images": 64'),
    ),
    kept(
        "one_share",
        "each thread takes a share of the images",
        ('"shares": threads if lane == "best" and xp is np else 1', '"shares": 1'),
    ),
    kept("busy_blas", "idle BLAS threads sleep", OPENBLAS_THREAD_TIMEOUT="26"),
    tried(
        "float32_masks",
        "dropout's masks from float32 random numbers",
        ('xp.random.RandomState(settings["seed"])', 'Random(settings["seed"])'),
        (
            "def symbol(",
            "class Random:\n"
            "    def __init__(self, seed):\n"
            "        self.generator = xp.random.default_rng(seed)\n\n"
            "    def random_sample(self, shape):\n"
            '        return self.generator.random(shape, dtype="float32")\n\n\n'
            "def symbol(",
        ),
    ),
    _pool("pool_loop", "the pool's gradients assigned in a loop", "Looped"),
    _pool("pool_index", "the pool's gradients assigned by arrays of indices", "Indexed"),
    _pool("pool_put", "the pool's gradients assigned by `put_along_axis`", "Put"),
    _pool("pool_mask", "the pool's gradients multiplied by a mask", "Masked"),
    input_gradient((", input_gradient=False", "")),
]

LESSONS = {"dropout_in_prediction": (("training=False", "training=True"),)}
