"""The contract: what every ``frameworks/NAME/MODEL.py`` defines, in this order.

The six steps are what a reader compares; the other three functions tell the shared runner what it
may not guess. A module is plain functions and knows nothing of the runner.

==========  ==================================  ===================================================
function    arguments                           does
==========  ==================================  ===================================================
configure   lane, threads, seed                 set this framework's switches; return the settings
load        images, labels, settings            NumPy arrays (x, y) as this framework wants them
symbol      settings, hp                        the network, without an activation on its last layer
loss        network, settings, hp, weights      loss, optimiser, initial weights: the model
train       model, batches                      yield the loss of each step of one pass
predict     model, x                            what the network says of every row
evaluate    scores, labels                      accuracy in [0, 1]
weights     model                               the weights, canonical, as NumPy float32 arrays
wait        model                               return when the device has finished its work
==========  ==================================  ===================================================

Shapes and units
    images: (n, channels, height, width) float32, in [0, 1] but for probes.
    labels: (n,) int64, class numbers from 0.
    scores: (n, classes) float32.
    Where the model's task is to continue sequences, these three are sequences (n, steps, features),
    targets of the same shape (of a test sequence, twice as many steps), and values (n, 2 steps,
    features): as many steps again as it was given, each fed with the one before. ``evaluate`` gives
    their root mean square error.
    Where it is to find joints, targets are (n, joints, 3), x, y and whether the joint is visible,
    and joints (n, joints, 2). ``evaluate`` gives the mean distance of those that are visible.
    hp: one of ``common.networks.hyperparameters``, with the model's kind of optimiser.
    weights: dict of float32 arrays, names and shapes as in the model's description.
    batches: an iterable of (x, y), each ``hp.batch_size`` rows of what ``load`` returned.
    The losses that ``train`` yields are anything that ``float()`` reads. A framework that runs
    asynchronously yields them unread, so that reading is not timed as training; the step that a
    loss belongs to has been issued, and its weight update too, when the loss is yielded.
    model: whatever ``train`` and ``predict`` need; opaque to the caller.

Settings
    A flat dict of JSON values. ``device`` ("cpu" or a GPU's kind), ``layout`` ("NCHW", "NHWC", or
    "NTC" of sequences: of the arrays that ``load`` returns), ``precision`` ("float32") and
    ``threads`` are always there; ``ties`` is "all" where a pool gives the gradient to each of
    several equal maxima, and "shared" where it divides the gradient among them. ``adam_epsilon``
    and ``adam_scalars`` say how Adam differs by nature (``reference.Conventions``). ``products`` is
    "bfloat16" where factors and products are rounded to bfloat16; weights, updates and all
    arguments and results of these functions remain float32.
    The rest are switches in the framework's own terms, read back from it where it can tell.
    ``not_in_force`` lists those that were asked for but cannot act on this machine, such as cuDNN's
    autotune without a GPU.
"""

import inspect

from common.proof.reference import CHOICES
from common.system.modules import MIXED

SIGNATURES = {
    "configure": ("lane", "threads", "seed"),
    "load": ("images", "labels", "settings"),
    "symbol": ("settings", "hp"),
    "loss": ("network", "settings", "hp", "weights"),
    "train": ("model", "batches"),
    "predict": ("model", "x"),
    "evaluate": ("scores", "labels"),
    "weights": ("model",),
    "wait": ("model",),
}

LAYOUTS = ("NCHW", "NHWC", "NTC")
LANES = ("same", "best")  # of every framework; a few have another one
ALL_LANES = LANES + (MIXED,)
PRODUCTS = ("float32", "bfloat16")

REQUIRED_SETTINGS = ("device", "layout", "precision", "threads", "not_in_force")


def problems(module, task):
    """What keeps ``module`` from the contract, as a list of sentences; empty if it keeps it.

    task: the model's, which has its own words for what ``load`` and ``evaluate`` take.
    """
    problems = []
    words = {"images": task.observations, "labels": task.targets, "scores": task.outputs}
    for name, arguments in SIGNATURES.items():
        if getattr(getattr(module, name, None), "__module__", None) == module.__name__:
            arguments = tuple(words.get(argument, argument) for argument in arguments)
        function = getattr(module, name, None)
        if not inspect.isfunction(function):
            problems.append("%s() is missing" % name)
            continue
        if tuple(inspect.signature(function).parameters) != arguments:
            problems.append("%s() should take (%s)" % (name, ", ".join(arguments)))
        if not function.__doc__:
            problems.append("%s() has no docstring" % name)
    # A further model imports the steps that do not differ from its framework's first.
    own = [
        name
        for name in SIGNATURES
        if getattr(vars(module).get(name), "__module__", None) == module.__name__
    ]
    lines = [inspect.getsourcelines(getattr(module, name))[1] for name in own]
    if lines != sorted(lines):
        problems.append("the functions are not in the order " + ", ".join(SIGNATURES))
    return problems


def settings_problems(settings):
    """What is wrong with a settings dict that ``configure`` returned; empty if nothing is."""
    problems = ["setting %r is missing" % key for key in REQUIRED_SETTINGS if key not in settings]
    if settings.get("layout") not in LAYOUTS:
        problems.append("layout is %r, not %s" % (settings.get("layout"), " or ".join(LAYOUTS)))
    for key, choices in CHOICES._asdict().items():
        if settings.get(key, choices[0]) not in choices:
            problems.append("%s is %r, not %s" % (key, settings[key], " or ".join(choices)))
    if settings.get("products", "float32") not in PRODUCTS:
        problems.append("products is %r, not %s" % (settings["products"], " or ".join(PRODUCTS)))
    for key in settings.get("not_in_force", ()):
        if key not in settings:
            problems.append("%r is listed as not in force but is not a setting" % key)
    return problems
