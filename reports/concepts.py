"""What each line of a module says: its concepts, found in the source as spans of characters.

A module is cut into units: a statement, or an element of a call, list or dict that has lines of its
own. Patterns say which concepts a unit speaks of. Where it speaks of several, as in
``F.relu(F.max_pooling_2d(self.conv2(x), 2))``, each has the call that is its own, without the calls
inside it that are another's. What no pattern knows belongs to the unit around it, and at last to
the step.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict, namedtuple
from dataclasses import dataclass

from common.proof import contract
from common.system.errors import InputError

Concept = namedtuple("Concept", "key title part says words")
Concept.__doc__ = """A thing that every framework must be told: a row of the page.

key: what names it in an address.
title: for people.
part: the step of a module in which it stands (see ``sources.parts``).
says: what it is, in a few words; may be empty.
words: further words that find it.
"""


@dataclass(eq=False)
class Unit:
    """Some lines that are read as one.

    lines: their numbers; those of a call around its elements have a gap.
    code: {number: text}, with comments blanked: columns are those of the file.
    around: the unit that holds it, or None.
    helper: the name of the function in which it stands, if that is none of the contract's.
    heads: whether it is the head of a function or a class, which says nothing itself.
    """

    lines: tuple
    code: dict
    around: "Unit"
    helper: str
    heads: bool = False


Piece = namedtuple("Piece", "lines owned shared helper")
Piece.__doc__ = """Where a module speaks of a concept.

lines: numbers of the lines, comments above them included.
owned: {line: [(start, end)]}, the columns that are this concept's own.
shared: whether the same lines speak of others too.
helper: the name of the helper function in which they stand, or None.
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

# Functions beside the contract's, and the concept whose row shows them.
HELPERS = {
    "place": "device-network",
    "layer": "declared",
    "variables": "declared",
    "convolution": "conv1",
    "conv": "conv1",
    "relu": "relu1",
    "pool": "pool1",
    "max_pool": "pool1",
    "call": "pool1",
    "copy": "device-network",
    "copy_back": "device-network",
    "on_ideep": "device-network",
    "fetch": "device-network",
    "drop": "dropout1",
    "dropout": "dropout1",
    "dense": "dense1",
    "flatten_order": "weights-in",
    "put": "weights-in",
    "to_keras": "weights-in",
    "crossentropy": "loss-function",
    "graphs": "compiled",
    "compiled": "compiled",
    "reset": "compiled",
    "forward": None,  # part of what it stands in
    "step": None,
}

_LAYERS = [
    ("conv1", "convolution 1", "3×3, 3 → 50 channels", "conv padding kernel"),
    ("relu1", "activation 1", "ReLU", "relu"),
    ("conv2", "convolution 2", "3×3, 50 → 50 channels", "conv padding kernel"),
    ("relu2", "activation 2", "ReLU", "relu"),
    ("pool1", "max-pool 1", "2×2, 32 → 16 pixels", "pooling"),
    ("dropout1", "dropout 1", "a quarter is dropped", "dropout rate"),
    ("conv3", "convolution 3", "3×3, 50 → 100 channels", "conv padding kernel"),
    ("relu3", "activation 3", "ReLU", "relu"),
    ("conv4", "convolution 4", "3×3, 100 → 100 channels", "conv padding kernel"),
    ("relu4", "activation 4", "ReLU", "relu"),
    ("pool2", "max-pool 2", "2×2, 16 → 8 pixels", "pooling"),
    ("dropout2", "dropout 2", "a quarter is dropped", "dropout rate"),
    ("flatten", "flatten", "100×8×8 → 6400, in the order C, H, W", "reshape"),
    ("dense1", "dense 1", "6400 → 512", "linear fully connected"),
    ("relu5", "activation 5", "ReLU", "relu"),
    ("dropout3", "dropout 3", "half is dropped", "dropout rate"),
    ("dense2", "dense 2", "512 → 10, no softmax", "linear fully connected logits"),
]


def _concept(part, key, title, says="", words=""):
    return Concept(key, title, part, says, words)


CONCEPTS = [
    _concept("head", "idiom", "idiom", "how one writes it here"),
    _concept("head", "layout", "layout", "of the images", "nchw nhwc channels"),
    _concept("head", "momentum", "momentum", "the update, as it is written", "velocity sgd"),
    _concept("head", "surprise", "surprise", "what a newcomer trips over", "trap gotcha"),
    _concept("head", "imports", "imports"),
    _concept("head", "weight-layout", "layout of weights", "names and axes", "transpose kernel"),
    _concept("configure", "device", "device", "", "gpu cpu cuda"),
    _concept("configure", "threads", "threads", "", "cores cpu"),
    _concept("configure", "seed", "seed", "of the random numbers", "random"),
    _concept("configure", "precision", "precision", "float32, and no TF32", "tf32 dtype float"),
    _concept("configure", "autotune", "autotune", "the fastest algorithm, tried out", "cudnn"),
    _concept("configure", "switches", "further switches", "graph, layout, memory", "jit xla graph"),
    _concept("configure", "not-in-force", "not in force", "asked for; cannot act on this machine"),
    _concept("configure", "rest-configure", "the rest of configure"),
    _concept("load", "images", "images", "float32", "layout transpose nhwc"),
    _concept("load", "labels", "labels", "class numbers or one-hot", "one-hot int32 targets"),
    _concept("load", "rest-load", "the rest of load"),
    _concept("symbol", "rates", "dropout rates", "dropped or kept?", "dropout keep probability"),
    _concept("symbol", "drop-seed", "dropout's seed", "", "random"),
    _concept("symbol", "declared", "weights declared", "", "variables parameters"),
    _concept("symbol", "input", "input", "", "placeholder"),
    *(_concept("symbol", *layer) for layer in _LAYERS),
    _concept("symbol", "device-network", "network onto its device", "", "gpu cuda"),
    _concept("symbol", "rest-symbol", "the rest of symbol", "what holds the layers"),
    _concept("loss", "weights-in", "initial weights", "put in", "initialiser restore load"),
    _concept(
        "loss", "loss-function", "loss", "softmax cross-entropy, the mean", "criterion softmax"
    ),
    _concept("loss", "optimiser", "optimiser", "SGD with momentum", "optimizer sgd learning rate"),
    _concept("loss", "gradient", "gradients asked for", "where a graph is built", "backward tape"),
    _concept("loss", "compiled", "graph, compiled", "", "jit session bind function compile"),
    _concept("loss", "rest-loss", "the rest of loss"),
    _concept("train", "loop", "loop", "over the batches", "epoch for"),
    _concept("train", "train-on", "dropout on", "training, not prediction", "mode train eval"),
    _concept("train", "batch", "batch to the device", "", "transfer gpu"),
    _concept("train", "reset", "gradients reset", "", "zero_grad clear"),
    _concept("train", "forward", "forward and loss", ""),
    _concept("train", "backward", "backward", "the gradients", "backpropagation autograd"),
    _concept("train", "update", "update", "of the weights", "step optimiser"),
    _concept("train", "loss-out", "loss of the step", "handed out", "yield detach"),
    _concept("train", "rest-train", "the rest of train"),
    _concept("predict", "train-off", "dropout off", "prediction, not training", "eval mode"),
    _concept("predict", "no-gradient", "no gradient", "", "inference no_grad"),
    _concept("predict", "batches", "batch by batch", "the last partial one too", "scores"),
    _concept("predict", "rest-predict", "the rest of predict"),
    _concept("evaluate", "accuracy", "accuracy", "", "metric argmax"),
    _concept("weights", "weights-out", "weights taken out", "in canonical layout", "save export"),
    _concept("wait", "wait", "wait", "for the device", "synchronise"),
]

ORDER = [one.key for one in CONCEPTS]

# Where what no pattern knows is shown: the head of a function, what holds the layers, a return.
REST = {part: "rest-" + part for part in STEPS if part != "head"}
REST.update({part: key for part, key in (("evaluate", "accuracy"), ("weights", "weights-out"))})
REST["wait"] = "wait"

# Concepts of which some modules, named by their keys, say nothing: nothing needs to be said.
ABSENT = {
    "weight-layout": "numpy pytorch mxnet cntk chainer theano",
    "autotune": "numpy keras-cntk",
    "drop-seed": "pytorch tensorflow1 keras mxnet mxnet-module caffe2 chainer",
    "declared": "numpy pytorch keras keras-cntk mxnet mxnet-module cntk caffe2 chainer",
    "input": "pytorch tensorflow tensorflow1 mxnet caffe2 chainer",
    "device-network": "numpy tensorflow tensorflow1 keras keras-cntk mxnet-module cntk theano",
    "gradient": "numpy pytorch keras keras-cntk mxnet mxnet-module cntk chainer",
    "compiled": "numpy pytorch cntk chainer",
    "batch": "tensorflow keras keras-cntk theano",
    "reset": (
        "numpy tensorflow tensorflow1 keras keras-cntk mxnet mxnet-module cntk caffe2 theano"
    ),
    "no-gradient": (
        "numpy tensorflow tensorflow1 keras keras-cntk mxnet mxnet-module cntk caffe2 theano"
    ),
}

# (part, pattern, keys). One key: every unit of the part that matches. Several: the pattern's first
# match is the first key's, and so on, and there are as many. A match that ends in "(" reaches to
# the bracket's end; one whose unit speaks of nothing else has the whole unit.
CONVS = ["conv1", "conv2", "conv3", "conv4"]
RELUS = ["relu1", "relu2", "relu3", "relu4", "relu5"]
POOLS = ["pool1", "pool2"]
DROPOUTS = ["dropout1", "dropout2", "dropout3"]
DENSES = ["dense1", "dense2"]

ALONE = {"not-in-force"}  # it names other concepts, and speaks of none

PATTERNS = [
    ("head", r"^import |^from |^if K\.backend|^    import ", ["imports"]),
    ("head", r"^AXES|^LAYERS|^NAMES", ["weight-layout"]),
    (
        "configure",
        r"not_in_force|^ *off(\.append| = )|gpu_only|getenv\(\"OMP_NUM",
        ["not-in-force"],
    ),
    ("configure", r"get_device|device\.use|is_available|\"device\"|chainer_device", ["device"]),
    (
        "configure",
        r"list_physical_devices|num_gpus|use_default_device|has_cuda_support",
        ["device"],
    ),
    ("configure", r"gpuarray|memory_growth|for (gpu|device) in gpus|gpu = |NumGpu", ["device"]),
    ("configure", r"threads|NUM_THREADS|NPROC|INTEROP", ["threads"]),
    ("configure", r"seed", ["seed"]),
    ("configure", r"precision|TF32|tf32|tensor_float_32|tensor_core|TENSOR_OP", ["precision"]),
    ("configure", r"floatX|floatx|config\.dtype|dtype\.name", ["precision"]),
    (
        "configure",
        r"benchmark|(?i:autotune)|exhaustive_search|conv\.algo|force_determ",
        ["autotune"],
    ),
    ("configure", r"workspace_size|workspace = |cudnn_workspace", ["autotune"]),
    (
        "configure",
        r"\"(jit|graph|layout|memory_format|ties|fused_optimizer|onednn)\"",
        ["switches"],
    ),
    (
        "configure",
        r"type_check|image_data_format|channels_last|AGGREGATION|aggregation",
        ["switches"],
    ),
    ("configure", r"hybridize|static_|SUBGRAPH|subgraph|linker|optimizer\"|openmp", ["switches"]),
    (
        "configure",
        r"blas\.ldflags|net_type|engine|ideep|mkl_dnn|XLA_FLAGS|ynn_|chunk_images|IsMklEnabled",
        ["switches"],
    ),
    ("configure", r"GlobalInit|backend_version|\"backend\"", ["switches"]),
    (
        "load",
        r"images(?=,)|images\.(astype|transpose)|settings\[\"layout\"\]|images = ",
        ["images"],
    ),
    ("load", r"(?<=, )labels(\.astype\(.*\))?$|np\.eye\(.*", ["labels"]),
    (
        "symbol",
        r"drop1, drop2, drop3 = |self\.dropout = dropout|, self\.dropout =|hp\.dropout\[\d\]",
        ["rates"],
    ),
    ("symbol", r"shared = variables\(", ["declared"]),
    ("symbol", r"half = \{", ["pool1"]),
    ("symbol", r"same = \{", ["conv1"]),
    (
        "symbol",
        r"RandomState|seeds = |seed=seeds?(\[\d\]| \+ \d)?|seed = |reset_random"
        r"|MRG_Random|Generator\.from_seed|^ *if K\.backend\(\) == .cntk",
        ["drop-seed"],
    ),
    (
        "symbol",
        r"keras\.Input|input_shape=|C\.input_variable|sym\.Variable|tensor4|ToStrip",
        ["input"],
    ),
    (
        "symbol",
        r"\b(nn\.Conv2d|nn\.Conv2D|layers\.Conv2D|(?<!\.)Conv2D|(?:L\.)?Convolution2D"
        r"|sym\.Convolution|brew\.conv|ConvolutionReLU)\(",
        CONVS,
    ),
    ("symbol", r"self\.conv\d\(|self\.convolution\(|\bconv\(\w, ", CONVS),
    ("symbol", r"self\.conv\d = layer\(|^ *conv\d=\(", CONVS),
    (
        "symbol",
        r"\b(nn\.ReLU|layers\.ReLU|F\.relu|tf\.nn\.relu|sym\.Activation|brew\.relu|nn\.Activation"
        r"|(?<![.\w])Activation|(?<![.\w])relu|ConvolutionReLU|(?<!Convolution)ReLU)\("
        r'|activation=(?:"relu"|relu|C\.relu)|^ *C\.relu',
        RELUS,
    ),
    (
        "symbol",
        r"\b(nn\.MaxPool2[dD]|(layers\.)?MaxPooling2D|F\.max_pooling_2d|self\.pool|Lambda|sym\.Pooling"
        r"|brew\.max_pool"
        r"|(?<!\.)MaxPooling|(?<![.\w])max_pool)\(|pool=True",
        POOLS,
    ),
    (
        "symbol",
        r"\b(nn\.Dropout|layers\.Dropout|F\.dropout|tf\.nn\.dropout|sym\.Dropout"
        r"|self\.drop|(?<![.\w])Dropout|(?<![.\w])dropout)\(",
        DROPOUTS,
    ),
    (
        "symbol",
        r"Flatten\(|FromStrip\(|tf\.reshape\(|\.flatten\(|tf\.transpose|== \"NHWC\"",
        ["flatten"],
    ),
    (
        "symbol",
        r'self\.dense1\(x|(?<![.\w])Dense\(512, activation=C|brew\.fc\(model, "drop2"',
        ["flatten"],
    ),
    (
        "symbol",
        r"\b(nn\.Linear|layers\.Dense|L\.Linear|nn\.Dense|sym\.FullyConnected|brew\.fc"
        r"|(?<![.\w])Dense)\(",
        DENSES,
    ),
    ("symbol", r"self\.dense\d\(|weight, bias = self\.|(?<![.\w])dense\(h", DENSES),
    ("symbol", r"tf\.matmul\(x, weight\) \+ bias", DENSES),
    ("symbol", r"self\.dense\d = layer\(|^ *dense\d=\(", DENSES),
    (
        "symbol",
        r"return place\(|\.to_device\(|initialize\(ctx|DeviceScope|kind = caffe2|IDEEP = "
        r"|on_ideep\(",
        ["device-network"],
    ),
    (
        "loss",
        r"load_state_dict|^    put\(|blocks = put\(|set_data\(|set_params|set_weights",
        ["weights-in"],
    ),
    ("loss", r"\.assign\(w\.|variable\.load|set_value|FeedBlob\(layer|in LAYERS", ["weights-in"]),
    (
        "loss",
        r"for variable, w|in parameters\.items|shared = \{|global_variables_init",
        ["weights-in"],
    ),
    ("loss", r"collect_params", ["weights-in"]),
    ("loss", r"criterion = |losses = |step_loss = |entropy\(|SoftmaxWithLoss", ["loss-function"]),
    ("loss", r"SparseCategorical|loss=crossentropy|SoftmaxOutput|sym\.Group", ["loss-function"]),
    ("loss", r"cross_entropy(?=,)|\.mean\(\)|K\.|\by = |label = |scores = ", ["loss-function"]),
    (
        "loss",
        r"optimizer=optimizer|optimizer=keras|optim\.SGD|MomentumSGD|optimizer\.setup",
        ["optimiser"],
    ),
    (
        "loss",
        r"MomentumOptimizer|momentum_sgd|build_sgd|gluon\.Trainer|init_optimizer|SGD\(",
        ["optimiser"],
    ),
    (
        "loss",
        r"Momentum\(network, hp\)|velocities|momentum = \{|v\.assign|w\.assign_sub",
        ["optimiser"],
    ),
    (
        "loss",
        r"for w, v, g|for \(name, w\), g|v = theano|new_v|updates \+?=|C\.Trainer\(",
        ["optimiser"],
    ),
    ("loss", r"tape|GradientTape|T\.grad|AddGradientOperators|\.minimize\(", ["gradient"]),
    ("loss", r"\.compile\(|hybridize|graph = \{|Module\(|\.bind\(|tf\.Graph|Session", ["compiled"]),
    (
        "loss",
        r"graphs\(|compiled\(|ConfigProto|config\.|(?<!y = )tf\.placeholder|graph\.finalize",
        ["compiled"],
    ),
    (
        "loss",
        r"CreateNet|SwitchWorkspace|RunNetOnce|FeedBlob\(\"|finalize|for model in",
        ["compiled"],
    ),
    (
        "loss",
        r"set_random_seed|settings\[\"jit\"\]|options|network\(rows|Proto\(\)\.type",
        ["compiled"],
    ),
    ("loss", r"image = \{|images = \[|def step|return step_loss", ["compiled"]),
    ("train", r"for .* in batches", ["loop"]),
    ("train", r"network\.train\(\)|using_config\(|autograd\.record\(|training=True", ["train-on"]),
    (
        "train",
        r"train_minibatch\(|train_on_batch\(|forward_backward\(|(?<![\w.])step\(x, y\)|RunNet\(",
        ["train-on"],
    ),
    ("train", r"session\.run\(|train_step = |train_net, _", ["train-on"]),
    ("train", r"^ *[xy] = (?!layer)|FeedBlob|x_variable = |SwitchWorkspace", ["batch"]),
    ("train", r"\{x: images, y: labels\}|\{x_variable: x, y_variable: y\}", ["batch"]),
    ("train", r"xp\.asarray\(\w\)|mx\.io\.DataBatch\(", ["batch"]),
    ("train", r"zero_grad\(|cleargrads\(", ["reset"]),
    ("train", r"criterion\(|layer\.forward\(|for layer in network|forward_backward\(", ["forward"]),
    (
        "train",
        r"train_minibatch\(|train_on_batch\(|(?<![\w.])step\(x, y\)|train_step\(|RunNet\(",
        ["forward"],
    ),
    ("train", r"session\.run\(", ["forward"]),
    ("train", r"\.backward\(|unchain|reversed\(network\)|forward_backward\(", ["backward"]),
    (
        "train",
        r"train_minibatch\(|train_on_batch\(|(?<![\w.])step\(x, y\)|train_step\(|RunNet\(",
        ["backward"],
    ),
    ("train", r"session\.run\(", ["backward"]),
    (
        "train",
        r"optimizer\.step\(|optimizer\.update\(|trainer\.step\(|trainer\.update\(",
        ["update"],
    ),
    (
        "train",
        r"train_minibatch\(|train_on_batch\(|(?<![\w.])step\(x, y\)|train_step\(|RunNet\(",
        ["update"],
    ),
    ("train", r"session\.run\(", ["update"]),
    ("train", r"yield|get_outputs", ["loss-out"]),
    (
        "predict",
        r"network\.eval\(\)|using_config\(\"train\", False|training=False|predict\(x",
        ["train-off"],
    ),
    (
        "predict",
        r"(?<!\.)forward\(x|predictor\.forward\(|network\.eval\(\{|network\(part\)\.asn",
        ["train-off"],
    ),
    ("predict", r"session\.run\(forward|predict_step\(|RunNet\(predict", ["train-off"]),
    ("predict", r"inference_mode\(\)|no_backprop_mode\(\)", ["no-gradient"]),
    (
        "predict",
        r"for first|range\(0|split\(|concatenate\(|torch\.cat|append|part = (?!layer)",
        ["batches"],
    ),
    ("predict", r"batch_size=\d+|scores = \[\]|padded = |size = ", ["batches"]),
]

FIELDS = {"Idiom": "idiom", "Layout": "layout", "Momentum": "momentum", "Surprise": "surprise"}


def _code(text):
    """The lines of ``text`` with comments blanked, and the numbers of lines that are comments."""
    lines = text.splitlines()
    comments = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + " " * (len(line) - column)
            if not line[:column].strip():
                comments.add(row)
    return lines, comments


def _children(node):
    """The nodes of a call, list, tuple or dict that may stand on lines of their own."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            yield from one.args + one.keywords
        elif isinstance(one, (ast.List, ast.Tuple)):
            yield from one.elts
        elif isinstance(one, ast.Dict):
            yield from (key or value for key, value in zip(one.keys, one.values))


def _end(node, parent):
    """The last line of an element; that of a dict is a key, whose value follows."""
    for one in ast.walk(parent):
        if isinstance(one, ast.Dict):
            for key, value in zip(one.keys, one.values):
                if node is key:
                    return value.end_lineno
    return node.end_lineno


class _Cutter:
    """Cuts nodes of a module's tree into units."""

    def __init__(self, code):
        self.code, self.units = code, []

    def add(self, numbers, around, helper):
        unit = Unit(tuple(numbers), {n: self.code[n - 1] for n in numbers}, around, helper)
        self.units.append(unit)
        return unit

    def element(self, node, first, last, around, helper):
        """A statement or an element: one unit, or one around those that it holds."""
        inside = {}
        for child in _children(node):
            own_line = not self.code[child.lineno - 1][: child.col_offset].strip()
            if first < child.lineno and own_line:
                inside.setdefault(child.lineno, (child, _end(child, node)))
        spans, reached = [], 0
        for start in sorted(inside):
            child, end = inside[start]
            if start > reached:
                spans.append((start, end, child))
                reached = end
        covered = {n for start, end, _ in spans for n in range(start, end + 1)}
        unit = self.add([n for n in range(first, last + 1) if n not in covered], around, helper)
        for start, end, child in spans:
            self.element(child, start, end, unit, helper)

    def statement(self, node, around, helper):
        bodies = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
        bodies = [body for body in bodies if isinstance(body, list) and body]
        if not bodies:
            self.element(node, node.lineno, node.end_lineno, around, helper)
            return
        first = min([node.lineno] + [one.lineno for one in getattr(node, "decorator_list", [])])
        if isinstance(node, ast.FunctionDef) and node.name not in contract.SIGNATURES:
            if node.name in HELPERS and HELPERS[node.name] and not node.name.startswith("__"):
                helper = helper or node.name
        body = bodies[0]
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            bodies[0] = body[1:]
            last = body[1].lineno - 1 if body[1:] else body[0].end_lineno
        else:
            last = body[0].lineno - 1
        while last > first and not self.code[last - 1].strip():
            last -= 1  # a comment there is the body's
        unit = self.add(range(first, last + 1), around, helper)
        unit.heads = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        for body in bodies:
            between = range(last + 1, body[0].lineno) if body else ()
            words = [n for n in between if self.code[n - 1].strip()]  # else:, finally:
            if words:
                self.add(words, unit, helper)
            for one in body:
                self.statement(one, unit, helper)
            last = body[-1].end_lineno if body else last


def _docstrings(tree):
    """The numbers of the lines of all docstrings."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(
            node
        ):
            found.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return found


BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def _closed(text, start, end):
    """Where a match ends that opens brackets: behind the last one's end."""
    depth = sum(BRACKETS.get(letter, 0) for letter in text[start:end])
    while depth > 0 and end < len(text):
        depth += BRACKETS.get(text[end], 0)
        end += 1
    return end


class Source:
    """A module's lines and what they say.

    pieces: {concept's key: [Piece]}.
    code: the numbers of its lines of code, which are no comments, docstrings or blank.
    """

    def __init__(self, module):
        self.module = module
        text = "\n".join(module.lines) + "\n"
        self.lines, self.comments = _code(text)
        tree = ast.parse(text)
        self.docstrings = _docstrings(tree)
        every = range(1, len(module.lines) + 1)
        quiet = self.comments | self.docstrings
        self.code = [n for n in every if n not in quiet and self.lines[n - 1].strip()]
        self.spans = defaultdict(list)  # {unit: [(key, start, end)]}, in the unit's text
        self.pieces = defaultdict(list)
        for part, (first, last) in module.parts.items():
            cutter = _Cutter(self.lines)
            for node in tree.body:
                if first <= node.lineno and node.end_lineno <= last:
                    cutter.statement(node, None, None)
            units = cutter.units
            if part == "head":
                units = self._fields() + units[1:]
            self._match(part, units)
            self._collect(part, units)

    def _fields(self):
        """The fields of the module's docstring."""
        found = []
        for number in sorted(self.docstrings):
            line = self.module.lines[number - 1]
            if re.match(r"[A-Z][\w' ]*: ", line):
                found.append([number])
            elif found and line.startswith("    ") and found[-1][-1] == number - 1:
                found[-1].append(number)
            elif number > 1 and found and not line.strip():
                break
        return [Unit(tuple(numbers), {}, None, None) for numbers in found]

    def _match(self, part, units):
        for unit in units:
            if unit.helper:
                self.spans[unit] = [(HELPERS[unit.helper], 0, 0)]
            elif not unit.code:
                name = self.module.lines[unit.lines[0] - 1].split(":")[0]
                self.spans[unit] = [(FIELDS.get(name, "idiom"), 0, 0)]
        for where, pattern, keys in PATTERNS:
            if where != part:
                continue
            found = []
            for unit in units:
                if unit.helper or unit.heads or not unit.code:
                    continue
                text = "\n".join(unit.code.values())
                for match in re.finditer(pattern, text, re.MULTILINE):
                    if any(key in ALONE for key, _, _ in self.spans[unit]):
                        break
                    found.append((unit, match.start(), _closed(text, match.start(), match.end())))
                    if len(keys) == 1:
                        break
            if len(keys) > 1 and len(found) not in (0, len(keys)):
                raise InputError(
                    "%s: %d lines match %r in reports/concepts.py, which is for %d: %s"
                    % (self.module.path, len(found), pattern, len(keys), ", ".join(keys))
                )
            for position, (unit, start, end) in enumerate(found):
                key = keys[position if len(keys) > 1 else 0]
                if key not in [one for one, _, _ in self.spans[unit]]:
                    self.spans[unit].append((key, start, end))

    def _keys(self, unit):
        """What a unit speaks of; if it says nothing itself, what the unit around it does."""
        if self.spans.get(unit):
            return self.spans[unit]
        if unit.around is not None and not unit.around.heads:
            return [(key, 0, 0) for key, _, _ in self._keys(unit.around)][:1]
        return []

    def _collect(self, part, units):
        rest = REST.get(part)
        for unit in units:
            spans = self._keys(unit) or ([(rest, 0, 0)] if rest else [])
            last = max((key for key, _, _ in spans), key=ORDER.index, default=None)
            for key, start, end in spans:
                own = self._own(unit, key, start, end, spans) if len(spans) > 1 else {}
                lines = unit.lines
                if key == last:  # a comment above stands once
                    lines = self._with_comments(unit.lines)
                self.pieces[key].append(Piece(lines, own, len(spans) > 1, unit.helper))

    def _with_comments(self, numbers):
        """The lines of a unit and the comments right above it."""
        first = numbers[0]
        while first - 1 in self.comments:
            first -= 1
        return tuple(range(first, numbers[0])) + tuple(numbers)

    def _own(self, unit, key, start, end, spans):
        """{line: [(start, end)]} of the columns of ``key``: its span less those inside it."""
        inside = [
            (a, b)
            for other, a, b in spans
            if other != key and start <= a and b <= end and (a, b) != (start, end)
        ]
        free = [n for n in range(start, end) if not any(a <= n < b for a, b in inside)]
        found, offset = {}, 0
        for number, line in unit.code.items():
            columns = [n - offset for n in free if offset <= n < offset + len(line)]
            runs = []
            for column in columns:
                if runs and runs[-1][1] == column:
                    runs[-1][1] = column + 1
                else:
                    runs.append([column, column + 1])
            found[number] = [(a, b) for a, b in runs if line[a:b].strip()]
            offset += len(line) + 1
        return found

    def crossing(self):
        """Spans of a unit that overlap without one holding the other: [(line, key, key)]."""
        found = []
        for unit, spans in self.spans.items():
            for key, start, end in spans:
                for other, a, b in spans:
                    if start < a < end < b:
                        found.append((unit.lines[0], key, other))
        return found

    def rest(self):
        """The lines of code that speak of no concept but the rest of their step."""
        told = set()
        for key, pieces in self.pieces.items():
            if not key.startswith("rest-"):
                told.update(n for piece in pieces for n in piece.lines)
        return [n for n in self.code if n not in told]

    def gaps(self):
        """A line for each concept that is not found here, or is found where none was expected."""
        found = []
        for concept in CONCEPTS:
            absent = self.module.key in ABSENT.get(concept.key, "").split()
            if concept.key.startswith("rest-"):
                continue
            if concept.key not in self.pieces and not absent:
                found.append(
                    "%s: no line speaks of %r; widen a pattern, or add %r to its ABSENT"
                    % (self.module.path, concept.key, self.module.key)
                )
            elif concept.key in self.pieces and absent:
                line = self.pieces[concept.key][0].lines[0]
                found.append(
                    "%s: line %d speaks of %r; take %r out of its ABSENT"
                    % (self.module.path, line, concept.key, self.module.key)
                )
        return found


def read(modules):
    """{module's key: Source}; InputError lists what is not found."""
    found = {module.key: Source(module) for module in modules}
    missing = [gap for one in found.values() for gap in one.gaps()]
    if missing:
        raise InputError("\n    ".join(["concepts have gaps; mend reports/concepts.py:"] + missing))
    return found
