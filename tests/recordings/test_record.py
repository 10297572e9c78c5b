"""A framework's recording agrees with NumPy's, and shows where a mistake was made."""

import inspect
from collections import OrderedDict

import numpy as np
import pytest

from common import networks
from common.compare.arrays import TOLERANCE, Array
from common.compare.difference import first
from common.compare.pairing import Recordings
from common.proof import tasks
from common.system import modules
from tests import beside

MODEL = networks.find("cnn")
ROWS = 4


@pytest.fixture(scope="module")
def weights():
    """Initial weights, with biases that are not 0."""
    drawn = MODEL.initialize(MODEL.shapes, 0)
    random = np.random.RandomState(0)
    for name in drawn:
        if name.endswith(".bias"):
            drawn[name] = random.uniform(-0.1, 0.1, drawn[name].shape).astype(np.float32)
    return drawn


def built(name, threads, weights):
    """A framework's CNN, the same with an optimiser and these weights, and images for it."""
    module = modules.load(name)
    settings = module.configure("same", threads, 0)
    hp = MODEL.hp._replace(batch_size=ROWS)
    x, _ = module.load(*tasks.of(MODEL).observations(ROWS, 0), settings=settings)
    network = module.symbol(settings, hp)
    return network, module.loss(network, settings, hp, weights), x


def recorded(name, threads, weights, change=lambda network: None):
    """A framework's recording of the CNN with these weights."""
    beside.need(name, "record")
    network, model, x = built(name, threads, weights)
    change(network)
    record = modules.load(name, "record").record
    takes = list(inspect.signature(record).parameters)
    found = record({"network": network, "model": model}[takes[0]], x)
    assert isinstance(found, OrderedDict) and takes[1:] == ["x"]
    assert all(type(array) is np.ndarray for array in found.values())
    return [Array(name, array) for name, array in found.items()]


@pytest.fixture(scope="module")
def recording(name, threads, weights):
    """The framework's."""
    return recorded(name, threads, weights)


def compared(ours, theirs):
    """(the recordings, their first difference) where ``ours`` is NumPy's."""
    recordings = Recordings(ours, theirs, TOLERANCE)
    return recordings, first(recordings)


def test_all_that_numpy_computes_is_there(recording, threads, weights):
    recordings, difference = compared(recorded("numpy", threads, weights), recording)
    assert difference is None, difference
    paired = {pair.a for pair in recordings.pairs}
    missing = [array.name for n, array in enumerate(recordings.a) if n not in paired]
    assert missing in ([], ["dense1"])  # recorded with its ReLU alone
    assert recordings.pairs[-1][:2] == (len(recordings.a) - 1, len(recording) - 1)


def test_a_flatten_in_another_order_is_found_after_the_last_convolution(
    recording, threads, weights
):
    dense = weights["dense1.weight"].reshape(512, 100, 8, 8).transpose(0, 2, 3, 1)
    wrong = dict(weights, **{"dense1.weight": dense.reshape(512, 6400)})
    recordings, difference = compared(recorded("numpy", threads, wrong), recording)
    at = recordings.a[difference["a_place"]].name
    if at == "FromStrip7":  # this framework's own order, which is no mistake
        assert difference["relation"].endswith("axis 1 read as (100, 64) and transposed by (1, 0)")
    else:
        assert at == "dense1" and difference["apart_with_relation"] is None
    assert difference["agree_before"] == difference["a_place"]


def test_a_relu_that_is_missing_is_named(recording, threads, weights):
    def without(network):
        network[9].forward = lambda x, training: x

    recordings, difference = compared(recorded("numpy", threads, weights, without), recording)
    assert difference["relation"] == "B is the ReLU of A"
    assert difference["apart_with_relation"] < TOLERANCE < 0.1 < difference["apart"]
    assert recordings.a[difference["a_place"]].name in ("dense1", "ReLU9")


def test_kernels_that_are_flipped_are_found_at_their_layer(recording, threads, weights):
    wrong = dict(weights, **{"conv3.weight": weights["conv3.weight"][:, :, ::-1, ::-1]})
    recordings, difference = compared(recorded("numpy", threads, wrong), recording)
    assert recordings.a[difference["a_place"]].name == "conv3"


def test_a_recording_in_float64_gives_the_units(name, threads, weights):
    record = beside.load(name, "record")
    if not hasattr(record, "exact"):
        pytest.skip("this framework's recorder has no pass in float64")
    if getattr(record, "EXACT_LACKS", None):
        pytest.skip("this network's pass in float64 lacks " + record.EXACT_LACKS)
    network, _, x = built(name, threads, weights)
    plain, exact = record.record(network, x), record.exact(network, x)
    assert list(plain) == list(exact)
    for layer in list(plain)[1:]:
        assert plain[layer].dtype == np.float32 and exact[layer].dtype == np.float64
        off = np.abs(plain[layer] - exact[layer]).max()
        assert off < 1e-4 * np.abs(exact[layer]).max()
    assert any((plain[layer] != exact[layer]).any() for layer in plain)
