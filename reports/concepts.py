"""The rows of the page and the phrases of the phrase book: what every module says in its own way.

``frameworks/X/page.py`` says where X's modules say it; ``reports/reading.py`` finds the lines.
"""

from collections import namedtuple

from common.networks import MODELS

Concept = namedtuple("Concept", "key title step says words defaults")
Concept.__doc__ = """A row of the page.

key: its name in tables and addresses.
title: for people.
step: the part of a module that is searched (see ``sources.steps``).
says: a short explanation; may be empty.
words: further words that find it.
defaults: fragments of code that are looked for in every framework.
"""

Phrase = namedtuple("Phrase", "name keys file")
Phrase.__doc__ = """A phrase of the phrase book.

name: its name for people, and in tables.
keys: where else it is said, if a table has no entry for the phrase itself, the best first: rows,
    the ``last`` line of a row, a fragment of ``code``, a field of the file's ``head``, or a
    function's ``docstring``.
file: the network whose modules are searched, or one of ``sources.BESIDE``.
"""

STEPS = {
    "head": "What to know first",
    "configure": "The framework's switches; returns the settings in force",
    "load": "NumPy arrays as this framework wants them",
    "symbol": "The network",
    "loss": "Cross-entropy, the optimiser, the initial weights",
    "train": "One pass over the batches",
    "predict": "Scores of every row",
    "evaluate": "Accuracy from scores",
    "weights": "The weights, taken out",
    "wait": "Until the device has finished",
}

# Lines that show no other concept of their step are listed under this one.
REST = {step: "rest-" + step for step in STEPS}
REST.update(head="weight-layout", evaluate="accuracy", weights="weights-out", wait="wait")

# Fields of a module's docstring that are rows; its other fields belong to the first.
FIELDS = ("idiom", "layout", "momentum", "surprise")


def _concept(step, key, title, says="", words="", defaults=()):
    return Concept(key, title, step, says, words, defaults)


_LAYERS = [
    ("conv1", "convolution 1", "3×3, 3 → 50 channels", "conv padding kernel"),
    ("relu1", "activation 1", "ReLU", "relu"),
    ("conv2", "convolution 2", "3×3, 50 → 50 channels", "conv padding kernel"),
    ("relu2", "activation 2", "ReLU", "relu"),
    ("pool1", "max-pool 1", "2×2, 32 → 16 pixels", "pooling"),
    ("dropout1", "dropout 1", "drops a quarter", "dropout rate"),
    ("conv3", "convolution 3", "3×3, 50 → 100 channels", "conv padding kernel"),
    ("relu3", "activation 3", "ReLU", "relu"),
    ("conv4", "convolution 4", "3×3, 100 → 100 channels", "conv padding kernel"),
    ("relu4", "activation 4", "ReLU", "relu"),
    ("pool2", "max-pool 2", "2×2, 16 → 8 pixels", "pooling"),
    ("dropout2", "dropout 2", "drops a quarter", "dropout rate"),
    ("flatten", "flatten", "100×8×8 → 6400, in the order C, H, W", "reshape"),
    ("dense1", "dense 1", "6400 → 512", "linear fully connected"),
    ("relu5", "activation 5", "ReLU", "relu"),
    ("dropout3", "dropout 3", "drops half", "dropout rate"),
    ("dense2", "dense 2", "512 → 10, no softmax", "linear fully connected logits"),
]

# A table's entry for one of these names says where the rows of that kind are, in their order.
KINDS = {
    kind: [key for key, *_ in _LAYERS if key.rstrip("0123456789") == kind]
    for kind in ("conv", "relu", "pool", "dropout", "dense")
}

# Functions beside the six steps whose names say which row shows them.
_HELPERS = {
    "conv1": ("def conv", "def convolution"),
    "relu1": ("def relu",),
    "pool1": ("def pool", "def max_pool"),
    "dropout1": ("def drop", "def dropout"),
    "dense1": ("def dense",),
}

CONCEPTS = [
    _concept("head", "idiom", "idiom", "how one writes it here"),
    _concept("head", "layout", "layout", "of the images", "nchw nhwc channels"),
    _concept("head", "momentum", "momentum", "the update rule", "velocity sgd"),
    _concept("head", "surprise", "surprise", "what a newcomer trips over", "trap gotcha"),
    _concept("head", "imports", "imports", defaults=("import",)),
    _concept("head", "weight-layout", "layout of weights", "names and axes", "transpose kernel"),
    _concept("configure", "device", "device", "", "gpu cpu cuda", ('"device"',)),
    _concept(
        "configure",
        "threads",
        "threads",
        "",
        "cores cpu",
        ("set_num_threads", "threads", '"threads"'),
    ),
    _concept(
        "configure",
        "seed",
        "seed",
        "of the random numbers",
        "random",
        ("set_random_seed", "manual_seed", "seed", '"seed"'),
    ),
    _concept(
        "configure",
        "precision",
        "precision",
        "float32, and no TF32",
        "tf32 dtype float",
        ('"precision"', '"tf32"'),
    ),
    _concept(
        "configure", "autotune", "autotune", "picks the fastest algorithm", "cudnn", ('"autotune"',)
    ),
    _concept(
        "configure",
        "switches",
        "further switches",
        "graph, layout, memory",
        "jit xla graph",
        ('"layout"', '"memory_format"', '"graph"', '"jit"', '"openmp"', '"onednn"'),
    ),
    _concept(
        "configure",
        "not-in-force",
        "not in force",
        "requested, but without effect on this machine",
        defaults=('"not_in_force"', "off =", "off.append"),
    ),
    _concept("configure", "rest-configure", "the rest of configure"),
    _concept(
        "load",
        "images",
        "images",
        "float32",
        "layout transpose nhwc",
        ('settings["layout"]', "images"),
    ),
    _concept(
        "load",
        "labels",
        "labels",
        "class numbers or one-hot",
        "one-hot int32 targets",
        ("np.eye", "labels"),
    ),
    _concept("load", "rest-load", "the rest of load"),
    _concept(
        "symbol",
        "rates",
        "dropout rates",
        "dropped or kept?",
        "dropout keep probability",
        ("drop1, drop2, drop3", "self.dropout", "hp.dropout["),
    ),
    _concept("symbol", "drop-seed", "dropout's seed", "", "random"),
    _concept(
        "symbol",
        "declared",
        "weights declared",
        "",
        "variables parameters",
        ("def layer", "def variables"),
    ),
    _concept("symbol", "input", "input", "", "placeholder"),
    *(_concept("symbol", *layer, _HELPERS.get(layer[0], ())) for layer in _LAYERS),
    _concept("symbol", "device-network", "network onto its device", "", "gpu cuda", ("def place",)),
    _concept("symbol", "rest-symbol", "the rest of symbol", "what holds the layers"),
    _concept(
        "loss",
        "weights-in",
        "initial weights",
        "put in",
        "initialiser restore load",
        ("def put", "put"),
    ),
    _concept(
        "loss",
        "loss-function",
        "loss",
        "softmax cross-entropy, the mean",
        "criterion softmax",
        ("criterion =",),
    ),
    _concept("loss", "optimiser", "optimiser", "SGD with momentum", "optimizer sgd learning rate"),
    _concept("loss", "gradient", "gradients requested", "where a graph is built", "backward tape"),
    _concept(
        "loss",
        "compiled",
        "graph, compiled",
        "",
        "jit session bind function compile",
        ("def compiled", "def graphs"),
    ),
    _concept("loss", "rest-loss", "the rest of loss"),
    _concept("train", "loop", "loop", "over the batches", "epoch for", ("in batches",)),
    _concept("train", "train-on", "dropout on", "training, not prediction", "mode train eval"),
    _concept("train", "batch", "batch to the device", "", "transfer gpu"),
    _concept("train", "reset", "gradients reset", "", "zero_grad clear"),
    _concept("train", "forward", "forward and loss", defaults=("criterion(",)),
    _concept(
        "train", "backward", "backward", "the gradients", "backpropagation autograd", ("backward",)
    ),
    _concept(
        "train", "update", "update", "of the weights", "step optimiser", (".step(", ".update(")
    ),
    _concept("train", "loss-out", "loss of the step", "returned", "yield detach", ("yield",)),
    _concept("train", "rest-train", "the rest of train"),
    _concept("predict", "train-off", "dropout off", "prediction, not training", "eval mode"),
    _concept("predict", "no-gradient", "no gradient", "", "inference no_grad"),
    _concept(
        "predict",
        "batches",
        "batch by batch",
        "the last partial one too",
        "scores",
        ("concatenate", "append", "range", "batch_size =", "scores = []"),
    ),
    _concept("predict", "rest-predict", "the rest of predict"),
    _concept("evaluate", "accuracy", "accuracy", "", "metric argmax"),
    _concept("weights", "weights-out", "weights taken out", "in canonical layout", "save export"),
    _concept("wait", "wait", "wait", "for the device", "synchronise"),
]


def _phrase(name, *keys, file="cnn"):
    return Phrase(name, keys, file)


PHRASES = [
    _phrase("layout of images", "layout"),
    _phrase("surprise", "surprise"),
    _phrase("seed", "drop-seed", "seed"),
    _phrase("padding", "conv1"),
    _phrase("pooling", "pool1"),
    _phrase("activation", "relu1"),
    _phrase("precision", 'code: "precision"'),
    _phrase("flatten order", "flatten"),
    _phrase("weight layout", "code: AXES =", "docstring: weights"),
    _phrase("initial weights put in", "weights-in"),
    _phrase("training, not prediction", "train-on"),
    _phrase("dropout", "dropout1"),
    _phrase("loss and its reduction", "loss-function"),
    _phrase("label type", "labels"),
    _phrase("momentum", "momentum"),
    _phrase("optimiser", "optimiser"),
    _phrase("gradients reset", "reset"),
    _phrase("backward", "gradient", "backward"),
    _phrase("device", "device-network", "device"),
    _phrase("autotune", "autotune"),
    _phrase("graph or JIT", "compiled", 'code: "jit"'),
    _phrase("prediction", "train-off"),
    _phrase("weights taken out", "weights-out"),
    _phrase("waiting for the device", "last: wait", "docstring: wait"),
    *(
        _phrase(name, *filter(None, [key]), file=model.name)
        for model in MODELS.values()
        for name, key in model.phrases.items()
    ),
    _phrase("save weights", "head: Idiom", file="native"),
    _phrase("restore weights", "head: Idiom", file="native"),
    _phrase("ONNX", "head: Idiom", file="export"),
    _phrase("record a pass", "head: Idiom", file="record"),
    _phrase("profile", "head: Idiom", file="profile"),
]
