"""The page that says what a challenge asks, for people who have nothing but its folder."""

import shlex

import numpy as np

FIRST = 10  # numbers of a prediction that are told

NETWORKS = {
    "cnn": """\
Images (n, 3, 32, 32). Padding of 1 keeps height and width.

    conv1   3x3,  50 channels, then ReLU
    conv2   3x3,  50 channels, then ReLU
    max-pool 2x2, stride 2; dropout 1
    conv3   3x3, 100 channels, then ReLU
    conv4   3x3, 100 channels, then ReLU
    max-pool 2x2, stride 2; dropout 2
    flatten in the order channels, height, width: 6400 features
    dense1  512, then ReLU; dropout 3
    dense2   10""",
    "mlp": """\
Images (n, 1, 28, 28), flattened to 784 features.

    dense1  1000, then ReLU
    dense2  1000, then ReLU
    dense3    10""",
    "lenet5": """\
Images (n, 3, 32, 32). No padding.

    conv1   5x5,   6 channels, then sigmoid; max-pool 2x2, stride 2
    conv2   5x5,  16 channels, then sigmoid; max-pool 2x2, stride 2
    conv3   4x4, 120 channels, then sigmoid
    flatten in the order channels, height, width: 480 features
    dense1   84, then sigmoid
    dense2   10""",
    "mnist_cnn": """\
Images (n, 1, 28, 28). Padding of 1 keeps height and width.

    conv1   3x3, 10 channels, then ReLU; max-pool 2x2, stride 2
    flatten in the order channels, height, width: 1960 features
    dense1  100, then ReLU
    dense2   10""",
    "lstm": """\
Sequences (n, {steps}, 1), from a state of zeros each.

    dense1  5, at each step, without an activation
    lstm    5 units: a = W x + R h + b, where W is lstm.input.weight, R lstm.recurrent.weight, and
            b lstm.bias; the quarters of a are i, f, g, o, in this order (input, forget, cell,
            output); c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c)
    dense2  1, at each step

In training the gradient goes back over chunks of 10 steps: the state is carried from one chunk to
the next, the gradient is not. It is one step of the optimiser for a batch, with the gradient of all
its chunks.

In prediction a sequence of {steps} gives {values} values: one for each step, and then as many
again, where the network is fed with its own last value and goes on from its state.""",
    "resnet": """\
Images (n, 3, 32, 32). Convolutions have no bias; "norm" is batch normalisation.

    start.conv 3x3, 16 channels, padding 1; start.norm; ReLU
    4 stages of 2, 2, 3, 2 blocks, whose width w is 16, 32, 64, 128. A block is
        conv1 1x1, w channels; norm1; ReLU
        conv2 3x3, w channels, padding 1; norm2; ReLU
        conv3 1x1, 4 w channels; norm3
        plus the block's input; ReLU
    The first block of a stage has shortcut.conv 1x1, 4 w channels, and shortcut.norm, in place of
    its input. In the first block of stages 2, 3, 4 conv2 and shortcut.conv have a stride of 2.
    mean over height and width
    dense 10

Batch normalisation has an epsilon of 0.00001 inside the root, a weight and a bias for each channel.
In training it takes the batch's mean, and its variance divided by n. After that the running ones,
`.mean` and `.variance`, become 0.9 of themselves and 0.1 of the batch's, whose variance is divided
by {divisor}. Prediction takes the running ones. They are given and asked for like weights.""",
}

DIVISORS = {"unbiased": "n - 1", "biased": "n", "unbiased halves": "n - 2"}

LOSSES = {
    "classes": """\
The scores have no softmax. The loss is softmax cross-entropy, the mean over the batch, and exact
also where a label's probability rounds to 0.""",
    "values": """\
The loss is the squared error, the mean over all values of the batch.""",
}

TARGETS = {
    "classes": "float32, but for labels, which\nare int64 class numbers from 0",
    "values": "float32, sequences and targets\nalike (n, steps, 1)",
}

FIGURES = {
    "classes": "the share of the scores' rows whose highest is the label",
    "values": "the root of the mean squared difference",
}

DROPOUT = """\
In training, dropout sets each value on its own, anew in each step, to 0 with the probability that
`dropout` gives for its layer, and divides the others by 1 less that. In prediction nothing is
dropped. Any random generator will do; the same seed must give the same masks, which are read from
the weights."""

EDGES = {
    "convolution": """\
Convolutions are cross-correlations{stride}, kernels (out, in, height, width).""",
    "pool": "Of equal maxima in a pool, {ties} gets the gradient.",
    "relu": "The gradient of ReLU at 0 is 0.",
}

UPDATES = {
    True: """\
Gradient descent with momentum, from a velocity of 0 that lasts as long as the model:
`v = momentum * v - learning_rate * g`, `w = w + v`.{decay}""",
    False: """\
Adam: `m = beta1 * m + (1 - beta1) * g`, `v = beta2 * v + (1 - beta2) * g * g`, both from 0 and as
long as the model lasts; in its step t = 1, 2, ... both are corrected, `m / (1 - beta1**t)` and
`v / (1 - beta2**t)`; then `w = w - learning_rate * m / (sqrt(v) + epsilon)`{epsilon}.""",
}

DECAY = """ To the gradient of each
kernel and matrix `weight_decay * w` is added first; not to those of biases, nor in batch
normalisation."""

PAGE = """\
# A challenge: {title}

Is your port the same network? Build it, do what `challenge.json` says, and write what came of it
into one file, `answer.npz` or `answer.safetensors`. In the Rosetta Stone's repository

    tox run -e challenge -- check {folder} answer.npz

judges it against a float64 reference, with tolerances that float32's own rounding sets, and looks
for the cause of what is wrong. Answer as much as you can: what is missing is told, and the rest is
judged.

## The network

{network}

{edges}

{loss}

{update}

## The files

`challenge.npz` and `challenge.safetensors` hold the same arrays: {targets}.
([The format](https://github.com/huggingface/safetensors#format) of the second is easily read in any
language.) Equal arrays are stored once, so names are shared:
copy what training changes.

`challenge.json` names the arrays. Its `models` are built one after the other, each anew from its
`weights` ({{tensor: array}}), with its `hyperparameters`, and with its `seed` for random numbers,
if there are any. (`batch_size` is for ports that fix it; the arrays have it, too. A prediction may
have any number of rows.) Then each item of `do` in turn, which is one of these:

- `{{"predict": X, "answer": A}}`: the {outputs} {shape} of all of X, in prediction. Without
  `answer` nobody reads them; predict all the same, for the state that it leaves behind.
- `{{"train": [[X, Y], ...], "answer": A, "weights": {{"1": W}}}}`: one pass of training over these
  batches, a step for each, in this order. A is the loss (steps,) of each step, before its update;
  without `answer` nobody reads it. Where `weights` has the number of a step, counted from 1 in each
  pass, the weights after it are an answer, too.
- `{{"weights": W}}`: the weights as they are now.

At the end `evaluate` names `scores` and `targets` among the arrays, and asks for one number, of
shape (): {figure}.

An answer is stored under the name that is given for it, A; weights under `W/TENSOR`, such as
`{example}`. All are float32. A whole answer has {megabytes} MB.

What the models are for:

{models}

## A first look

Of the reference, to compare by eye. The first row of `gradient/{outputs}1`:

    {scores}

The loss of each step in `recipe/losses1` and `recipe/losses2`. Float32 strays from them step by
step; the reference's own is off by up to {strays:.0e}:

    {losses}
"""

MODELS = {
    "probe": "hand-made weights: the order of the batches, and the masks of dropout, if any",
    "gradient": "scores; then one step with learning rate 1, which shows the gradient",
    "bright": "a network that is certain: a step that must move nothing, and then a loud one",
    "uneven": "a step in which each ReLU is open for bright images and shut for others",
    "momentum": "three steps with other hyperparameters, in two passes",
    "recipe": "20 steps with the recipe's hyperparameters, in two passes, without dropout",
    "probe_again": "as `probe`: the same seed gives the same masks",
    "probe_other_seed": "another seed gives other masks",
    "layer_none": "weights that only hand their input on",
    "layer_...": "real weights up to this layer, so that the first one that is off shows",
}


def page(description, script, folder, scores, judged, size):
    """The text of a challenge's README.

    scores: of the first image; judged: what came of the reference; size: of an answer, in bytes.
    """
    told = [entry["name"] for entry in script["models"]]
    lines = [
        "- `%s`: %s." % (name, what)
        for name, what in MODELS.items()
        if name in told or name == "layer_..."
    ]
    losses, rounded = judged["losses"]["reference"], judged["losses"]["reference_float32"]
    rows = [losses[first : first + 5] for first in range(0, len(losses), 5)]
    names, edges = script["named"], ["Dense weights are (out, in)."]
    strided = "batchnorm" in description.traits
    if "convolution" in description.traits:
        stride = "" if strided else " with a stride of 1"
        edges.append(EDGES["convolution"].format(stride=stride))
    if not {"sigmoid", "lstm"} & description.traits:
        edges.append(EDGES["relu"])
    if "pool" in description.traits:
        ties = {"one": "the first by rows alone", "all": "each"}[names["ties"]]
        edges.append(EDGES["pool"].format(ties=ties))
    hat = names["adam_epsilon"] == "uncorrected"
    epsilon = ", where epsilon is added to sqrt(v) before that is corrected" if hat else ""
    losing = LOSSES[description.task.name] + (
        "\n\n" + DROPOUT if "dropout" in description.traits else ""
    )
    return PAGE.format(
        title=description.title,
        folder=shlex.quote(folder),
        network=NETWORKS[description.name].format(
            steps=description.observation[0],
            values=2 * description.observation[0],
            divisor=DIVISORS[names["running_variance"]],
        ),
        edges=" ".join(edges),
        loss=losing,
        update=UPDATES["momentum" in description.traits].format(
            epsilon=epsilon, decay=DECAY if hasattr(description.hp, "weight_decay") else ""
        ),
        targets=TARGETS[description.task.name],
        shape="(%s)" % ", ".join(["n"] + [str(size) for size in np.shape(scores)]),
        figure=FIGURES[description.task.name],
        example="gradient/after1/" + next(iter(description.shapes)),
        megabytes=-(-size // 10**6),
        models="\n".join(lines),
        outputs=description.task.outputs,
        scores=" ".join("%.6f" % score for score in np.ravel(scores)[:FIRST]),
        strays=max(abs(a - b) for a, b in zip(losses, rounded)),
        losses="\n    ".join(" ".join("%.6f" % loss for loss in row) for row in rows),
    )
