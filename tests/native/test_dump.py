"""Every weight of a framework's own file is in the dump of it, read without the framework."""

import os

import numpy as np
import pytest

from common.dump.command import contents_of
from common.system import modules
from common.system.errors import InputError
from tests import beside
from tests.native import hostile
from tests.native.test_native import builder, cnn, empty, endings, saved  # noqa: F401  fixtures


def numbers(array):
    """An array's identity, whatever its layout is."""
    return np.sort(np.float32(array).ravel()).tobytes()


def test_every_weight_is_in_the_dump(name, cnn, endings, tmp_path):  # noqa: F811
    _, weights = cnn
    for ending in endings:
        contents = contents_of(saved(name, cnn, tmp_path, ending))
        dumped = {numbers(array) for array in contents.arrays.values()}
        missing = [tensor for tensor, w in weights.items() if numbers(w) not in dumped]
        assert missing == [], (ending, list(contents.arrays))


def test_nothing_in_a_hostile_file_runs(name, cnn, endings, tmp_path):  # noqa: F811
    marker = tmp_path / "marker"
    own = beside.load(name, "hostile").ATTACKS if modules.has(name, "hostile") else {}
    for ending in endings:
        for attack in hostile.of_container(saved(name, cnn, tmp_path, ending)):
            path = saved(name, cnn, tmp_path, ending)
            attack(path, str(marker))
            with pytest.raises(InputError) as error:
                contents_of(path)
            assert str(error.value).startswith(path) and "\n" not in str(error.value)
            os.remove(path)
        for attack in own.get(ending, ()):
            path = saved(name, cnn, tmp_path, ending)
            attack(path, str(marker))
            try:
                contents_of(path)
            except InputError:
                pass
    assert not marker.exists()
