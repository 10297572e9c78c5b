"""Hashes of everything a proof depends on; if one changes, the proof must be repeated.

Comments and docstrings do not count, nor does the code in ``common/system`` that starts a proof.
"""

import glob
import hashlib
import json
import os
import re

import frameworks
from common import networks
from common.system import modules, source
from common.system.files import ROOT

REFERENCE = "frameworks/%s" % frameworks.REFERENCE
PROOF = ("common/proof", "common/networks", "common/data", REFERENCE)


def _files(pattern):
    paths = glob.glob(os.path.join(ROOT, pattern), recursive=True)
    return [os.path.relpath(path, ROOT).replace(os.sep, "/") for path in paths]


def _digest(*values):
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def shared(model):
    """A hash of the code that all proofs of a network share: the rungs and the reference."""
    facts = frameworks.ENVIRONMENTS[frameworks.REFERENCE]
    reference = frameworks.path(facts, networks.file(model))
    start = _files("common/proof/rungs/*.py") + ["common/proof/shares.py", reference]
    for description in ("%s.py", "%s/__init__.py", "%s/masks.py"):
        start += _files("common/networks/" + description % networks.file(model))
    return source.code_sha256(source.imported(start, PROOF))


def own(name, model, lane):
    """A hash of an environment's own part: the module, pins, interpreter and variables."""
    environment = frameworks.ENVIRONMENTS[name]
    folder = "frameworks/" + environment.folder
    start = [frameworks.path(environment, networks.file(model))]
    if lane in modules.MIXED:  # the reference rounds, too
        start.append(frameworks.path(environment, lane))
        start.append(frameworks.path(frameworks.ENVIRONMENTS[frameworks.REFERENCE], lane))
    return _digest(
        source.code_sha256(source.imported(start, (folder + "/", REFERENCE + "/"))),
        _pins(folder + "/" + environment.requirements) + _pins("common/requirements.txt"),
        environment.python,
        [environment.environ, environment.best_environ, environment.amd_environ],
        # Not for lane same, because only the other lanes preload anything for it.
        *["newer MKL"] if environment.newer_mkl and lane != "same" else [],
    )


def _pins(path):
    lines = (re.sub(r"\s*#.*", "", line) for line in source.read(path).splitlines())
    return sorted(line for line in lines if line)


def mistakes(name, model):
    """A hash of the mistakes to plant in an environment's module of a network."""
    own = _files(frameworks.path(frameworks.ENVIRONMENTS[name], "traps"))
    own += _files("common/networks/%s/mistakes.py" % networks.file(model))
    return source.code_sha256(_files("common/mistakes/*.py") + own)
