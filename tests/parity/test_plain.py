"""A plain script trains a network that learns."""

import math

import numpy as np

from common.bench.process import in_layout
from common.system import modules


def test_the_loss_falls(name, threads):
    """Classes differ in brightness, so a few steps are enough."""
    script = modules.load(name, modules.PLAIN)
    labels = np.arange(128) % 2
    noise = np.random.RandomState(0).uniform(-0.1, 0.1, (128, 3, 32, 32))
    images = in_layout(script, (noise + labels[:, None, None, None]).astype(np.float32))
    model = script.build(0.01)
    losses = [float(script.train(model, images, labels)) for _ in range(10)]
    assert 0.5 < losses[0] / math.log(10) < 1.5  # ten classes, equally likely at first
    assert losses[-1] < 0.7 * losses[0]
