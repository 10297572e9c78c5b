"""The phrase book: for each concept what says it, found in every module's source."""

import ast
import re
from collections import namedtuple
from functools import lru_cache

from markupsafe import Markup, escape

from common.system.errors import InputError
from reports import sources

Concept = namedtuple("Concept", "name part pattern absent model")
Concept.__doc__ = """Something that every framework must be told, in its own words.

name: the concept, for people.
part: the part of a module (see ``sources.parts``) in which it is said.
pattern: a regular expression that finds the line; the first one that matches.
absent: keys of modules that have no line for it, because nothing needs to be said.
model: the network in whose modules it is said; a framework that lacks it has no line.
"""

Phrase = namedtuple("Phrase", "path number text html prose")
Phrase.__doc__ = """What a module says of a concept.

path, number: the file, and its first line.
text: whole calls and statements, or whole sentences.
html: the same, coloured.
prose: whether it is a sentence of a docstring or a comment, and no code.
"""


def _concept(name, part, pattern, absent="", model="cnn"):
    return Concept(name, part, re.compile(pattern), frozenset(absent.split()), model)


CONCEPTS = [
    _concept("layout of images", "head", r"^Layout:"),
    _concept("surprise", "head", r"^Surprise:"),
    _concept(
        "seed",
        "configure symbol loss",
        r"(manual_seed|set_seed|random\.seed|set_random_seed)\(|RandomState\(settings"
        r"|seed = 3 \*|seed = \(3|from_seed\(",
    ),
    _concept("padding", "symbol", r'padding=|"SAME"|pad=|"pad"|border_mode|ToStrip\('),
    _concept(
        "pooling",
        "symbol",
        r"MaxPool2[dD]\(|MaxPooling(2D)?\(|max_pool(ing_)?2d\(|pool2d\(|brew\.max_pool"
        r"|half = |pool=True"
        r"|T\.maximum\(T",
    ),
    _concept(
        "activation",
        "symbol",
        r'ReLU\(|relu\(|"relu"|act_type|activation=|C\.relu|brew\.relu',
    ),
    _concept("precision", "configure", r'"precision":|precision='),
    _concept(
        "flatten order", "symbol", r"latten|FromStrip|reshape\(x, \(-1, 6400\)\)|all three axes"
    ),
    _concept(
        "weight layout",
        "head weights symbol",
        r"^AXES|canonical ones|axes C, H, W|back from|Turn the canonical|\.canonical\(\)",
    ),
    _concept(
        "initial weights put in",
        "loss",
        r"load_state_dict|set_data\(|set_params\(|\.assign\(|set_weights\(|FeedBlob\(layer"
        r"|\.value = |set_value\(|parameter\.array = |variable\.load\(|^    put\(network",
    ),
    _concept(
        "training, not prediction",
        "train",
        r"network\.train\(\)|autograd\.record|training=True|using_config|dropout on|with dropout"
        r"|the trainer turns|forward_backward|train_on_batch|yield step\(|session\.run",
    ),
    _concept(
        "dropout",
        "symbol",
        r"Dropout\((settings, )?drop1|dropout\(\w+, (rate=)?drop1|p=drop1|brew\.dropout"
        r"|self\.drop\(",
    ),
    _concept(
        "loss and its reduction",
        "loss",
        r"CrossEntropyLoss\(|criterion = |losses = tf|SparseCategorical|SoftmaxWithLoss"
        r"|SoftmaxOutput|categorical_crossentropy\(|def crossentropy|return network, cross_entropy",
    ),
    _concept("label type", "load", r"return images"),
    _concept("momentum", "head", r"^Momentum:"),
    _concept(
        "optimiser",
        "loss",
        r"SGD\(|MomentumOptimizer|momentum_sgd|build_sgd|Trainer\(|init_optimizer|v\.assign"
        r"|new_v =|Momentum\(network",
    ),
    _concept(
        "gradients reset",
        "train",
        r"zero_grad|cleargrads",
        "numpy tensorflow tensorflow1 keras keras-cntk mxnet mxnet-module cntk caffe2 theano",
    ),
    _concept(
        "backward",
        "train loss",
        r"\.backward\(|tape\.gradient|minimize\(|T\.grad\(|AddGradientOperators|train_on_batch"
        r"|train_minibatch|forward_backward",
    ),
    _concept(
        "device",
        "symbol loss configure",
        r"\.to\(settings|to_device|Context\(settings|DeviceScope|use_default_device|gpuarray\.use"
        r'|list_physical_devices|"device":',
    ),
    _concept(
        "autotune",
        "configure",
        r"benchmark = |AUTOTUNE|config\.autotune|exhaustive_search|algo_fwd =|force_determ"
        r'|"autotune":',
        "numpy keras-cntk",
    ),
    _concept(
        "graph or JIT",
        "symbol loss configure",
        r"tf\.function|jit_compile|hybridize\(|theano\.function|tf\.Session\(|CreateNet"
        r'|\.compile\(|\.bind\(|"jit":',
        "numpy cntk chainer",
    ),
    _concept(
        "prediction",
        "predict",
        r"inference_mode|\"train\", False|forward\(|model\.predict\(|predict_step\(|predict_net\)"
        r"|network\.eval\(|network\(part\)|session\.run",
    ),
    _concept(
        "weights taken out",
        "weights",
        r"state_dict|\.numpy\(\)|get_weights|FetchBlob|\.value|get_value|to_cpu|asnumpy"
        r"|session\.run|to_numpy",
    ),
    _concept(
        "waiting for the device",
        "wait",
        r"synchronize|sync_devices|waitall|convert_to_numpy|get_value|Return at once|Do nothing",
    ),
    _concept("Adam", "loss", r"Adam\(|C\.adam\(|\"adam\"|w\.assign_sub|change = ", model="mlp"),
    _concept("Adam's epsilon", "head", r"^Adam:", model="mlp"),
    _concept(
        "LSTM",
        "symbol",
        r"nn\.LSTM\(|layers\.LSTM\(|rnn\.LSTM\(|L\.LSTM\(|LSTM\(settings|LSTM\(5\)|sigmoid\(f\)"
        r"|lstm\.input\.weight",
        model="lstm",
    ),
    _concept("order of the gates", "head", r"^Gates:", model="lstm"),
    _concept("state carried", "head", r"^State:", model="lstm"),
    _concept(
        "gradient truncated",
        "symbol train",
        r"detach\(\)|stop_gradient\(|unchain_backward|disconnected_grad\(|LSTM\(settings",
        model="lstm",
    ),
    _concept(
        "free-running",
        "predict symbol",
        r"\[-1\]\[:, -1:\]|value\[:, -1:\]|ahead\[-1\]"
        r"|values\[-1\]\)",
        model="lstm",
    ),
    _concept("batch normalisation", "symbol", r"BatchNorm|batch_normalization", model="resnet"),
    _concept("running mean and variance", "head", r"^Batch normalisation:", model="resnet"),
    _concept("weight decay", "loss symbol", r"weight_decay", "numpy", model="resnet"),
    _concept(
        "local response normalisation",
        "symbol",
        r"LocalResponseNorm\(|local_response_normalization\(",
        model="pose",
    ),
    _concept("its alpha", "head", r"^Local response normalisation:", model="pose"),
    _concept("hidden joints", "loss", r"\* visible\)|network, joint_error", model="pose"),
    _concept("pool with overlap", "symbol", r"MaxPool(2d)?\(|max_pooling_2d\(", model="pose"),
    _concept("sigmoid", "symbol", r"^(?!\s*#).*[Ss]igmoid", model="lenet5"),
    _concept(
        "save weights",
        "save",
        r"torch\.save|save_weights\(|save_parameters|save_params|\.save\(path\)|\.Export\("
        r"|save_npz|pickle\.dump|\.write\(path\)|\.Saver\(",
        absent="numpy",
        model="native",
    ),
    _concept(
        "restore weights",
        "restore",
        r"load_state_dict|load_weights|load_parameters|load_params|\.restore\(path\)|FeedBlob"
        r"|NpzDeserializer\(|Arrays\(file|\.read\(path\)|load_checkpoint",
        absent="numpy",
        model="native",
    ),
    _concept(
        "ONNX",
        "export",
        r"torch\.onnx\.export|model\.export\(|onnx_chainer\.export|export_model\(|ModelFormat"
        r"|caffe2_net_to_onnx_model",
        model="export",
    ),
    _concept(
        "record a pass",
        "record",
        r"register_forward_hook\(|probe = |RunOperatorOnce|with Recorder|C\.combine\(|session\.run"
        r"|theano\.function|layer\.forward\(",
        model="record",
    ),
    _concept(
        "profile",
        "profile head",
        r"torch\.profiler\.profile\(|TimerHook\(|BenchmarkNet\(|theano\.config\.profile = True"
        r"|start_profiler\(|set_state\(\"run\"|FULL_TRACE\)|experimental\.Profile\(|runcall\("
        r"|^Idiom: (Keras has|Module is)",
        model="profile",
    ),
]


def find(concept, module):
    """The number of the line in ``module`` that says ``concept``, or None; LookupError for a gap.

    A gap is a concept without a line, or one with a line where none was expected.
    """
    for part in concept.part.split():
        if part not in module.parts:
            continue
        first, last = module.parts[part]
        for number in range(first, last + 1):
            if concept.pattern.search(module.lines[number - 1]):
                if module.key in concept.absent:
                    raise LookupError(
                        "line %d says it; take %r out of its absent" % (number, module.key)
                    )
                return number
    if module.key in concept.absent:
        return None
    raise LookupError(
        "no line of %s matches; widen its pattern, or add %r to its absent"
        % (" or ".join(concept.part.split()), module.key)
    )


def gaps(modules):
    """A line for every concept that the phrase book cannot find in one of ``modules``."""
    found = []
    for concept in CONCEPTS:
        for module in filter(None, _of_model(concept, modules)):
            try:
                find(concept, module)
            except LookupError as gap:
                found.append("%s, %r: %s" % (module.path, concept.name, gap))
    return found


def _of_model(concept, modules):
    """For each of the CNN's ``modules`` the one of the concept's network; None if there is none."""
    if concept.model == "cnn":
        return modules
    others = {module.key: module for module in sources.modules(concept.model)}
    return [others.get(module.key) for module in modules]


def book(modules):
    """[(concept, [Phrase, or None where nothing needs to be said])]; InputError lists every gap."""
    missing = gaps(modules)
    if missing:
        head = "the phrase book has gaps; mend CONCEPTS in reports/phrases.py:"
        raise InputError("\n    ".join([head] + missing))
    return [
        (concept.name, [_said(concept, module) for module in _of_model(concept, modules)])
        for concept in CONCEPTS
    ]


def _said(concept, module):
    """The ``Phrase`` of a concept's line: the whole of what begins there."""
    number = module and find(concept, module)
    if number is None:
        return None
    lines, prose = module.lines, False
    line = lines[number - 1]
    last = number
    docstrings, ends = _extents("\n".join(module.lines))
    if line.lstrip().startswith("#"):
        prose = True
        while lines[last].lstrip().startswith("#"):
            last += 1
    elif number in docstrings:
        prose = True
        while last + 1 in docstrings and lines[last].startswith("    "):
            last += 1
    else:
        last = ends.get(number, number)
    if prose:
        words = " ".join(text.strip().lstrip("# ").strip('"') for text in lines[number - 1 : last])
        text = re.sub(r"^[A-Z][\w' ]*: ", "", words)
        html = re.sub(r"``(.+?)``", r"<code>\1</code>", str(escape(text)))
        return Phrase(module.path, number, text, Markup(html), True)
    indent = len(line) - len(line.lstrip())
    colours = sources.coloured(module)[number - 1 : last]
    told = [text[indent:] for text in lines[number - 1 : last]]
    html = [
        sources.html(text, spans, indent) for text, spans in zip(lines[number - 1 : last], colours)
    ]
    return Phrase(module.path, number, "\n".join(told), Markup("\n".join(html)), False)


@lru_cache(maxsize=None)
def _extents(text):
    """The numbers of the lines of docstrings, and {line: the last one of what begins on it}.

    Of what begins on a line the longest thing counts, but for the body of a block.
    """
    docstrings, ends = set(), {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)):
            if ast.get_docstring(node):
                docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        body = getattr(node, "body", None)
        if not isinstance(node, (ast.stmt, ast.expr, ast.keyword)):
            continue
        last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
        ends[node.lineno] = max(ends.get(node.lineno, node.lineno), last)
    return docstrings, ends
