"""All results of an ONNX file are recorded, in the order of computation."""

import sys

import numpy as np
import pytest

from common.compare import record_onnx
from common.compare.record_onnx import _field, _varint
from common.dump.protobuf import Message
from common.rosetta.command import command
from common.system import commands


def number(field, value):
    return _varint(field << 3) + _varint(value)


def value_info(name, *shape):
    dims = b"".join(_field(1, number(1, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, number(1, 1) + _field(2, dims)))


def node(kind, inputs, output):
    return b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, kind)


def model():
    """y = relu(a + b) + tanh(relu(a + b)), as a file."""
    nodes = [
        node(b"Add", (b"a", b"b"), b"sum"),
        node(b"Relu", (b"sum",), b"positive"),
        node(b"Tanh", (b"positive",), b"bent"),
        node(b"Add", (b"positive", b"bent"), b"y"),
    ]
    graph = b"".join(_field(1, made) for made in nodes) + _field(2, b"graph")
    graph += _field(11, value_info(b"a", 2, 3)) + _field(11, value_info(b"b", 2, 3))
    graph += _field(12, value_info(b"y", 2, 3))
    return number(1, 8) + _field(8, number(2, 17)) + _field(7, graph)


@pytest.fixture
def files(tmp_path):
    random = np.random.RandomState(0)
    inputs = {name: random.standard_normal((2, 3)).astype("f") for name in "ab"}
    paths = [str(tmp_path / name) for name in ("model.onnx", "in.npz", "out.npz")]
    with open(paths[0], "wb") as file:
        file.write(model())
    np.savez(paths[1], **inputs)
    return paths, inputs


def test_the_results_of_a_graph_are_known_without_the_library():
    graph = Message(model()).message(7)
    assert record_onnx._results(graph) == ["sum", "positive", "bent", "y"]


def test_all_results_are_recorded(files, name, capsys):
    pytest.importorskip("onnxruntime", reason="one environment has it: it can run ONNX files")
    paths, inputs = files
    assert commands.guarded(command, ["record"] + paths) == 0
    found = np.load(paths[2])
    total = inputs["a"] + inputs["b"]
    kept = np.maximum(total, 0)
    expected = dict(inputs, sum=total, positive=kept, bent=np.tanh(kept), y=kept + np.tanh(kept))
    assert found.files == list(expected)
    assert all(np.allclose(found[key], array, atol=1e-6) for key, array in expected.items())
    np.savez(paths[1], a=inputs["a"])
    assert commands.guarded(command, ["record"] + paths) == 2
    assert "needs the inputs a, b, not a" in capsys.readouterr().err


def test_a_file_of_another_kind_and_a_missing_library_are_one_line(files, capsys, monkeypatch):
    paths, _ = files
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert commands.guarded(command, ["record"] + paths) == 2
    error = capsys.readouterr().err
    assert "pip install onnxruntime" in error and error.count("\n") == 1
