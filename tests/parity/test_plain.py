"""A plain script trains a network that learns."""

import math
import subprocess
import sys

import numpy as np

from common.bench.process import in_layout
from common.system import modules
from tests.environ import ENVIRON


def losses(name):
    """The losses of ten epochs of two classes that differ in brightness."""
    script = modules.load(name, modules.PLAIN)
    labels = np.arange(128) % 2
    noise = np.random.RandomState(0).uniform(-0.1, 0.1, (128, 3, 32, 32))
    images = in_layout(script, (noise + labels[:, None, None, None]).astype(np.float32))
    model = script.build(0.01)
    return [float(script.train(model, images, labels)) for _ in range(10)]


def test_the_loss_falls(name):
    """In a process of its own: here, other tests have changed defaults that a script relies on."""
    code = "from tests.parity import test_plain; print(*test_plain.losses(%r))" % name
    printed = subprocess.check_output([sys.executable, "-c", code], env=ENVIRON).decode()
    first, *later = map(float, printed.splitlines()[-1].split())
    assert 0.5 < first / math.log(10) < 1.5  # ten classes, equally likely at first
    assert np.median(later[-5:]) < 0.7 * first  # a script sets no seed: one loss may rise again
