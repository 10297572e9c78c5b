"""Find the frameworks' modules by name, and import them."""

import importlib.util
import os
import sys
import types
from collections import OrderedDict

import frameworks
from common import networks
from common.system import machine, mkl
from common.system.errors import InputError
from common.system.files import ROOT, atomic_write, cache_folder
from common.system.patches import by_file, patched
from common.system.source import texts_sha256
from frameworks import variants

# The lanes whose products have fewer digits, each with a file of its name, and those digits.
TF32 = "tf32"
MIXED = OrderedDict([("bf16", "bfloat16"), (TF32, TF32)])
# The file with a tutorial's script of the CNN, which benches time beside the lanes, unproven.
PLAIN = "plain"


def find(name, model="cnn"):
    """The facts of the framework called ``name``; InputError lists the known frameworks.

    If the framework has no module for the model, InputError lists the frameworks that have one.
    """
    if name not in frameworks.ENVIRONMENTS:
        known = ", ".join(frameworks.ENVIRONMENTS)
        raise InputError("unknown framework %r; known: %s" % (name, known))
    if not has(name, model):
        others = ", ".join(other for other in frameworks.ENVIRONMENTS if has(other, model))
        raise InputError(
            "%s has no network %r; these have it: %s" % (name, model, others or "none")
        )
    return frameworks.ENVIRONMENTS[name]


def has(name, model):
    """Whether the environment has a module for the model."""
    environment = frameworks.ENVIRONMENTS[name]
    present = os.path.isfile(os.path.join(ROOT, path(environment, model)))
    return present and networks.file(model) not in environment.without


def path(framework, model="cnn"):
    """A framework's file for a model of any size, relative to the project's root."""
    return frameworks.path(framework, networks.file(model))


def models(name):
    """The models for which the framework has a module."""
    return [model for model in networks.MODELS.values() if has(name, model.name)]


def _optional(name, file, attribute, default=()):
    """``attribute`` of ``file`` in the framework's folder; the default if there is no such file."""
    if not has(name, file):
        return default
    module = path(frameworks.ENVIRONMENTS[name], file)[: -len(".py")].replace("/", ".")
    return getattr(importlib.import_module(module), attribute)


def levers(name, model="cnn"):
    """{name: ``variants.Lever``} of a framework's network."""
    needs_gpu = frameworks.ENVIRONMENTS[name].gpu
    return OrderedDict(
        (lever.name, lever)
        for lever in variants.MEMORY + _optional(name, "variants", "LEVERS", [])
        if lever.model == model and (name in lever.only if lever.only else not needs_gpu)
    )


def find_lever(name, lever, model="cnn"):
    """The lever of this name; InputError lists the known ones."""
    known = levers(name, model)
    if lever not in known:
        listed = ", ".join(known) or "none"
        raise InputError("%s has no lever %r; known: %s" % (name, lever, listed))
    return known[lever]


def lessons(name):
    """{a lesson's mistake: patches of the framework's CNN}."""
    return _optional(name, "variants", "LESSONS", {})


def traps(name, model):
    """[``variants.Trap``] of a framework's network."""
    known = _optional(name, "traps", "TRAPS")
    return [trap for trap in known if trap.model == model and name in (trap.only or [name])]


def causes(name):
    """{a framework's trap: pattern of the causes that name it in a challenge's diagnosis}."""
    return _optional(name, "challenge", "CAUSES", {})


def environ(name, lane, lever="", model="cnn"):
    """The environment variables for a process of this framework and lane."""
    framework, variables = find(name), {}
    if lane not in ("same", PLAIN):
        variables.update(machine.KEEP_FREED_MEMORY, **framework.best_environ)
        if machine.is_amd():
            variables.update(framework.amd_environ)
            variables.update(mkl.preloaded() if framework.newer_mkl else {})
    if lever:
        variables.update(find_lever(name, lever, model).environ)
    return variables


def load(name, model="cnn", lever=""):
    """Import and return the framework's module for ``model``, which has the six steps.

    lever: the name of a lever to pull, if any.
    """
    framework = find(name, model)
    wanted, patches = dict(framework.environ), ()
    if lever:
        pulled = find_lever(name, lever, model)
        wanted.update(pulled.environ)
        patches = pulled.patches
    module = path(framework, model)[: -len(".py")].replace("/", ".")
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        # Modules read these on import, so those of another environment must be imported again.
        os.environ.update(wanted)
        for known in list(sys.modules):
            if known.startswith("frameworks.%s." % framework.folder):
                del sys.modules[known]
    try:
        _optional(name, "older", "prepare", lambda: None)()
        module = importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            "%s cannot be imported here (%s); run it with: tox run -e %s"
            % (framework.title, error, name)
        )
    folder = os.path.join(cache_folder(), "levers", name)
    return changed(module, patches, folder, lever) if patches else module


def in_lane(name, lane, model="cnn", lever=""):
    """The module in this lane; InputError if it has no such lane.

    Lanes differ in their settings; those of ``MIXED`` also have functions of their own.
    """
    check_lane(name, lane, model)
    return for_lane(load(name, model, lever), name, lane)


def for_lane(module, name, lane):
    """The framework's ``module`` in this lane."""
    if lane not in MIXED:
        return module
    mixed = load(name, lane)
    sources = module.__file__, mixed.__file__
    return replaced(module, sources=sources, **mixed.functions(module))


def has_mixed(name, lane):
    """Whether the environment has this lane of ``MIXED``: TF32 needs a GPU, or NumPy's rounding."""
    facts = find(name)
    fits = facts.mixed_on_gpu if facts.gpu else facts.mixed_on_cpu
    if lane == TF32:
        fits = facts.gpu or facts.mixed_on_gpu or facts.mixed_anywhere
    return has(name, lane) and fits


def check_lane(name, lane, model="cnn"):
    """InputError if the framework has no such lane for the model."""
    if lane not in MIXED:
        return
    if not has_mixed(name, lane):
        others = ", ".join(other for other in frameworks.ENVIRONMENTS if has_mixed(other, lane))
        raise InputError("%s has no lane %s; these have it: %s" % (name, lane, others))
    if model != "cnn":
        raise InputError("lane %s exists only for the CNN, not for %r" % (lane, model))
    if find(name).mixed_anywhere:
        return
    if lane == TF32 and not machine.has_gpu():
        raise InputError("%s, lane %s: it needs a GPU" % (name, lane))
    on_gpu = find(name).mixed_on_gpu
    if lane != TF32 and not machine.takes_bfloat16(on_gpu):
        gpu = "a GPU, or " if on_gpu else ""
        raise InputError("%s, lane %s: it needs %sa CPU with AVX-512" % (name, lane, gpu))


def replaced(module, **functions):
    """``module`` with some functions replaced or added."""
    return types.SimpleNamespace(**dict(vars(module), **functions))


def changed(module, patches, folder, name):
    """A patched copy of a module, in ``folder``; ``name`` names the patches.

    It is a file, because some frameworks read the source of functions. It imports the patched
    copies of other files, not the originals.
    """
    files = by_file(patches, module.__file__)
    files.setdefault(module.__file__, [])
    replaced_modules = {}
    try:
        for path, its_patches in files.items():
            made = _patched_copy(path, its_patches, folder, name)
            original = os.path.relpath(path, ROOT)[: -len(".py")].replace(os.sep, ".")
            replaced_modules[original] = sys.modules.get(original)
            sys.modules[original] = made
    finally:
        for original, known in replaced_modules.items():
            sys.modules[original] = known
            if known is None:
                del sys.modules[original]
    return made


def _patched_copy(path, patches, folder, name):
    """The module from a patched copy of a file."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    source = patched(source, patches, "%s, %s" % (os.path.relpath(path, ROOT), name))
    copy = os.path.join(str(folder), "%s_%s" % (name, os.path.basename(path)))
    with atomic_write(copy) as file:
        file.write(source.encode())
    spec = importlib.util.spec_from_file_location("changed_" + name, copy)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def source_sha256(module):
    """sha256 of the code in the module's source file, or in both files in a lane of ``MIXED``."""
    return texts_sha256(getattr(module, "sources", (module.__file__,)))
