"""The contract: what every ``frameworks/NAME/MODEL.py`` defines, in this order.

Readers compare the six steps; the shared runner needs the other three functions. A module consists
of plain functions and knows nothing of the runner.

==========  ==================================  ===================================================
function    arguments                           does
==========  ==================================  ===================================================
configure   lane, threads, seed                 set this framework's switches; return the settings
load        images, labels, settings            NumPy arrays (x, y) as this framework wants them
symbol      settings, hp                        the network, without an activation on its last layer
loss        network, settings, hp, weights      loss, optimiser, initial weights: the model
train       model, batches                      yield the loss of each step of one pass
predict     model, x                            the network's output for every row
evaluate    scores, labels                      accuracy in [0, 1]
weights     model                               copies of the weights, canonical, NumPy's float32
wait        model                               return when the device has finished its work
==========  ==================================  ===================================================

Shapes and units
    images: (n, channels, height, width) float32, in [0, 1] except in probes.
    labels: (n,) int64, class numbers from 0.
    scores: (n, classes) float32.
    A model that continues sequences has these instead: sequences (n, steps, features); targets of
    the same shape, with twice as many steps for a test sequence; values (n, 2 steps, features),
    whose second half is free-running: each step is fed with the previous value. ``evaluate`` gives
    their root mean square error.
    A model of texts has tokens (n, steps) int64, targets of the same shape, and scores of each
    place, (n, steps, words). In prediction it has scores (n, steps + steps // 2, words): those of
    the given places, then those of the tokens with which it continues the text's first half.
    A model that finds joints has targets (n, joints, 3): x, y and whether the joint is visible; and
    joints (n, joints, 2). ``evaluate`` gives the mean distance of the visible ones.
    hp: one of ``common.networks.hyperparameters``, with the model's kind of optimiser.
    weights: dict of float32 arrays, names and shapes as in the model's description.
    batches: (x, y) one after the other, to be read once, each ``hp.batch_size`` rows of ``load``.
    The losses that ``train`` yields are anything that ``float()`` accepts. An asynchronous
    framework yields them unread, so that waiting for them is not timed as training. When a loss is
    yielded, its step and its weight update have been issued.
    model: whatever ``train`` and ``predict`` need; opaque to the caller.

Settings
    A flat dict of JSON values. Always there: ``device`` ("cpu" or a GPU's kind), ``layout`` (of the
    arrays that ``load`` returns: "NCHW", "NHWC", "NTC" or "NT"), ``precision`` ("float32")
    and ``threads``. ``ties`` is "all" if a pool gives the gradient to each of several equal maxima,
    and "shared" if it divides the gradient among them. ``adam_epsilon`` and ``adam_scalars`` name
    conventions of Adam (``reference.Conventions``). ``products`` is "bfloat16" if factors and
    products are rounded to bfloat16, and "tf32" if factors are rounded to TF32; weights, updates
    and all arguments and results of these functions remain float32.
    The rest are switches in the framework's own terms, read back from it where possible.
    ``not_in_force`` lists those that cannot act on this machine, such as cuDNN's autotune without a
    GPU.
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

LAYOUTS = ("NCHW", "NHWC", "NTC", "NT")
LANES = ("same", "best")  # every framework has these; some have some of MIXED too
ALL_LANES = LANES + tuple(MIXED)
PRODUCTS = ("float32",) + tuple(MIXED.values())

REQUIRED_SETTINGS = ("device", "layout", "precision", "threads", "not_in_force")


def problems(module, task):
    """How ``module`` breaks the contract, as a list of sentences; empty if it keeps it.

    task: the model's; it names the arguments of ``load`` and ``evaluate``.
    """
    problems = []
    words = {"images": task.observations, "labels": task.targets, "scores": task.outputs}
    for name, usual in SIGNATURES.items():
        function = getattr(module, name, None)
        arguments = tuple(words.get(argument, argument) for argument in usual)
        imported = getattr(function, "__module__", None) != module.__name__
        if not inspect.isfunction(function):
            problems.append("%s() is missing" % name)
            continue
        taken = tuple(inspect.signature(function).parameters)
        # A step that is imported may have the words of the model that it was written for.
        if taken != arguments and not (imported and taken == usual):
            problems.append("%s() should take (%s)" % (name, ", ".join(arguments)))
        if not function.__doc__:
            problems.append("%s() has no docstring" % name)
    # Modules of further models import the steps that they share with the framework's first.
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
    """What is wrong with the settings that ``configure`` returned; empty if nothing is."""
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
