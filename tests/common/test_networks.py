"""A network is a file: nothing else knows it by name, and a new one needs no further edit."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from common import networks
from common.mistakes import catalogue
from common.system.files import ROOT

# Any file may name this network: every command takes it by default, and lessons, the bfloat16
# lane and the page's pairs of modules are about it.
ANYWHERE = "cnn"


def shared_sources():
    """The paths of Python files that belong to no network and to no framework."""
    yield from ("toxfile.py", "frameworks/__init__.py", "frameworks/facts.py")
    own = re.compile("common/networks/(%s)([.]py$|/)" % "|".join(networks.MODELS))
    for top in ("common", "reports"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for path in (os.path.relpath(os.path.join(folder, file), ROOT) for file in files):
                if path.endswith(".py") and not own.match(path):
                    yield path


def test_no_shared_file_names_a_network():
    names = "|".join(set(networks.ALL) - {ANYWHERE})
    named = re.compile(r"""(?:["'.]|--model |\b(?=\w+=))(%s)\b(?!-)""" % names)
    files = {}
    for path in shared_sources():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            names = set(named.findall(file.read()))
        if names:
            files[path] = names
    assert not files


@pytest.mark.parametrize("model", networks.ALL.values(), ids=list(networks.ALL))
def test_a_description_is_complete(model):
    assert re.match("[0-9a-f]{64}$", model.batches_sha256)
    assert set(model.positions) <= {name.rsplit(".", 1)[0] for name in model.shapes}
    forward, first = model.multiply_adds
    assert 0 <= first < forward
    assert networks.find(model.name) is model and networks.file(model.name) in networks.MODELS
    assert networks.part(model.name, "masks") or "dropout" not in model.traits
    assert len({mistake.name for mistake in catalogue.mistakes(model)}) >= 25


MINI = """
from common.networks.mlp import MLP
from common.networks.model import with_biases

MINI = MLP._replace(
    name="mini", order=99, shapes=with_biases(dense1=(20, 784), dense2=(10, 20))
)
"""
MODULE = """
from frameworks.numpy.layers import Dense, Flatten, ReLU
from frameworks.numpy.mlp import configure, evaluate, load, loss, predict, train, wait, weights

def symbol(settings, hp):
    dense1 = Dense(settings, "dense1", input_gradient=False)
    return [Flatten(settings), dense1, ReLU(settings), Dense(settings, "dense2")]
"""


def test_a_new_network_is_its_description_and_a_module(tmp_path):
    for folder in ("common", "frameworks"):
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(os.path.join(ROOT, folder), str(tmp_path / folder), ignore=unwanted)
    (tmp_path / "common" / "networks" / "mini.py").write_text(MINI)
    (tmp_path / "frameworks" / "numpy" / "mini.py").write_text(MODULE)
    environ = dict(os.environ, PYTHONPATH=str(tmp_path), ROSETTA_CACHE=str(tmp_path / "cache"))
    command = [sys.executable, "-m", "common.proof", "numpy", "--model", "mini", "--threads", "1"]
    done = subprocess.run(command, cwd=str(tmp_path), env=environ, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stdout.decode()
