"""Weights in a folder that transformers loads: ``config.json`` and ``model.safetensors``.

A network that can be written so has ``common/networks/MODEL/hugging_face.py``:
CONFIG: of the network.
names(): {transformers' name: (canonical name, whether transformers has it transposed)}.
DEFAULTS: what transformers takes if a key is missing that says what is computed.
ALIKE: {key: other values that compute the same}.
"""

import json
import os

import numpy as np

from common import networks
from common.networks import weights as canonical
from common.system import array_files
from common.system.errors import InputError
from common.system.files import atomic_write

ENDING = ".hf"
FILE = "model.safetensors"


def known(description, path):
    """The network's ``hugging_face`` module; InputError if it has none."""
    part = networks.part(description.name, "hugging_face")
    if part is None:
        able = [name for name in networks.MODELS if networks.part(name, "hugging_face")]
        expected = (path, description.name, ", ".join(able))
        raise InputError("%s: transformers has no %s; it has %s" % expected)
    return part


def read(description, path):
    """Canonical weights from such a folder; InputError names the file and the fault."""
    part, file = known(description, path), os.path.join(path, FILE)
    _check_config(part, os.path.join(path, "config.json"))
    shapes = {
        theirs: description.shapes[ours][::-1] if transposed else description.shapes[ours]
        for theirs, (ours, transposed) in part.names().items()
    }
    arrays = array_files.read(file, shapes, "tensor of transformers' " + description.name)
    weights = {}
    for theirs, (ours, transposed) in part.names().items():
        if theirs not in arrays:
            raise InputError("%s: tensor %r is missing" % (file, theirs))
        weights[ours] = np.ascontiguousarray(arrays[theirs].T if transposed else arrays[theirs])
    return canonical.check(description, weights, file)


def _check_config(part, path):
    """InputError if the file's network computes something else."""
    try:
        with open(path, encoding="utf-8") as file:
            theirs = json.load(file)
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror))
    except (ValueError, RecursionError) as error:
        raise InputError("%s is not JSON: %s" % (path, error))
    if not isinstance(theirs, dict):
        raise InputError("%s: not an object" % path)
    rope = theirs.get("rope_parameters")  # where version 5 keeps the base and the scaling
    if isinstance(rope, dict):
        scaling = None if rope.get("rope_type", "default") == "default" else rope
        theirs = dict(theirs, rope_theta=rope.get("rope_theta"), rope_scaling=scaling)
    elif theirs.get("rope_scaling") == {"rope_type": "default"}:
        theirs = dict(theirs, rope_scaling=None)
    for key, value in dict(part.DEFAULTS, **part.CONFIG).items():
        computes = not key.endswith(("_token_id", "_pdrop", "architectures"))
        found = theirs.get(key, part.DEFAULTS.get(key, value))
        if computes and found != value and found not in part.ALIKE.get(key, ()):
            raise InputError("%s: %s is %r, not %r" % (path, key, found, value))


def parts(path):
    """The files of such a folder."""
    return [os.path.join(path, file) for file in (FILE, "config.json")]


def write(description, path, weights):
    """Write such a folder; the configuration last, so that a folder with one is whole."""
    part, weights = known(description, path), canonical.check(description, weights)
    tensors = {
        theirs: weights[ours].T if transposed else weights[ours]
        for theirs, (ours, transposed) in part.names().items()
    }
    try:
        os.makedirs(path, exist_ok=True)
        array_files.write(os.path.join(path, FILE), tensors, {"format": "pt"})
        with atomic_write(os.path.join(path, "config.json")) as file:
            file.write(json.dumps(part.CONFIG, indent=2).encode())
    except OSError as error:
        raise InputError("%s: cannot be written: %s" % (path, error.strerror))
