"""All facts about a framework are in its folder: no other source file names it."""

import collections
import os
import re
import subprocess

import pytest

import frameworks
from common.system.files import ROOT

# Words of environments' names and titles that are no framework's; NumPy is what all are written in.
ORDINARY = set("numpy on from scratch cuda mpi module fit".split())
SOURCES = (".py", ".js", ".css", ".j2", ".yml", ".toml", ".ini", "run")

DEFAULTS = "a cause says whose default the mistake is"
# {beginning of a path: (names that it may have, why)}
EXCEPTIONS = {
    "common/dump/": (
        "caffe2 cntk flax keras mxnet paddle pytorch tensorflow torch",
        "readers of their files, without them",
    ),
    "tests/common/test_dump.py": (
        "caffe2 cntk flax keras mxnet pytorch theano torch",
        "the same files, by hand",
    ),
    "common/system/shell.py": ("jax mxnet", "the beginnings of variables that tune them"),
    "common/challenge/": ("caffe2 chainer cntk gluon keras mxnet tensorflow theano", DEFAULTS),
    "common/networks/gpt/hugging_face.py": ("pytorch", "a GELU of transformers is named for it"),
    "tests/common/test_hugging_face.py": ("pytorch", "the same GELU"),
    "common/networks/lstm/": ("chainer keras tensorflow", DEFAULTS),
    "common/lessons/initializers.py": (
        "caffe2 chainer gluon mxnet pytorch",
        "initial weights are named for the frameworks that draw them so",
    ),
    "common/lessons/switches.py": ("cntk", "unit gain is what its momentum does"),
    "tests/common/test_lessons.py": ("gluon pytorch", "two of these initial weights"),
    "common/mistakes/adam.py": ("keras", "a docstring says where a value is from"),
    "common/proof/reference.py": ("cupy", "a docstring says what else runs NumPy's modules"),
    "docs/examples/tensorflow1-to-pytorch/": (
        "pytorch tensorflow tensorflow1 torch",
        "a port from one to the other",
    ),
    "docs/examples/mistake_sizes.py": ("pytorch torch", "its layers make the mistakes"),
    "docs/examples/keras-to-jax/": ("jax keras", "a port from one to the other"),
    "tests/pairs/": (
        "flax jax keras pytorch tensorflow torch",
        "published networks of these are compared with each other",
    ),
    "tests/recordings/test_record_step.py": (
        "flax keras pytorch tensorflow torch",
        "a training step is recorded of the framework's own classes",
    ),
    "tests/recordings/test_record_models.py": (
        "flax jax keras pytorch tensorflow torch",
        "a pass is recorded of the framework's own classes",
    ),
    "tests/keras_hub/": ("keras", "KerasHub's networks are Keras's"),
    "tests/mlx_lm/": ("mlx", "mlx-lm's networks are MLX's"),
    "tests/transformers/": ("pytorch torch", "transformers' networks are PyTorch's"),
    "tests/examples/": ("jax keras pytorch tensorflow1 torch", "the tests of those ports"),
    "tox.ini": ("keras mlx pytorch tensorflow", "a default test, and tests of others' networks"),
    "frameworks/caffe2/facts.py": ("pytorch", "Caffe2 was shipped inside it"),
    "frameworks/chainer/cnn.py": ("cupy", "Chainer's arrays on a GPU are CuPy's"),
    "frameworks/cntk/operations.py": ("keras", "Keras 2 on CNTK has CNTK's profiler"),
    "frameworks/lightning/": ("torch", "Lightning trains PyTorch's networks"),
    "frameworks/mxnet/": ("keras", "a trap is to give an option the meaning it has there"),
    "frameworks/numpy/layers.py": ("theano caffe2", "the reference has a switch for each"),
    "frameworks/pytorch/pose.py": ("chainer", "the paper's code was written with it"),
    "frameworks/tensorflow/": ("keras", "TensorFlow is written here without the Keras in it"),
    "reports/lessons.toml": ("caffe2 cntk mxnet tensorflow", "what others published"),
    "reports/site.py": ("pytorch keras", "the pair that the page opens with"),
    "reports/studies.toml": ("chainer pytorch", "what others published, and what was found here"),
    "tests/reports/test_docs.py": (
        "caffe2 chainer cntk keras mxnet pytorch tensorflow tensorflow1 torch",
        "compares the manual's sentences with the results",
    ),
    "tests/common/test_locality.py": (
        "caffe2 chainer cntk cupy flax gluon jax keras lightning mlx mxnet paddle pytorch "
        "tensorflow tensorflow1 theano torch",
        "this list",
    ),
}


def homes():
    """{name of a framework or a library: the folders that may use it}."""
    folders = collections.defaultdict(set)
    for environment in [*frameworks.ENVIRONMENTS.values(), *frameworks.FOR_WORKERS.values()]:
        text = " ".join([environment.name, environment.title, environment.package])
        for word in [environment.folder, *re.findall(r"[a-z]\w*", text.lower())]:
            if word not in ORDINARY:
                folders[word].add(environment.folder)
    return folders


def named():
    """{file: the names of other frameworks than its own} of all sources."""
    files = subprocess.check_output(["git", "ls-files"], cwd=ROOT).decode().splitlines()
    known, foreign_names = homes(), {}
    expression = re.compile(r"(?<![a-z0-9])(%s)(?![a-z0-9])" % "|".join(known))
    for path in files:
        if not path.endswith(SOURCES) or not os.path.isfile(os.path.join(ROOT, path)):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            words = expression.findall(file.read().lower())
        folder = path.split("/")[1] if path.startswith("frameworks/") else ""
        foreign = {word for word in words if folder not in known[word]}
        if foreign:
            foreign_names[path] = foreign
    return foreign_names


@pytest.fixture(scope="module")
def found():
    return named()


def allowed(path):
    """The names that a file may have."""
    names = [names.split() for start, (names, _) in EXCEPTIONS.items() if path.startswith(start)]
    return set(sum(names, []))


def test_no_other_file_names_a_framework(found):
    foreign = {path: sorted(names - allowed(path)) for path, names in found.items()}
    assert {path: names for path, names in foreign.items() if names} == {}


def test_every_exception_is_needed(found):
    unused = {}
    for start, (names, _) in EXCEPTIONS.items():
        used = {name for path, names in found.items() if path.startswith(start) for name in names}
        unused[start] = sorted(set(names.split()) - used)
    assert {start: names for start, names in unused.items() if names} == {}
