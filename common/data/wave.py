"""A sine wave, and windows of it, which an LSTM learns to continue.

The wave follows w[t + 1] = 2 cos(a) w[t] - w[t - 1]. This needs only products, differences and a
square root. IEEE 754 defines how they are rounded, so every CPU gives the same bits; ``sin`` may
differ.
"""

import hashlib
import math

import numpy as np

from common.data.dataset import Dataset
from common.system.errors import InputError

STEPS = 40  # in a sequence
COSINE = 1 - 2.0**-5  # of the angle between two samples; a period is 25.07 samples
SAMPLES = 4096
SEED = 20


def load(where="auto"):
    """The data set; InputError for a folder, because there is nothing to read.

    A sequence is (STEPS, 1) float32; its target at each step is the next sample. Test sequences
    have targets for twice as many steps. Training sequences are cut from the first half of the
    wave, test sequences from the second.
    """
    if where not in ("auto", "synthetic"):
        raise InputError("%s: the wave is computed; --data takes auto or synthetic" % where)
    wave = samples()
    random = np.random.RandomState(SEED)
    train = random.randint(0, SAMPLES // 2 - STEPS, 2000)
    test = random.randint(SAMPLES // 2, SAMPLES - 2 * STEPS, 500)
    arrays = [
        windows(wave, train, STEPS),
        windows(wave, train + 1, STEPS),
        windows(wave, test, STEPS),
        windows(wave, test + 1, 2 * STEPS),
    ]
    digest = hashlib.sha256(arrays[0])
    digest.update(arrays[3])
    return Dataset("sine wave", digest.hexdigest(), *arrays)


def samples():
    """The wave, (SAMPLES,) float64, between -1 and 1."""
    wave = [0.0, math.sqrt(1 - COSINE * COSINE)]
    while len(wave) < SAMPLES:
        wave.append(2 * COSINE * wave[-1] - wave[-2])
    return np.array(wave)


def windows(wave, starts, steps):
    """``steps`` samples from each start, (n, steps, 1) float32."""
    return np.float32(wave[starts[:, None] + np.arange(steps)])[:, :, None]
