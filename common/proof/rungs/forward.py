"""Rung forward: scores of ordinary images and of images 64 times as bright.

There are several batches, the last one partial. A failure names the first layer that is off.
Tokens cannot be made brighter, so a transformer is tested with a second set of weights instead:
the initial ones, which are small.
"""

from common.proof import mixed, probes
from common.system.modules import TF32

BRIGHT_IMAGES, LOCATED_IMAGES = 40, 64
# (trait of a model, what may be wrong if scores are off although all weights pass their input on).
SUSPECTS = (
    ("convolution", "padding"),
    ("pool", "pooling"),
    ("recurrent", "the state that a sequence begins with"),
    ("recurrent", "what running free is fed with"),
    ("batchnorm", "batch statistics in prediction"),
    ("embedding", "how numbers become rows of the embedding"),
    ("attention", "where normalisations are"),
    ("attention", "how positions are added"),
)


def checks(subject):
    """Scores of the gradient model before training."""
    oracle, images = subject.oracle, subject.oracle.test_images
    bright, _ = subject.task.bright(images[:BRIGHT_IMAGES], subject.task.none(BRIGHT_IMAGES))
    for what, part in (("scores", images), ("scores, bright", bright)):
        exact, allowed = oracle.scores(what, oracle.biased, part)
        model, _ = subject.gradient_model()
        check = subject.scores_check(what, exact, allowed, subject.scores(model, part))
        if not check.passed and not check.detail:
            if part is images:
                check.detail = subject.detail(first_layer_off, part[:LOCATED_IMAGES])
            else:
                check.detail = "bright images are off: look for an activation that clips"
        yield check
    if "attention" in subject.model.traits:
        yield from small(subject, images[:BRIGHT_IMAGES])
    if oracle.products == "bfloat16":
        yield from mixed.forward(oracle, subject.build, subject.scores)
    if oracle.products == TF32:
        yield from mixed.in_force(oracle, subject.build, subject.scores)


def small(subject, images):
    """Scores under the initial weights, which leave activations so small that an epsilon shows."""
    oracle = subject.oracle
    exact, allowed = oracle.scores("scores, small", oracle.weights, images)
    scores = subject.scores(subject.build(oracle.gradient_hp, oracle.weights), images)
    check = subject.scores_check("scores, small", exact, allowed, scores)
    if not check.passed and not check.detail:
        layer = subject.detail(first_layer_off, images, "small, ")
        check.detail = "small activations are off: look for an epsilon; " + layer
    yield check


def first_layer_off(subject, images, which=""):
    """Name the first layer that is off.

    Layers up to a given one get their real weights, and all later ones weights that only pass their
    input on. If such a network is off, so is one with more real layers: bisection finds the first.
    The real weights are the gradient model's, or the initial ones if ``which`` is "small, ".
    """
    real = subject.oracle.weights if which else subject.oracle.biased

    def off(layer):
        weights = probes.up_to(subject.model, layer, real)
        exact, allowed = subject.oracle.scores("%sup to %s" % (which, layer), weights, images)
        scores = subject.scores(subject.build(subject.oracle.gradient_hp, weights), images)
        return not subject.scores_check("", exact, allowed, scores).passed

    layers = list(probes.layers(subject.model))
    if off(None):
        sequences = {"recurrent", "embedding"} & subject.model.traits
        suspects = [what for trait, what in SUSPECTS if trait in subject.model.traits]
        suspects += [] if sequences else ["the flatten order", "height and width"]
        suspects += ["an activation after the last layer"]
        detail = "already off with weights that only pass the %s through: look at %s"
        return detail % ("sequence" if sequences else "image", ", ".join(suspects))
    if not off(layers[-1]):
        return "every layer is right on %d %s; are all rows there, and in their order?" % (
            len(images),
            subject.model.task.observations,
        )
    right, wrong = -1, len(layers) - 1
    while wrong - right > 1:
        middle = (right + wrong) // 2
        right, wrong = (right, middle) if off(layers[middle]) else (middle, wrong)
    return "the first layer off is %s" % layers[wrong]
