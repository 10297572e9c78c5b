"""A challenge's README, for people who only have its folder."""

import shlex

import numpy as np

from common.challenge import optional
from common.proof import tasks
from common.proof.reference import applicable

FIRST = 10  # numbers of a prediction that the page shows

DIVISORS = {"unbiased": "n - 1", "biased": "n", "unbiased halves": "n - 2"}

LOSSES = {
    "classes": """\
The scores have no softmax. The loss is softmax cross-entropy, the mean over the batch; it must be
exact even if a label's probability rounds to 0.""",
    "values": """\
The loss is the squared error, the mean over all values of the batch.""",
    "tokens": """\
The scores have no softmax. The loss is softmax cross-entropy, the mean over all targets of the
batch{ignored}.""",
}
IGNORED = """ that count: a target of -100 does not. It has no loss and no gradient, and is not
counted in the mean"""

TARGETS = {
    "classes": "float32, except labels, which\nare int64 class numbers from 0",
    "tokens": "float32, except sequences and\ntargets, which are int64 (n, steps)",
    "values": "float32, sequences and targets\nalike (n, steps, 1)",
}

FIGURES = {
    "classes": "the share of the scores' rows whose highest is the label",
    "values": "the root of the mean squared difference",
    "tokens": "the loss of the scores of the given places, the first ones",
}

DROPOUT = """\
In training, dropout sets each value to 0 with the probability that `dropout` gives for its layer,
independently of all other values and again in each step, and divides the values that it keeps by 1
minus that probability. In prediction nothing is dropped. The network's own rates, in order, are
{rates}; most models of the challenge have others. Any random generator will do, but the same
seed must give the same masks. The check reads the masks from the weights."""

DETAILS = {
    "convolution": """\
Convolutions are cross-correlations{stride}, kernels (out, in, height, width).""",
    "pool": "Of equal maxima in a pool, {ties}.",
    "relu": "The gradient of ReLU at 0 is 0.",
}
TIES = {
    "one": "only the first one, row by row, gets the gradient",
    "all": "each gets the gradient",
    "shared": "each gets an equal part of the gradient",
}

UPDATES = {
    True: """\
Gradient descent with momentum; the velocity starts at 0 and lives as long as the model:
`v = momentum * v - learning_rate * g`, `w = w + v`.{decay}""",
    False: """\
Adam: `m = beta1 * m + (1 - beta1) * g`, `v = beta2 * v + (1 - beta2) * g * g`, both start at 0
and live as long as the model; in step t = 1, 2, ... both are corrected, `m / (1 - beta1**t)` and
`v / (1 - beta2**t)`; then `w = w - learning_rate * m / (sqrt(v) + epsilon)`{epsilon}.""",
}

ADAMW = """\
In step t = 1, 2, ... of a model:

1. If the norm of all gradients together, the root of the sum of their squares, is above `clip`, all
   are multiplied by `clip` divided by the norm. A weight that is used twice is counted once, with
   the sum of its gradients.
2. The rate r is `learning_rate * t / warmup` for t <= `warmup`. After that it is
   `last_rate + (learning_rate - last_rate) * (1 + cos(pi * p)) / 2`, where p is
   `(t - 1 - warmup) / (steps - warmup)`, at most 1.
3. Every tensor of two dimensions, embeddings too, is multiplied by `1 - r * weight_decay`. Biases
   and the weights of normalisations are not.
4. `m = beta1 * m + (1 - beta1) * g`, `v = beta2 * v + (1 - beta2) * g * g`; both start at 0 and
   live as long as the model. Both are corrected, `m / (1 - beta1**t)` and `v / (1 - beta2**t)`;
   then `w = w - r * m / (sqrt(v) + epsilon)`{epsilon}."""

DECAY = """ Before that,
`weight_decay * w` is added to the gradient of each kernel and matrix, but not to the gradients of
biases and of batch normalisation."""

PAGE = """\
# A challenge: {title}

Is your port the same network? Build it, do what `challenge.json` says, and write the results into
one file, `answer.npz` or `answer.safetensors`. In the Rosetta Stone's repository, this command

    tox run -e challenge -- check {folder} answer.npz

compares it with a float64 reference, with tolerances set by float32's own rounding, and looks for
the causes of errors. Answer as much as you can: the check lists the missing answers and judges the
rest.

## The network

{network}

{details}

{loss}

{update}

The challenge was written for these conventions, which `--named` chooses:

{conventions}

## The files

`challenge.npz` and `challenge.safetensors` hold the same arrays: {targets}.
([The second format](https://github.com/huggingface/safetensors#format) is easy to read in any
language.) Equal arrays are stored once, so names are shared: copy an array before training changes
it.

`challenge.json` names the arrays. Build its `models` one after the other, each from its own
`weights` ({{tensor: array}}) and `hyperparameters`, with its `seed` for random numbers, if there
are any. (`batch_size` is for ports that fix it; the arrays have the same size. A prediction may
have any number of rows.) Then do each item of `do` in turn:

- `{{"predict": X, "answer": A}}`: the {outputs} {shape} of all of X, in prediction. Without
  `answer` nobody reads them, but predict anyway, because it may change the model's state.
- `{{"train": [[X, Y], ...], "answer": A, "weights": {{"1": W}}}}`: one pass of training over these
  batches, a step for each, in this order. A is the loss (steps,) of each step, before its update;
  without `answer` nobody reads it. If `weights` has the number of a step, counted from 1 in each
  pass, also store the weights after that step.
{generate}- `{{"weights": W}}`: the weights as they are now.

At the end `evaluate` names `scores` and `targets` among the arrays, and asks for one number, of
shape (): {figure}.

Store an answer under its name A, and weights under `W/TENSOR`, such as
`{example}`. All are float32, and computed in float32: answers
computed in float64 may fail `trajectory`. (Each result must be float32; sums may be float64.)

A complete answer is {megabytes} MB, but {decide} MB are enough for a verdict. Begin with the
losses, the number of `evaluate`, and the scores of all models except `layer_...`, {first} MB
together. (The scores of `layer_...` only show which layer is wrong.) Then add the weights after
each step of `gradient` and of the other models. The parts below are optional. Each proves one more
rung:

{optional}

The purpose of the models, with the size of their answers:

{models}

## A first look

Some of the reference's results, to compare by eye. The first row of `gradient/{outputs}1`:

    {scores}

The loss of each step in `recipe/losses1` and `recipe/losses2`. Float32 drifts away from them step
by step; the reference itself, in float32, is off by up to {strays:.0e}:

    {losses}
"""

GENERATE = """\
- `{{"generate": X, "answer": A}}`: scores (n, {all}, {words}). First the scores of all {steps}
  places of X. Then generate {half} tokens that continue the first {half} of each text: each new
  token is the likeliest one after those before it. Append the scores that each new token gives for
  the next one. If your port has a cache of keys and values, use it: that is what this tests.
"""

MODELS = {
    "probe": "hand-made weights: the order of the batches, and the masks of dropout, if any",
    "gradient": "scores; then one step with learning rate 1, which shows the gradient",
    "small": "scores with small weights, where an epsilon shows",
    "bright": "saturated scores: a step that must move nothing, then one with a large gradient",
    "uneven": "a step in which each ReLU is active for bright images and zero for the others",
    "momentum": "three steps with other hyperparameters, in two passes",
    "schedule": "eight steps beyond the end of the schedule; no gradient is clipped",
    "recipe": "20 steps with the recipe's hyperparameters, in two passes, without dropout",
    "probe_again": "as `probe`: the same seed gives the same masks",
    "probe_other_seed": "another seed gives other masks",
    "generation": "tokens that are generated, with a cache",
    "layer_none": "weights that pass their input on",
    "layer_...": "real weights up to this layer, to find the first layer that is wrong",
}

OPTIONAL = {
    "weights": "the weights of `gradient` before its first step",
    "dropout": "the weights of `probe`, `probe_again` and `probe_other_seed`",
    "accuracy": "the weights and the scores of `recipe` at its end",
}

CONVENTIONS = {
    "adam_epsilon": "epsilon is added to the root of the {} mean square",
    "adam_scalars": "the precision of Adam's 1 - beta and of its bias corrections",
    "running_variance": "the divisor of the batch's variance in the running one",
    "ties": "who gets the gradient of equal maxima in a pool",
    "variance": "the formula of a batch's variance",
}


def megabytes(sizes):
    """The sum of some sizes in bytes, in MB with two digits."""
    total = sum(sizes) / 1e6
    return ("%.2g" if total < 10 else "%.0f") % total


def generation(description):
    """The action that generates tokens, in words; "" if there is none."""
    if "attention" not in description.traits:
        return ""
    task = tasks.of(description)
    places, words = task.returned
    return GENERATE.format(all=places, words=words, steps=task.steps, half=task.half)


def purposes(challenge, sizes):
    """A line for each model of the challenge: its purpose, and the size of its answers."""
    present = [entry["name"] for entry in challenge["models"]] + ["layer_..."]
    for name, purpose in MODELS.items():
        if name in present:
            start = name[: -len("...")] if name == "layer_..." else name + "/"
            size = megabytes([s for n, s in sizes.items() if n.startswith(start)])
            yield "- `%s` (%s MB): %s." % (name, size, purpose)


def details(description, conventions):
    """The layers' details in words."""
    traits, sentences = description.traits, ["Dense weights are (out, in)."]
    if "convolution" in traits:
        stride = "" if "batchnorm" in traits else " with a stride of 1"
        sentences.append(DETAILS["convolution"].format(stride=stride))
    if not {"sigmoid", "recurrent", "gated", "attention"} & traits:
        sentences.append(DETAILS["relu"])
    if "pool" in traits:
        sentences.append(DETAILS["pool"].format(ties=TIES[conventions["ties"]]))
    return " ".join(sentences)


def loss(description):
    """The loss in words, and dropout, if any."""
    ignored = IGNORED if "ignored" in description.traits else ""
    text = LOSSES[description.task.name].format(ignored=ignored)
    if "dropout" in description.traits:
        rates = ", ".join("%g" % rate for rate in description.hp.dropout)
        text += "\n\n" + DROPOUT.format(rates=rates)
    return text


def update(description, conventions):
    """The optimiser in words."""
    hat = conventions["adam_epsilon"] == "uncorrected"
    epsilon = ", where epsilon is added to sqrt(v) before that is corrected" if hat else ""
    decay = DECAY if hasattr(description.hp, "weight_decay") else ""
    momentum = "momentum" in description.traits
    text = ADAMW if "schedule" in description.traits else UPDATES[momentum]
    return text.format(epsilon=epsilon, decay=decay)


def render(description, challenge, folder, scores, judged, shapes):
    """The text of a challenge's README.

    scores: the first image's. judged: the verdict on the reference. shapes: {answer: shape}.
    """
    conventions = challenge["named"]
    sizes = {name: 4 * int(np.prod(shape)) for name, shape in shapes.items()}
    late = "/after", "layer_"
    small = [size for name, size in sizes.items() if not any(part in name for part in late)]
    decide, left = optional.parts(sizes, description)
    losses, rounded = judged["losses"]["reference"], judged["losses"]["reference_float32"]
    rows = [losses[first : first + 5] for first in range(0, len(losses), 5)]
    return PAGE.format(
        title=description.title,
        folder=shlex.quote(folder),
        network=description.challenge.format(
            steps=description.observation[0],
            values=2 * description.observation[0],
            divisor=DIVISORS[conventions["running_variance"]],
        ),
        details=details(description, conventions),
        loss=loss(description),
        update=update(description, conventions),
        generate=generation(description),
        targets=TARGETS[description.task.name],
        shape="(%s)" % ", ".join(["n"] + [str(size) for size in np.shape(scores)]),
        figure=FIGURES[description.task.name],
        example="gradient/after1/" + next(iter(description.shapes)),
        megabytes=megabytes(sizes.values()),
        first=megabytes(small),
        decide=megabytes(sizes[name] for name in decide),
        optional="\n".join(
            "- %s: %s (%s MB)." % (rung, OPTIONAL[rung], megabytes(sizes[name] for name in part))
            for rung, part in left.items()
        ),
        conventions="\n".join(
            "- `%s=%s`: %s." % (key, conventions[key], CONVENTIONS[key].format(conventions[key]))
            for key in applicable(description)
        )
        or "- none: no convention concerns this network.",
        models="\n".join(purposes(challenge, sizes)),
        outputs=description.task.outputs,
        scores=" ".join("%.6f" % score for score in np.ravel(scores)[:FIRST]),
        strays=max(abs(a - b) for a, b in zip(losses, rounded)),
        losses="\n    ".join(" ".join("%.6f" % value for value in row) for row in rows),
    )
