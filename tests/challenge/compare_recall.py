"""python -m tests.challenge.compare_recall [--write]: what ``compare`` finds of known mistakes.

Three small networks, a transformer, an image network and steps of training, are computed in NumPy.
B is the same with one mistake, or two; with other names, rounding and, for images, channels last. A
mistake is "named" if the text says what it is, "located" if only the first difference is right.
"few" are recordings without the arrays that hooks on modules do not see. Right ports are compared
as well: each difference is a false alarm.
"""

import contextlib
import io
import itertools
import json
import os
import re
import sys
import tempfile
from collections import OrderedDict

import numpy as np

from common.compare import command as compare
from common.compare.arrays import TOLERANCE
from common.compare.functions import SHAPES, softmax
from common.compare.layers import convolution, rotary
from common.compare.layers.normalisation import normalised
from common.compare.optimizers import steps, walk
from common.system import commands
from common.system.files import ROOT, write_json

SEEDS = 3
WIDTH, HEADS, TOKENS = 64, 4, 24


class Mistake:
    """A setting that B has otherwise."""

    def __init__(self, name, value, where, few, says):
        """where, few: the array that differs first. says: a part of the text that names it."""
        self.change, self.where, self.few, self.says = {name: value}, where, few, says


def turned(x, by, base):
    """Queries or keys, each head's turned by its place."""
    turn = rotary.angles(x.shape[2], x.shape[3] // 2, base, "none")
    made = np.empty_like(x)
    (a, b), (c, d) = rotary.parts(x, by), rotary.parts(made, by)
    c[...], d[...] = a * np.cos(turn) - b * np.sin(turn), a * np.sin(turn) + b * np.cos(turn)
    return made


def transformer(random, by="halves", base=1e4, scale=1.0, offset=0, norm="LayerNorm", **other):
    """A block with rotary embeddings and a dense layer twice as wide in its middle."""
    options = dict(epsilon=1e-5, activation="GELU (by erf)", transposed=False, start=1.0)
    options.update(other)
    draw = lambda *shape: random.standard_normal(shape)  # noqa: E731
    x, w = draw(4, TOKENS, WIDTH) * 0.3, [draw(WIDTH, WIDTH) / 8 for _ in range(4)]
    up, down, gain = draw(WIDTH, 2 * WIDTH) / 4, draw(2 * WIDTH, WIDTH) / 11, 1 + draw(WIDTH) / 8
    found = OrderedDict(x=x)
    h = found["embed"] = x * options["start"]
    rows = (h.reshape(-1, WIDTH), norm, options["epsilon"])
    n = found["norm1"] = normalised(*rows).reshape(x.shape) * gain
    split = lambda t: t.reshape(4, TOKENS, HEADS, -1).transpose(0, 2, 1, 3)  # noqa: E731
    for name, weight in zip("qkv", w):
        found["%s_proj" % name] = n.dot(weight)
    q, k = (turned(split(found[name]), by, base) for name in ("q_proj", "k_proj"))
    found["q_turned"], found["k_turned"] = q, k
    scores = np.matmul(q, k.transpose(0, 1, 3, 2)) * scale * (WIDTH // HEADS) ** -0.5
    seen = np.tril(np.ones((TOKENS, TOKENS), bool), offset)
    found["probabilities"] = softmax(np.where(seen, scores, -1e9), -1)
    context = np.matmul(found["probabilities"], split(found["v_proj"]))
    context = found["context"] = context.transpose(0, 2, 1, 3).reshape(x.shape)
    found["o_proj"] = context.dot(w[3].T if options["transposed"] else w[3])
    h = found["sum1"] = h + found["o_proj"]
    found["up"] = h.dot(up)
    found["active"] = SHAPES[options["activation"]](found["up"])
    found["down"] = found["active"].dot(down)
    found["sum2"] = h + found["down"]
    return found


TRANSFORMER = (
    Mistake("start", WIDTH**0.5, "embed", "embed", "times 8"),
    Mistake("epsilon", 1e-3, "norm1", "norm1", "epsilon 1e-05 in A, 0.001 in B"),
    Mistake("epsilon", 1e-6, "norm1", "norm1", "epsilon 1e-05 in A, 1e-06 in B"),
    Mistake("norm", "RMSNorm", "norm1", "norm1", "LayerNorm, epsilon 1e-05 in A, RMSNorm"),
    Mistake("by", "pairs", "q_turned", "o_proj", "by pairs"),
    Mistake("base", 5e5, "q_turned", "o_proj", "0000 in B|base 500000"),
    Mistake("scale", (WIDTH // HEADS) ** 0.5, "probabilities", "o_proj", "scale"),
    Mistake("offset", 1, "probabilities", "o_proj", "1 after it, too"),
    Mistake("transposed", True, "o_proj", "o_proj", "is transposed on one side only"),
    Mistake(
        "activation", "GELU (by tanh)", "active", "down", "by erf..* in A, GELU .by tanh. in B"
    ),
    Mistake("activation", "SiLU", "active", "down", "GELU .by erf..* in A, SiLU in B"),
    Mistake("activation", "ReLU", "active", "down", "GELU .by erf..* in A, ReLU (or ReLU6 )?in B"),
)
UNSEEN = ("q_turned", "k_turned", "probabilities", "context", "active")


def images(
    random, padding=1, kernel=1, epsilon=1e-5, slope=0.0, window=3, pool="max", order=(1, 2, 3)
):
    """A convolution with a stride, a batch norm, an activation, a pool, a flatten and scores."""
    draw = lambda *shape: random.standard_normal(shape)  # noqa: E731
    x, weight = draw(8, 3, 16, 16), draw(3, 3, 3, 6) / 5
    last, gain = draw(6 * 4 * 4, 10) / 9, 1 + draw(6) / 8
    constants = dict(kind="convolution", kernel=3, stride=2, padding=padding)
    seen = convolution.patches(x, constants, (8, 8))
    weight = weight[:, ::kernel, ::kernel].reshape(27, 6)
    found = OrderedDict(x=x, conv=seen.dot(weight).transpose(0, 3, 1, 2))
    y = found["conv"] - found["conv"].mean((0, 2, 3), keepdims=True)
    y = y / np.sqrt((y**2).mean((0, 2, 3), keepdims=True) + epsilon)
    y = found["norm"] = y * gain[:, None, None]
    y = found["active"] = np.where(y < 0, slope * y, y)
    high = np.pad(y, ((0, 0), (0, 0), (0, 1), (0, 1)), "constant")
    parts = [high[:, :, i : i + 8 : 2, j : j + 8 : 2] for i in range(window) for j in range(window)]
    y = found["pool"] = np.max(parts, 0) if pool == "max" else np.mean(parts, 0)
    found["scores"] = y.transpose((0,) + order).reshape(8, -1).dot(last)
    found["scores.weight"] = last.T
    return found


IMAGES = (
    Mistake("padding", 0, "conv", "conv", "padding 1 in A, 0 in B"),
    Mistake("kernel", -1, "conv", "conv", "flipped along height and width"),
    Mistake("epsilon", 1e-3, "norm", "norm", "epsilon 1e-05 in A, 0.001 in B"),
    Mistake("slope", 0.01, "active", "pool", "leaky"),
    Mistake("slope", 0.2, "active", "pool", "leaky"),
    Mistake("window", 2, "pool", "pool", "max pool, 3 x 3"),
    Mistake("pool", "mean", "pool", "pool", "mean pool"),
    Mistake("order", (2, 3, 1), "scores", "scores", "in A, 2, 3, 1,"),
)


def training(random, optimizer="Adam, betas 0.9 and 0.999, epsilon 1e-08", **other):
    """Three steps of an optimiser with random gradients."""
    options = dict(rates=(0.01,) * 3, clip="", decay=0.1, spared="", beside=True)
    options.update(other)
    shapes = OrderedDict([("a.weight", (24, 16)), ("a.bias", (16,)), ("b.weight", (16, 6))])
    found = OrderedDict(x=random.standard_normal((8, 24)))
    tensors = OrderedDict()
    for name, shape in shapes.items():
        start, *gradients = (random.standard_normal(shape) for _ in range(4))
        tensors[name] = steps.Walk(name, [g / 4 for g in gradients], [start])
        found["step0 " + name] = start
    whole = [walk.whole(tensor) for tensor in tensors.values()]
    clip = next(c for c in walk._clips(whole) if c.words == options["clip"])
    clipped = {tensor.name: clip.apply(tensor) for tensor in whole}
    rule = next(rule for rule in walk._rules() if rule.words == optimizer)
    for step in range(3):
        for name, t in tensors.items():
            found["grad%d %s" % (step + 1, name)] = t.gradients[step]
            *_, d = rule.walk(clipped[name][: step + 1])
            decay = options["decay"] * (name != options["spared"])
            decay *= options["rates"][step] if options["beside"] else 1
            w = t.weights[-1] * (1 - decay) - options["rates"][step] * d
            t.weights.append(w)
            found["step%d %s" % (step + 1, name)] = w
    return found


ADAM = "Adam, betas 0.9 and 0.999, epsilon 1e-08"
CLIPS = ("gradients clipped to a global norm of 1", "gradients clipped to 0.25 by value")
CLIPS += ("each tensor's gradient clipped to a norm of 1",)
TRAINING = tuple(
    Mistake("optimizer", name, step + "a.weight", step + "a.weight", name + ", rate")
    for name, step in (
        ("Adam, betas 0.9 and 0.99, epsilon 1e-08", "step2 "),
        ("Adam, betas 0.9 and 0.999, epsilon 1e-05", "step1 "),
        (ADAM + ", without bias correction", "step1 "),
        ("NAdam" + ADAM[4:], "step2 "),
        ("Adamax, betas 0.9 and 0.999", "step2 "),
        ("Lion, betas 0.9 and 0.99", "step2 "),
        ("RMSprop, decay 0.99, epsilon 1e-08", "step1 "),
        ("Adagrad, its sums beginning at 0.1", "step1 "),
        ("SGD, momentum 0.9", "step1 "),
        ("SGD, Nesterov momentum 0.9", "step1 "),
        ("SGD, momentum 0.9, dampening 0.9", "step1 "),
    )
)
TRAINING += tuple(Mistake("clip", clip, "step", "step", clip) for clip in CLIPS)
TRAINING += (
    Mistake("rates", (0.01, 0.005, 0.0025), "step2 ", "step2 ", "0.01, then 0.005, then 0.0025"),
    Mistake("decay", 0.0, "step1 ", "step1 ", "no decay in B"),
    Mistake("spared", "a.bias", "step1 a.bias", "step1 a.bias", "not of a.bias in B"),
    Mistake("beside", False, "step1 ", "step1 ", "decay 0.1, not times the rate in B"),
)
NETWORKS = OrderedDict(
    [
        ("transformer", (transformer, TRANSFORMER, UNSEEN)),
        ("images", (images, IMAGES, ("active",))),
        ("training", (training, TRAINING, None)),
    ]
)


def recording(make, seed, rounding, changes, unseen):
    """{name: array} in float32, with the error of one rounding."""
    random = np.random.RandomState(rounding)
    made = make(np.random.RandomState(seed), **changes)
    return OrderedDict(
        (name, (x * (1 + 6e-8 * random.standard_normal(x.shape))).astype("f"))
        for name, x in made.items()
        if name not in unseen
    )


def ported(arrays, network):
    """B as another framework has it: names with slashes, images with channels last."""
    moved = OrderedDict()
    for name, x in arrays.items():
        image = network == "images" and x.ndim == 4
        moved[name.replace(".", "/")] = x.transpose(0, 2, 3, 1) if image else x
    return moved


def shows(a, b, network):
    """Whether a mistake changes a recorded number at all."""
    return any((ported(a, network)[name] != b[name]).any() for name in b)


def compared(a, b):
    """(first difference or None, the text)"""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("a.npz", "b.npz", "out.json")]
        np.savez(paths[0], **a)
        np.savez(paths[1], **b)
        request = compare.Request(a=paths[0], b=paths[1], json=paths[2], **OPTIONS)
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            compare.compare(request)
        with open(paths[2]) as file:
            return json.load(file)["first_difference"], text.getvalue()


def judged(mistakes, difference, text, few):
    """named, located, wrong place or not seen."""
    if difference is None:
        return "not seen"
    places = [m.few if few else m.where for m in mistakes]
    if not any(difference["a"].startswith(place) for place in places):
        return "wrong place"
    said = text[text.index("first difference") :]
    return "named" if all(re.search(m.says, said) for m in mistakes) else "located"


def sets(mistakes):
    """Single mistakes; and pairs, of different settings."""
    yield "singles", [(m,) for m in mistakes]
    pairs = itertools.combinations(mistakes, 2)
    yield "pairs", [p for p in pairs if not set(p[0].change) & set(p[1].change)][::3]


def counted(name, make, mistakes, unseen):
    """The rows of a network's table."""
    for few in (False, True) if unseen else (False,):
        hidden = unseen if few else ()
        right = [
            compared(
                recording(make, seed, 1, {}, hidden),
                ported(recording(make, seed, 2, {}, hidden), name),
            )[0]
            for seed in range(4 * SEEDS)
        ]
        for kind, chosen in sets(mistakes):
            counts, other = OrderedDict.fromkeys(VERDICTS, 0), []
            for made, seed in itertools.product(chosen, range(SEEDS if kind == "singles" else 1)):
                changes = {k: v for m in made for k, v in m.change.items()}
                a = recording(make, seed, 1, {}, hidden)
                b = ported(recording(make, seed, 2, changes, hidden), name)
                if not shows(a, ported(recording(make, seed, 1, changes, hidden), name), name):
                    continue
                difference, text = compared(a, b)
                verdict = judged(made, difference, text, few)
                counts[verdict] += 1
                if verdict != "named":
                    other.append((verdict, changes, difference and difference["computes"]))
                    print(*other[-1], flush=True)
            yield OrderedDict(
                network=name,
                recorded="few" if few else "all",
                mistakes=kind,
                **counts,
                of=sum(counts.values()),
                false_alarms=sum(d is not None for d in right),
                right=len(right),
                not_named=[dict(verdict=v, changed=str(c), said=s) for v, c, s in other],
            )


OPTIONS = dict(tolerance=TOLERANCE, exact=None, html=None, all=False)
VERDICTS = ("named", "located", "wrong place", "not seen")


def table(rows):
    """The counts as Markdown."""
    heads = ("network", "recorded", "mistakes") + VERDICTS + ("of", "false alarms")
    yield "| %s |" % " | ".join(heads)
    yield "|%s" % ("---|" * len(heads))
    for row in rows:
        alarms = "%d of %d" % (row["false_alarms"], row["right"])
        yield "| %s |" % " | ".join([str(row[head]) for head in heads[:-1]] + [alarms])


def main(arguments):
    """Exit code 1 if a right port was accused or a mistake is looked for elsewhere."""
    parser = commands.OneLineParser(prog="python -m tests.challenge.compare_recall")
    parser.add_argument("--write", action="store_true", help="into reports/compare")
    options = parser.parse_args(arguments)
    rows = [row for name, parts in NETWORKS.items() for row in counted(name, *parts)]
    print("\n".join(table(rows)))
    if options.write:
        folder = os.path.join(ROOT, "reports", "compare")
        os.makedirs(folder, exist_ok=True)
        write_json(os.path.join(folder, "recall.json"), rows)
        with open(os.path.join(folder, "recall.md"), "w") as file:
            file.write("# Known mistakes in recordings\n\n" + "\n".join(table(rows)) + "\n")
    return 1 if any(row["false_alarms"] + row["wrong place"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(commands.guarded(main, sys.argv[1:]))
