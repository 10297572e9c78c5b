"""The sine wave: the same bits everywhere, targets one step ahead."""

import numpy as np

from common.data import wave
from tests.common.test_data import refused


def test_the_wave_is_a_sine():
    samples = wave.samples()
    angle = np.arccos(wave.COSINE)
    assert np.abs(samples - np.sin(angle * np.arange(len(samples)))).max() < 1e-9


def test_it_is_the_same_bits_everywhere():
    assert wave.load().sha256 == (
        "ae228115459fed94e8600a89469f88495d2b10161fb49bfcc73163cdc0af3e16"
    )


def test_a_target_is_the_next_input_and_tests_go_on_for_as_long_again():
    dataset = wave.load("synthetic")
    x, y = dataset.train_images, dataset.train_labels
    assert x.shape == y.shape == (2000, 40, 1) and x.dtype == y.dtype == np.float32
    assert np.array_equal(x[:, 1:], y[:, :-1])
    x, y = dataset.test_images, dataset.test_labels
    assert x.shape == (500, 40, 1) and y.shape == (500, 80, 1)
    assert np.array_equal(x[:, 1:], y[:, :39])


def test_a_folder_is_refused(tmp_path):
    refused(lambda: wave.load(str(tmp_path)), "the wave is computed")
