"""Weights and files are written atomically, and checked when read."""

import hashlib
import io
import os
import sys

import numpy as np
import pytest

from common.networks import weights
from common.networks.cnn import CNN
from common.system import array_files
from common.system.errors import InputError
from common.system.files import atomic_write, cache_folder, check_writable, locked


@pytest.fixture
def xavier():
    return CNN.initialize(CNN.shapes, 0)


def test_the_model_has_3441592_parameters():
    assert sum(np.prod(shape) for shape in CNN.shapes.values()) == 3441592


def test_xavier_weights_have_the_stated_bounds_and_zero_biases(xavier):
    for name, shape in CNN.shapes.items():
        assert xavier[name].shape == shape and xavier[name].dtype == np.float32
    assert not any(xavier[name].any() for name in xavier if name.endswith("bias"))
    bound = np.sqrt(6 / (3 * 9 + 50 * 9))
    assert 0.98 * bound < np.abs(xavier["conv1.weight"]).max() <= bound
    bound = np.sqrt(6 / (6400 + 512))
    assert 0.999 * bound < np.abs(xavier["dense1.weight"]).max() <= bound


def test_xavier_weights_are_the_same_bits_everywhere(xavier):
    """A known answer: RandomState's streams are frozen."""
    digest = hashlib.sha256(b"".join(xavier[name].tobytes() for name in CNN.shapes))
    assert digest.hexdigest() == "43b834c93e92852e28be2a25086dccaef38dab6f511c720fbb911360284df78b"


def test_weights_come_back_from_a_file_bit_for_bit(xavier, tmp_path):
    path = str(tmp_path / "weights.npz")
    weights.save(CNN, path, xavier)
    loaded = weights.load(CNN, path)
    assert list(loaded) == list(CNN.shapes)
    assert all(np.array_equal(loaded[name], xavier[name]) for name in xavier)


def without(weights, name):
    return {n: w for n, w in weights.items() if n != name}


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda w: without(w, "conv3.bias"), "'conv3.bias' is missing"),
        (lambda w: dict(w, extra=np.zeros(1, "f")), "'extra' is no tensor of the cnn"),
        (
            lambda w: dict(w, **{"dense1.weight": w["dense1.weight"].T}),
            r"dense1.weight has shape \(6400, 512\), not \(512, 6400\)",
        ),
        (lambda w: dict(w, **{"conv1.bias": np.zeros(50)}), "conv1.bias is float64, not float32"),
        (
            lambda w: dict(w, **{"conv1.bias": np.full(50, np.nan, "f")}),
            "'conv1.bias' holds values that are not finite",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(xavier, tmp_path, change, words):
    path = str(tmp_path / "weights.npz")
    np.savez(path, **change(xavier))
    with pytest.raises(InputError, match="weights.npz.*" + words):
        weights.load(CNN, path)


def test_files_that_are_no_weights_are_refused(xavier, tmp_path):
    path = tmp_path / "weights.npz"
    with pytest.raises(InputError, match="No such file"):
        weights.load(CNN, str(path))
    with pytest.raises(InputError, match="must end in .npz or .safetensors"):
        weights.load(CNN, str(tmp_path))
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError, match="Is a directory"):
        weights.load(CNN, str(tmp_path / "folder.npz"))
    weights.save(CNN, str(path), xavier)
    whole, array = path.read_bytes(), io.BytesIO()
    np.save(array, np.zeros(3))
    half, damaged = whole[: len(whole) // 2], whole[:100000] + b"damage" + whole[100006:]
    for content in (b"not a zip", b"", array.getvalue(), half, damaged):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not a valid .npz file|is not an array"):
            weights.load(CNN, str(path))


def test_pickles_in_a_weights_file_are_refused(xavier, tmp_path):
    path = str(tmp_path / "weights.npz")
    np.savez(path, **dict(xavier, **{"conv1.bias": np.array([object()] * 50)}))
    with pytest.raises(InputError, match="conv1.bias is object, not float32"):
        weights.load(CNN, path)


def test_a_write_that_fails_keeps_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError):
        with atomic_write(str(path)) as file:
            file.write(b"half")
            raise RuntimeError
    assert path.read_bytes() == b"before"
    assert os.listdir(str(tmp_path)) == ["file"]


def test_a_cache_that_cannot_be_made_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROSETTA_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="the cache, .*cache, cannot be made: Not a directory"):
        cache_folder()


def test_a_lock_is_held_by_one_process(tmp_path, monkeypatch):
    monkeypatch.setenv("ROSETTA_CACHE", str(tmp_path))
    with locked("any", "taken"):
        with pytest.raises(InputError, match="taken"), locked("any", "taken"):
            pass
    with locked("any", "taken"):
        pass


def test_a_folder_is_no_place_for_a_file(tmp_path):
    with pytest.raises(InputError, match="it is a folder"):
        check_writable(str(tmp_path / "new") + os.sep)
    assert not (tmp_path / "new").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="file/result.json: cannot be written"):
        check_writable(str(tmp_path / "file" / "result.json"))
    with pytest.raises(InputError, match="it is not a plain file"):
        check_writable(str(tmp_path))
    check_writable(str(tmp_path / "new" / "result.json"))
    assert not os.listdir(str(tmp_path / "new"))


@pytest.mark.parametrize("ending", array_files.ENDINGS)
def test_any_name_of_an_array_is_written_or_refused(ending, tmp_path):
    path = str(tmp_path / ("a" + ending))
    arrays = {name: np.arange(3.0) for name in ("file", "allow_pickle", "a/b", "metadata")}
    array_files.write(path, arrays)
    assert set(array_files.read(path)) == set(arrays)
    refused = ["a\0b", "a\udc80", "a" * 9999] + ["__metadata__"] * (ending == ".safetensors")
    for name in refused:
        with pytest.raises(InputError, match="cannot be the name of an array"):
            array_files.write(path, {name: np.ones(2)})
    assert set(array_files.read(path)) == set(arrays)  # nothing was overwritten


def test_a_type_that_safetensors_lacks_is_refused(tmp_path):
    with pytest.raises(InputError, match="w is complex64, which this format does not have"):
        array_files.write(str(tmp_path / "a.safetensors"), {"w": np.ones(2, np.complex64)})


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the library needs Python 3.10")
def test_safetensors_are_those_of_the_library(tmp_path):
    import safetensors.numpy as library

    arrays = {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "i": np.array([1, -2]),
        "none": np.zeros((0, 3), np.float16),
        "yes": np.array(True),
    }
    path = str(tmp_path / "a.safetensors")
    array_files.write(path, arrays)
    for read in (library.load_file(path), array_files.read(path)):
        assert all(np.array_equal(read[name], w) for name, w in arrays.items())
        assert all(read[name].dtype == w.dtype for name, w in arrays.items())
    library.save_file(arrays, path)
    assert all(np.array_equal(w, arrays[name]) for name, w in array_files.read(path).items())
