"""The page that says what a challenge asks, for people who have nothing but its folder."""

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
}

LOSSES = """\
The scores have no softmax; the loss is softmax cross-entropy, the mean over the batch. Dropout sets
a value to 0 with the probability that `dropout` gives for its layer, and divides the others by 1
less that; in prediction nothing is dropped."""

UPDATES = {
    True: """\
Gradient descent with momentum, from a velocity of 0: `v = momentum * v - learning_rate * g`,
`w = w + v`.""",
    False: """\
Adam: `m = beta1 * m + (1 - beta1) * g`, `v = beta2 * v + (1 - beta2) * g * g`; both are corrected,
`m / (1 - beta1**t)` and `v / (1 - beta2**t)` in step t = 1, 2, ...; then
`w = w - learning_rate * m / (sqrt(v) + epsilon)`.""",
}

PAGE = """\
# A challenge: {title}

Is your port the same network? Build it, do what `challenge.json` says, and write what came of it
into one file, `answer.npz` or `answer.safetensors`. The answer is judged with

    tox run -e challenge -- check {folder} answer.npz

against a float64 reference, with tolerances that float32's own rounding sets. Answer as much as you
can: what is missing is told, and the rest is judged.

## The network

{network}

Convolutions are cross-correlations, kernels (out, in, height, width); dense weights are (out, in).

{loss} {update}

## The files

`challenge.npz` and `challenge.safetensors` hold the same arrays: float32, but for labels, which
are int64 class numbers from 0. `challenge.json` names them. Its `models` are built one after the
other, each anew from its `weights` ({{tensor: array}}), with its `hyperparameters`, and with its
`seed` for the random numbers of dropout. Then each item of `do` in turn:

- `{{"predict": X, "answer": A}}`: the scores of all of X, in prediction. Without `answer` nobody
  reads them; predict all the same, for the state that it leaves behind.
- `{{"train": [[X, Y], ...], "answer": A, "weights": {{"1": W}}}}`: one pass of training over these
  batches, a step for each, in this order. A is the loss of each step, before its update. Where
  `weights` names a step of the pass, the weights after it are an answer, too.
- `{{"weights": W}}`: the weights as they are now.

An answer's array has the name that is given here: A as it stands; for weights `W/TENSOR`, such as
`{example}`. All are float32. `evaluate` at the end asks for one number: the share of `scores` whose
highest is its label.

What the models are for:

{models}

## A first look

Of the reference, to compare by eye. Scores of the first image in `gradient/{outputs}1`:

    {scores}

The loss of each step in `recipe/losses1` and `recipe/losses2`:

    {losses}
"""

MODELS = {
    "probe": "hand-made weights: the order of the batches, and the masks of dropout",
    "gradient": "scores; then one step with learning rate 1, which shows the gradient",
    "bright": "a network that is certain: a step that must move nothing, and then a loud one",
    "momentum": "three steps with other hyperparameters, in two passes",
    "recipe": "20 steps with the recipe's hyperparameters, in two passes, without dropout",
    "probe_again": "as `probe`: the same seed gives the same masks",
    "probe_other_seed": "another seed gives other masks",
    "layer_none": "weights that only hand the image on",
    "layer_...": "real weights up to this layer, so that the first one that is off shows",
}


def page(description, script, folder, scores, losses):
    """The text of a challenge's README.

    scores: of the first image; losses: of the 20 steps.
    """
    told = [entry["name"] for entry in script["models"]]
    lines = [
        "- `%s`: %s." % (name, what)
        for name, what in MODELS.items()
        if name in told or name == "layer_..."
    ]
    rows = [losses[first : first + 5] for first in range(0, len(losses), 5)]
    return PAGE.format(
        title=description.title,
        folder=folder,
        network=NETWORKS[description.name],
        loss=LOSSES,
        update=UPDATES["momentum" in description.traits],
        example="gradient/after1/" + next(iter(description.shapes)),
        models="\n".join(lines),
        outputs=description.task.outputs,
        scores=" ".join("%.6f" % score for score in scores),
        losses="\n    ".join(" ".join("%.6f" % loss for loss in row) for row in rows),
    )
