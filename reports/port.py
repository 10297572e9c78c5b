"""My port is off: the symptoms, the rung that catches each, the causes, and the right lines.

The causes are the mistakes planted in the modules, with the rung that caught each, and those that
the diagnosis of a challenge replays in the reference.
"""

import difflib
from collections import namedtuple

import frameworks
from common.challenge import causes, hypotheses
from common.mistakes import catalogue
from common.networks.cnn import CNN
from common.system import modules as loader
from common.system import source
from common.system.patches import by_file, patched
from reports import tables

Symptom = namedtuple("Symptom", "rung title proves look causes traps")
Symptom.__doc__ = """What you see if your port is off.

rung: the one that fails, and nothing before it.
title: the symptom.
proves: what the rung compares.
look: where to look first.
causes: [(name, what it is, key of the row with the right line, how often it was caught here)].
traps: [(module, line, name, [(wrong lines, right lines)])], each framework's own.
"""

# rung: (the symptom, what the rung compares, where to look)
RUNGS = {
    "data": (
        "The first batch already looks different",
        "batches are the same bytes, in their order",
        "Compare a checksum of the first batch before anything else.",
    ),
    "weights": (
        "Weights that are read back are not those that were put in",
        "put in and taken out, weights are equal bit for bit",
        "Put in random weights, biases too: zeros hide a bias that was lost.",
    ),
    "forward": (
        "Off before any step: the untrained network's scores differ",
        "the scores of 300 images, and of images 64 times as bright",
        "Hand an image through weights that change nothing, then real ones layer by layer: the "
        "challenge does that, and says which layer is the first that is off.",
    ),
    "gradient": (
        "Off at step 1: the scores agree, the weights after one step do not",
        "every weight after a step with learning rate 1 and no momentum, which shows the gradient",
        "Does the first loss agree? If not, look at the loss. If it does, divide your update by "
        "the right one: 64 times too much is a sum over the batch, a tenth a mean over the ten "
        "classes, too. If only some tensors are off, the error lies where the gradient passes "
        "before them.",
    ),
    "momentum": (
        "The gradient is right, and the update is not: off at step 1 with momentum, or at step 2",
        "every weight after each of three steps, and the updates after sixty more",
        "Divide your first update by the right one: 1 + momentum is Nesterov's, 1 - momentum that "
        "of unit gain. Equal at step 1 and off at step 2: dampening, gradients that are never "
        "reset, or a velocity that is.",
    ),
    "trajectory": (
        "The first steps agree, and the losses part later",
        "the loss of each of 20 steps, dropout off; models do not disturb each other",
        "From the sixth step on float32 itself strays; more than the grey line in the figure of "
        "distances is a mistake.",
    ),
    "dropout": (
        "All agrees without dropout, and with it training goes another way",
        "the fraction kept, the scale, and fresh masks in each layer, step and pass; none in "
        "prediction",
        "Is the argument the fraction dropped, or the fraction kept? Is training switched on?",
    ),
    "accuracy": (
        "The losses agree, and the accuracy does not",
        "the scores after 20 steps, and how rows are counted",
        "Predict in the prediction mode, all rows, with the weights that were just trained.",
    ),
}

# {mistake that can be made in any framework: the row with the right line}.
MENDS = {
    "height_and_width_swapped": "images",
    "labels_off_by_one": "labels",
    "own_batch_order": "loop",
    "biases_not_zero": "weights-in",
    "biases_ignored": "weights-in",
    "claims_bfloat16": "precision",
    "rows_of_a_prediction_out_of_order": "batches",
    "last_partial_batch_lost": "batches",
    "scores_in_half_precision": "precision",
    "kernel_flipped": "weights-in",
    "biases_swapped": "weights-in",
    "channels_last_flatten": "flatten",
    "learning_rate_written_in": "optimiser",
    "bias_decay": "optimiser",
    "bias_lost_on_the_way_back": "backward",
    "probability_clipped": "loss-function",
    "weight_decay_on_kernels": "optimiser",
    "convolution_backward_in_tf32": "precision",
    "gradient_clipped": "update",
    "loss_summed": "loss-function",
    "batch_size_written_in": "loss-function",
    "velocity_reset_each_pass": "optimiser",
    "nesterov": "optimiser",
    "scaled_gradient": "optimiser",
    "momentum_written_in": "optimiser",
    "stops_early": "loop",
    "learning_rate_falls_late": "optimiser",
    "state_lost_late": "optimiser",
    "weights_averaged_every_thirty_steps": "optimiser",
    "lookahead_every_twenty_five_steps": "optimiser",
    "learning_rate_restarts_at_forty_steps": "optimiser",
    "models_share_state": "optimiser",
    "predicts_with_the_model_built_last": "train-off",
    "losses_rounded": "loss-out",
    "predicts_with_stale_weights": "train-off",
    "rate_taken_for_keep": "rates",
    "rates_exchanged": "rates",
    "dropout_forgotten": "train-on",
    "seed_ignored": "seed",
    "seed_from_the_clock": "seed",
    "prediction_drops_in_last_partial_batch": "train-off",
    "images_flipped_with_dropout_on": "train-on",
    "half_of_the_rows_counted": "accuracy",
    "two_highest_counted": "accuracy",
    "labels_off_in_evaluation": "accuracy",
}


def words(name):
    """A mistake's name for people."""
    return name.replace("_", " ")


def symptoms(modules):
    """[Symptom], in the order of the rungs."""
    environments = tables.planted(CNN)
    all_symptoms = []
    for rung, (title, proves, look) in RUNGS.items():
        general = []
        for mistake in catalogue.mistakes(CNN):
            if mistake.rung == rung:
                caught = [
                    environment["outside"].get(mistake.name)
                    for environment in environments.values()
                ]
                caught = [pair for pair in caught if pair]
                seen = sum(1 for _, at in caught if at)
                says = " ".join((mistake.make.__doc__ or "").split("\n\n")[0].split())
                times = "%d of %d" % (seen, len(caught)) if caught else "not planted"
                general.append((mistake.name, says, MENDS[mistake.name], times))
        traps = [trap for module in modules for trap in _traps(module, rung, environments)]
        all_symptoms.append(Symptom(rung, title, proves, look, general, traps))
    return all_symptoms


def _traps(module, rung, environments):
    """A framework's own traps that a rung catches: as lines of its module, wrong and right."""
    traps = []
    for trap in loader.traps(module.key, CNN.name):
        caught = environments.get(module.key, {}).get("own", {}).get(trap.name, [None, None])[1]
        if (caught or trap.rung) != rung:
            continue
        hunks, first = [], 1
        for path, patches in by_file(trap.patches, module.path).items():
            right = source.read(path).splitlines()
            wrong = patched("\n".join(right) + "\n", patches, trap.name).splitlines()
            matcher = difflib.SequenceMatcher(None, wrong, right, autojunk=False)
            changes = [c for c in matcher.get_opcodes() if c[0] != "equal"]
            hunks += [(wrong[a:b], right[c:d]) for _, a, b, c, d in changes]
            if path == module.path:
                first = max(1, min(changes[0][3] + 1, len(right)))
        traps.append((module, first, trap.name, hunks))
    return traps


def known():
    """The causes that the diagnosis replays in the reference, as sentences in two groups."""
    module = causes.plain(CNN, loader.load(frameworks.REFERENCE))
    return {
        "scores": [cause.says for cause in hypotheses.scores(CNN, module)],
        "steps": [cause.says for cause in hypotheses.steps(CNN, None, CNN.hp)],
    }


def losses(used):
    """The reference's losses of the CNN's trajectory, from a committed certificate, or [].

    A challenge's ``recipe`` model has the same ones: batches and weights are the same everywhere.
    """
    own = tables.latest(tables.of_model(used.runs, CNN))
    return own[0].result["certificate"]["losses"]["reference"] if own else []
