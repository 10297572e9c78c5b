"""Files of weights, made by hand: every array is listed; hostile files are refused in one line."""

import collections
import io
import json
import os
import pickle
import re
import struct
import subprocess
import sys
import types
import zipfile
import zlib

import h5py
import numpy as np
import pytest

from common.dump import command as dump
from common.dump import contents, pickles
from common.dump.protobuf import Message
from common.dump.sstable import MAGIC
from common.system import commands, memory
from common.system.errors import InputError
from common.system.files import ROOT

W = np.arange(6, dtype="<f4").reshape(2, 3)
PACKED = W.tobytes()


def number(value):
    """A varint."""
    value, out = value % 2**64, b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def message(*fields):
    """A protocol buffer of (number, value)s: whole numbers, float32, text or bytes."""
    out = b""
    for field, value in fields:
        if isinstance(value, int):
            out += number(field << 3) + number(value)
        elif isinstance(value, float):
            out += number(field << 3 | 5) + struct.pack("<f", value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += number(field << 3 | 2) + number(len(value)) + value
    return out


def onnx_tensor(name):
    return message((1, 2), (1, 3), (2, 1), (8, name), (9, W.tobytes()))


def onnx():
    raw = onnx_tensor("w")
    packed = message((1, b"\x02"), (2, 7), (7, number(-1) + number(5)), (8, "i"))
    node = message((1, "x"), (1, "w"), (2, "y"), (3, "mm"), (4, "MatMul"))
    graph = message((1, node), (5, raw), (5, packed))
    return message((1, 8), (2, "pytorch"), (3, "2.13"), (7, graph))


def caffe():
    blob = message((5, W.tobytes()), (7, message((1, b"\x02\x03"))))
    layer = message((1, "fc"), (2, "InnerProduct"), (3, "x"), (4, "y"), (7, blob))
    return message((1, "net"), (100, layer))


def old_caffe():
    sizes = [(number, size) for number, size in zip((1, 2, 3, 4), (1, 1, 2, 3))]
    blob = message(*(sizes + [(5, float(value)) for value in W.ravel()]))
    return message((1, "net"), (2, message((2, "x"), (3, "y"), (4, "fc"), (5, 14), (6, blob))))


def caffe2():
    values = message(*([(1, "values")] + [(5, float(value)) for value in W.ravel()]))
    shape = message((1, "shape"), (6, 2), (6, 3))
    fill = message((2, "w"), (4, "GivenTensorFill"), (5, shape), (5, values))
    return message((1, "init"), (2, fill))


SHAPE = message((2, message((1, 2))), (2, message((1, 3))))  # (2, 3), of a graph or a checkpoint


def graph(content=PACKED):
    value = message((8, message((1, 1), (2, SHAPE), (4, content))))
    const = message((1, "w"), (2, "Const"), (5, message((1, "value"), (2, value))))
    return message((1, const), (1, message((1, "y"), (2, "Relu"), (3, "w"))))


def cntk():
    def entry(key, **value):
        fields = {"number": 5, "text": 8, "vector": 11, "dictionary": 12, "array": 13}
        ((kind, content),) = value.items()
        return (2, message((1, key), (2, message((fields[kind], content)))))

    view = message((1, 1), (2, 0), (3, message((1, b"\x03\x02"))), (4, message((1, W.tobytes()))))
    parameter = message(
        (1, 1),
        entry("uid", text="Parameter1"),
        entry("name", text="w"),
        entry("kind", number=2),
        entry("value", array=view),
    )
    times = message((1, 1), entry("uid", text="Times7"), entry("name", text="fc"))
    inputs, functions = (message((1, message((12, inner)))) for inner in (parameter, times))
    return message(
        (1, 1), entry("inputs", vector=inputs), entry("primitive_functions", vector=functions)
    )


def mxnet(magic=0xF993FAC9):
    shape = struct.pack("<I2q", 2, 2, 3)
    head = struct.pack("<Ii", magic, 0) if magic == 0xF993FAC9 else b""
    if not head:  # the oldest form: the number of axes, and sizes of 32 bits
        shape = struct.pack("<3I", 2, 2, 3)
    array = head + shape + struct.pack("<3i", 1, 0, 0) + W.tobytes()
    return struct.pack("<3Q", 0x112, 0, 1) + array + struct.pack("<2Q", 1, 5) + b"arg:w"


def mindspore(*parts, shape=(2, 3), kind="Float32", total=None):
    """A checkpoint; a parameter's parts are values with one tag. total: its checksum."""
    sizes = [(1, size) for size in shape]
    data = b""
    for part in parts or (W.tobytes(),):
        tensor = message(*(sizes + [(2, kind), (3, part)]))
        data += message((1, message((1, "w"), (2, tensor))))
    if total is not None:
        data += b"crc_num" + (zlib.crc32(data) + total).to_bytes(10, "big")
    return data


def packed_text(text):
    return bytes([0xA0 + len(text)]) + text.encode()


def packed_array(shape=(2, 3), kind="float32", data=PACKED):
    """Flax's extension for an array."""
    inner = bytes([0x93, 0x90 + len(shape)]) + bytes(shape) + packed_text(kind)
    inner += b"\xc4" + bytes([len(data)]) + data
    return b"\xc7" + bytes([len(inner)]) + b"\x01" + inner


def packed_dict(**items):
    out = bytes([0x80 + len(items)])
    for key, value in items.items():
        out += packed_text(key) + value
    return out


def flax(**array):
    step = b"\xcd\x01\x00"  # 256
    return packed_dict(step=step, params=packed_dict(w=packed_array(**array)))


def chunked(shape=(2, 3)):
    """An array that Flax splits, here after four numbers."""
    data = W.tobytes()
    sizes = {str(n): bytes([size]) for n, size in enumerate(shape)}
    chunks = {
        "0": packed_array((4,), data=data[:16]),
        "1": packed_array((2,), data=data[16:]),
    }
    parts = {"shape": packed_dict(**sizes), "chunks": packed_dict(**chunks)}
    return packed_dict(w=packed_dict(__msgpack_chunked_array__=b"\xc3", **parts))


def safetensors(end=24, twice=False):
    header = {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, end]}}
    if twice:
        header["v"] = header["w"]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + W.tobytes()


def block(entries, shared=0):
    """A table's block. shared: letters that each key takes from the one before it."""
    out = b""
    for key, value in entries:
        out += number(shared) + number(len(key)) + number(len(value)) + key + value
    return out + struct.pack("<2I", 0, 1)


def table(entries, kind=0, shared=0):
    """A sorted table with one block."""
    data = block(entries, shared)
    place = number(0) + number(len(data))
    index = block([(b"~", place)])
    start = len(data) + 5
    out = data + bytes([kind]) + b"crc." + index + bytes([0]) + b"crc."
    handles = number(0) + number(0) + number(start) + number(len(index))
    return out + handles.ljust(40, b"\0") + MAGIC


def checkpoint(size=24):
    """The index of a checkpoint with one array."""
    entry = message((1, 1), (2, SHAPE), (4, 0), (5, size))
    return table([(b"", message((1, 1))), (b"w", entry)])


def old_checkpoint():
    saved = message((1, "w"), (2, SHAPE), (3, 1), (4, message((1, b""))))
    values = message((5, W.tobytes()))
    piece = message((1, "w"), (2, message((1, b""))), (3, values))
    meta = message((1, message((1, saved))))
    return table([(b"", meta), (b"w", message((2, piece)))])


MADE = {
    "m.onnx": (onnx, "w"),
    "m.caffemodel": (caffe, "fc/0"),
    "old.caffemodel": (old_caffe, "fc/0"),
    "init_net.pb": (caffe2, "w"),
    "frozen.pb": (graph, "w"),
    "m.model": (cntk, "w"),
    "m.params": (mxnet, "arg:w"),
    "old.params": (lambda: mxnet(None), "arg:w"),
    "m.safetensors": (safetensors, "w"),
    "v1.ckpt": (old_checkpoint, "w"),
    "mindspore.ckpt": (mindspore, "w"),
    "parts.ckpt": (lambda: mindspore(W[0].tobytes(), W[1].tobytes(), total=0), "w"),
    "flax.msgpack": (flax, "params/w"),
    "chunked.msgpack": (chunked, "w"),
}


@pytest.mark.parametrize("file", list(MADE))
def test_a_file_made_by_hand_is_read(file, tmp_path):
    make, name = MADE[file]
    path = tmp_path / file
    path.write_bytes(make())
    contents = dump.contents_of(str(path))
    assert np.array_equal(np.squeeze(contents.arrays[name]), W)
    assert contents.arrays[name].dtype == np.float32


@pytest.mark.parametrize("packed", ["BFloat16", "bfloat16"])
def test_bfloat16_becomes_float32(packed, tmp_path):
    bits = (W.view("<u4") >> 16).astype("<u2").tobytes()
    data = mindspore(bits, kind=packed) if packed[0] == "B" else flax(kind=packed, data=bits)
    (tmp_path / "m").write_bytes(data)
    ((_, array),) = dump.contents_of(str(tmp_path / "m")).arrays.items()
    assert array.dtype == np.float32 and np.array_equal(array, W)


def test_a_number_of_an_older_mindspore_has_no_axis(tmp_path):
    (tmp_path / "m.ckpt").write_bytes(mindspore(W[:1, 1].tobytes(), shape=(0,)))
    (array,) = dump.contents_of(str(tmp_path / "m.ckpt")).arrays.values()
    assert array.shape == () and array == 1


@pytest.mark.parametrize("given", ["m.ckpt", "m.ckpt.index"])
def test_a_checkpoint_is_read_by_its_prefix(given, tmp_path):
    (tmp_path / "m.ckpt.index").write_bytes(checkpoint())
    (tmp_path / "m.ckpt.data-00000-of-00001").write_bytes(W.tobytes())
    contents = dump.contents_of(str(tmp_path / given))
    assert np.array_equal(contents.arrays["w"], W)


@pytest.mark.parametrize(
    "file, layer",
    [
        ("m.onnx", ("MatMul", "mm", ["x", "w"], ["y"])),
        ("m.caffemodel", ("InnerProduct", "fc", ["x"], ["y"])),
        ("old.caffemodel", ("type 14", "fc", ["x"], ["y"])),
        ("frozen.pb", ("Relu", "y", ["w"], ["y"])),
        ("m.model", ("Times", "fc", [], ["Times7_Output_0"])),
    ],
)
def test_the_layers_are_listed(file, layer, tmp_path):
    path = tmp_path / file
    path.write_bytes(MADE[file][0]())
    assert dump.contents_of(str(path)).layers[-1] == layer


def test_layers_in_a_file_beside_it_are_listed(tmp_path):
    (tmp_path / "net-0003.params").write_bytes(mxnet())
    nodes = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "Activation", "name": "act", "inputs": [[0, 0, 0]]},
    ]
    (tmp_path / "net-symbol.json").write_text(json.dumps({"nodes": nodes}))
    layers = dump.contents_of(str(tmp_path / "net-0003.params")).layers
    assert layers == [("Activation", "act", ["x"], ["act"])]
    (tmp_path / "init_net.pb").write_bytes(caffe2())
    operator = message((1, "x"), (1, "w"), (2, "y"), (3, "fc"), (4, "FC"))
    (tmp_path / "predict_net.pb").write_bytes(message((2, operator)))
    layers = dump.contents_of(str(tmp_path / "init_net.pb")).layers
    assert layers == [("FC", "fc", ["x", "w"], ["y"])]


@pytest.mark.parametrize("protocol", range(5))
def test_pickles_of_arrays_are_read(protocol, tmp_path):
    path = tmp_path / "m.pkl"
    value = {"a": [W, np.float32(2)], "b": (np.asfortranarray(W),)}
    path.write_bytes(pickle.dumps(value, protocol))
    arrays = dump.contents_of(str(path)).arrays
    assert sorted(arrays) == ["a/0", "a/1", "b/0"]
    assert np.array_equal(arrays["a/0"], W) and np.array_equal(arrays["b/0"], W)


def test_several_pickles_in_a_file_are_numbered(tmp_path):
    """As Theano's tutorial writes them, one for each array."""
    path = tmp_path / "m.pkl"
    path.write_bytes(b"".join(pickle.dumps(value, 2) for value in (W, {"b": W[0]})))
    assert list(dump.contents_of(str(path)).arrays) == ["0", "1/b"]


def test_arrays_in_an_array_of_objects_are_read(tmp_path):
    path, parts = tmp_path / "m.pkl", np.empty(2, object)
    parts[:] = [W, None]
    path.write_bytes(pickle.dumps({"w": parts}, 2))
    assert list(dump.contents_of(str(path)).arrays) == ["w/0"]


def test_an_array_with_two_names_is_copied_once(tmp_path):
    path, other = tmp_path / "m.pkl", W + 1
    path.write_bytes(pickle.dumps({"a": W, "b": W, "c": other}, 2))
    arrays = dump.contents_of(str(path)).arrays
    assert arrays["a"] is arrays["b"] and np.array_equal(arrays["c"], other)


def test_paddles_bfloat16_becomes_float32(tmp_path):
    bits, path = (W.view("<u4") >> 16).astype("<u2"), tmp_path / "m.pdparams"
    value = {"w": bits, "StructuredToParameterName@@": {"w": "linear_0.w_0"}}
    path.write_bytes(pickle.dumps(value, 2))
    assert np.array_equal(dump.contents_of(str(path)).arrays["w"], W)
    path.write_bytes(pickle.dumps(dict(value, **{"UnpackBigParamInfor@@": {}}), 2))
    with pytest.raises(InputError, match="in parts"):
        dump.contents_of(str(path))


def test_counters_and_arrays_of_newer_numpys_are_read(tmp_path):
    path = tmp_path / "m.pkl"
    steps = collections.Counter({30: 1})
    kept = collections.defaultdict(list, w=W)
    path.write_bytes(pickle.dumps([steps, kept, W.transpose()], 4))
    assert list(dump.contents_of(str(path)).arrays) == ["1/w", "2"]
    array = pickles._from_buffer(W.tobytes(), pickles.Type("f4"), (2, 3), "K", (1, 0)).array
    assert np.array_equal(array, W.T)


def test_constants_of_a_function_and_zeros_without_values_are_read(tmp_path):
    zeros = message((8, message((1, 1), (2, SHAPE))))
    const = message((1, "z"), (2, "Const"), (5, message((1, "value"), (2, zeros))))
    function = message((1, message((1, "body"))), (3, const))
    path = tmp_path / "frozen.pb"
    path.write_bytes(graph() + message((2, message((1, function)))))
    arrays = dump.contents_of(str(path)).arrays
    assert list(arrays) == ["w", "body/z"] and not arrays["body/z"].any()


class Layer:
    """A class that exists only where the network was pickled."""

    def __init__(self):
        self.weight = W


def test_a_class_is_not_imported_but_its_attributes_are_read(tmp_path, monkeypatch):
    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps({"fc": Layer()}, 2))
    monkeypatch.delattr(sys.modules[__name__], "Layer")
    assert list(dump.contents_of(str(path)).arrays) == ["fc/weight"]


class Saver(pickle.Pickler):
    """Writes tensors as PyTorch does: each storage is a persistent id."""

    def persistent_id(self, value):
        """A ("storage", type, key, place, size) tuple is one."""
        return value if isinstance(value, tuple) and value[:1] == ("storage",) else None


def saved_tensor(monkeypatch, strides=(1, 3), size=6, **marks):
    """The pickle of {"w": a transposed view of W}, as in an archive of PyTorch."""
    fake = types.ModuleType("torch")
    fake._utils = types.ModuleType("torch._utils")

    def _rebuild_tensor_v2():
        raise NotImplementedError

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = (
        "torch._utils",
        "_rebuild_tensor_v2",
    )
    fake._utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    fake.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setitem(sys.modules, "torch._utils", fake._utils)
    storage = ("storage", fake.FloatStorage, "0", "cpu", size)

    class Tensor:
        def __reduce__(self):
            return _rebuild_tensor_v2, (storage, 0, (3, 2), strides, False, {}, marks)

    out = io.BytesIO()
    Saver(out, 2).dump({"w": Tensor()})
    return out.getvalue()


def archived(data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("net/data.pkl", data)
        archive.writestr("net/data/0", W.tobytes())
    return out.getvalue()


def streamed(data):
    heads = [pickle.dumps(value, 2) for value in (0x1950A86A20F9469CFC6C, 1001, {})]
    parts = heads + [data, pickle.dumps(["0"], 2), struct.pack("<q", 6), W.tobytes()]
    return b"".join(parts)


@pytest.mark.parametrize("packed", [archived, streamed])
def test_tensors_are_built_from_their_storages(packed, monkeypatch, tmp_path):
    path = tmp_path / "m.pt"
    path.write_bytes(packed(saved_tensor(monkeypatch)))
    assert np.array_equal(dump.contents_of(str(path)).arrays["w"], W.T)


def test_a_tensor_that_is_marked_as_negative_is(monkeypatch, tmp_path):
    path = tmp_path / "m.pt"
    path.write_bytes(archived(saved_tensor(monkeypatch, neg=True)))
    assert np.array_equal(dump.contents_of(str(path)).arrays["w"], -W.T)


def test_graphs_inside_a_graph_and_every_kind_of_constant_are_read(tmp_path):
    """As of an If, whose branches may use the same names."""

    def constant(name, *value):
        return message((2, name), (4, "Constant"), (5, message(*value)))

    branches = [
        (5, message((1, name), (6, message((5, onnx_tensor("w"))))))
        for name in ("then_branch", "else_branch")
    ]
    nodes = [
        message((1, "c"), (2, "y"), (4, "If"), *branches),
        constant("f", (1, "value_float"), (2, 2.5)),
        constant("g", (1, "value_floats"), (7, 1.0), (7, 2.0)),
        constant("i", (1, "value_ints"), (8, 3), (8, 4)),
        constant("t", (1, "value_string"), (4, "text")),
        constant("v", (1, "value"), (5, onnx_tensor(""))),
    ]
    path = tmp_path / "m.onnx"
    path.write_bytes(message((1, 8), (7, message(*[(1, node) for node in nodes]))))
    arrays = dump.contents_of(str(path)).arrays
    assert list(arrays) == ["y.then_branch/w", "y.else_branch/w", "f", "g", "i", "v"]
    assert np.array_equal(arrays["y.else_branch/w"], W) and np.array_equal(arrays["v"], W)
    assert arrays["f"] == 2.5 and arrays["g"].tolist() == [1, 2] and arrays["i"].tolist() == [3, 4]


# Hostile files: {name: (bytes, words of the refusal)}.


class Runs:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch marker",)


class Makes:
    """Makes a huge array when it is unpickled."""

    def __reduce__(self):
        return np.ndarray, ((2**40,), "f8")


class Forges:
    """Makes an array of pointers from bytes: the type's state says that it holds no objects."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced

    @classmethod
    def array(cls, base, names, fields):
        """The numbers that stand for an object at address 0x41414141."""
        state = (3, "|", base, names, fields, 8, 1, 0)
        kind = cls(np.dtype, ("V8", False, True), state)
        start = np.zeros(1).__reduce__()[:2]
        return cls(*start, (1, (1,), kind, False, b"A" * 8))

    @classmethod
    def objects(cls, flags, name="O8"):
        """An array of this type, whose flags say whether its numbers are addresses."""
        kind = cls(np.dtype, (name, False, True), (3, "|", None, None, None, -1, -1, flags))
        start = np.zeros(1).__reduce__()[:2]
        return cls(*start, (1, (1,), kind, False, b"A" * 8))


def npz(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return out.getvalue()


def header(shape, dtype="<f4"):
    out = io.BytesIO()
    text = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, text)
    return out.getvalue()


def cut(data):
    return data[: len(data) - 3]


def packed_by(kind):
    """An archive whose member needs more than ``deflate``."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        archive.writestr("w.npy", header((2**20,)) + bytes(2**22))
    return out.getvalue()


# A storage of six numbers that a second opcode makes larger, and a tensor of so many.
ENLARGED = (
    b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n"
    b"X\x01\0\0\x000X\x03\0\0\0cpuK\x06tQ}X\x04\0\0\0sizeJ\x00\xca\x9a;sbK\x00J\x00\xe1\xf5\x05"
    b"\x85K\x01\x85\x89}tR."
)

HOSTILE = {
    "enlarged.pt": (archived(ENLARGED), "a state to an object that has none"),
    "keys.pkl": (b"\x80\x02})" + b"2\x86" * 60 + b"Ns.", "a key that is no name"),
    "deep.pkl": (b"\x80\x02})" + b"\x85" * 300000 + b"Ns.", "a key that is no name"),
    "memo.pkl": (b"\x80\x02Nr\0\0\0\x40.", "it counts more than 4194304 objects"),
    "memo0.pkl": (b"Np4194305\n.", "it counts more than 4194304 objects"),
    "bytes.pkl": (b"\x80\x04\x96" + b"\0" * 5 + b"\x10\0\0.", "length goes beyond the file"),
    "pointers.pkl": (pickle.dumps(Forges.objects(0), 2), "a type that takes numbers for addresses"),
    "objects.pkl": (pickle.dumps(Forges.objects(63), 2), "objects that are bytes"),
    "owned.pkl": (pickle.dumps(Forges.objects(63, "f8"), 2), "numbers for addresses"),
    "copies.pkl": (pickle.dumps([np.zeros(2**17)] * 10**4, 2), "more than the free memory"),
    "bzip2.npz": (packed_by(zipfile.ZIP_BZIP2), "packed in a way that is not read"),
    "lzma.npz": (packed_by(zipfile.ZIP_LZMA), "packed in a way that is not read"),
    "axes.onnx": (
        message((1, 8), (7, message((5, message(*[(1, 1)] * 99, (2, 1), (8, "w"), (9, b"0123")))))),
        "has 99 axes",
    ),
    "big-endian.ckpt": (table([(b"", message((1, 1), (2, 1)))]), "not little-endian"),
    "calls.pkl": (pickle.dumps([Runs()], 0), "it calls (posix|nt).system"),
    "calls2.pkl": (pickle.dumps({"w": W, "x": Runs()}, 2), "it calls (posix|nt).system"),
    "calls.pdparams": (pickle.dumps(Runs(), 4), "it calls (posix|nt).system"),
    "calls.pt": (archived(pickle.dumps(Runs(), 2)), "it calls (posix|nt).system"),
    "stream.pt": (streamed(pickle.dumps(Runs(), 2)), "it calls (posix|nt).system"),
    "huge.pkl": (pickle.dumps(Makes(), 2), "it calls numpy.ndarray"),
    "fields.pkl": (
        pickle.dumps(Forges.array(None, ("a",), {"a": (np.dtype("O"), 0)}), 2),
        "a type with fields",
    ),
    "base.pkl": (pickle.dumps(Forges.array((np.dtype("O"), (1,)), None, None), 2), "with fields"),
    "objects.npz": (npz(w_npy=header((1,), "|O") + pickle.dumps(Runs())), "objects, not numbers"),
    "claims.npz": (npz(w_npy=header((10**9, 10**9))), "shorter than its shape"),
    "code.npz": (npz(run_py=b"exit()"), "is not an array"),
    "beyond.onnx": (message((1, 8)) + b"\x3a\xff\xff\xff\x7f", "a length goes beyond the file"),
    "elsewhere.onnx": (
        message((1, 8), (7, message((5, message((8, "w"), (13, b"x"), (14, 1)))))),
        "is in another file",
    ),
    "shape.onnx": (
        message((1, 8), (7, message((5, message((1, 2**40), (2, 1), (8, "w"), (9, b"0" * 8)))))),
        "which is not shape",
    ),
    "cut.params": (cut(mxnet()), "a length goes beyond the file"),
    "count.params": (struct.pack("<3Q", 0x112, 0, 2**60), "a length goes beyond the file"),
    "beyond.safetensors": (safetensors(10**9), "goes beyond the file"),
    "shape.ckpt": (mindspore(shape=(2**40, 3)), "which is not shape"),
    "type.ckpt": (mindspore(kind="Int4"), "is Int4, which NumPy does not"),
    "parts.ckpt": (mindspore() + mindspore(kind="str"), "parts of several types"),
    "map.ckpt": (message((1, message((1, "w"), (3, b"")))), "is a map, not an array"),
    "sum.ckpt": (mindspore(total=1), "its checksum is wrong"),
    "secret.ckpt": (b"\xd8\x5e\x3a\x7f" + bytes(99), "it is encrypted"),
    "keys.msgpack": (
        b"\x81\xa1a" + b"\x81" * 40 + b"\xa1b" + b"\xc0" * 40,
        "a key that is no name",
    ),
    "count.ckpt": (
        table([(b"", message((1, 1)))]).replace(*[struct.pack("<2I", 0, n) for n in (1, 255)]),
        "counts more entries than it has bytes",
    ),
    "short.pb": (graph(PACKED[:8]), "which is not shape"),
    "objects.msgpack": (flax(kind="object"), "an array of the type object"),
    "shape.msgpack": (flax(shape=(100, 100)), "which is not shape"),
    "deep.msgpack": (b"\x81\xa1a" * 9999 + b"\xc0", "nested more than 200 times"),
    "long.msgpack": (b"\x81\xa1a\xdb\xff\xff\xff\xff", "a length goes beyond the file"),
    "more.msgpack": (flax() + b"\xc0", "goes on after its end"),
    "chunks.msgpack": (chunked((100, 100)), "which is not shape"),
    "packed.ckpt": (table([(b"w", b"")], kind=1), "compressed"),
    "names.ckpt": (table([(b"w" * 99, b"")] * 99, shared=99), "begins as none before it"),
    "overlaps.safetensors": (safetensors(24, twice=True), "has numbers of the array before it"),
    "other.bin": (b"\xff" * 99, "format"),
    "empty.pb": (b"", "format"),
}


def dumped(path, capsys):
    """(exit code, stderr) of the command."""
    code = commands.guarded(dump.command, [str(path)])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("file", list(HOSTILE))
def test_a_hostile_file_is_refused_in_one_line(file, tmp_path, monkeypatch, capsys):
    content, words = HOSTILE[file]
    monkeypatch.setattr(contents, "available", lambda: 2**30)
    monkeypatch.chdir(str(tmp_path))
    (tmp_path / file).write_bytes(content)
    code, error = dumped(tmp_path / file, capsys)
    assert code == 2 and error.count("\n") == 1 and len(error) < 400
    assert error.startswith("error: %s: " % (tmp_path / file))
    assert re.search(words, error), error
    assert [item.name for item in tmp_path.iterdir()] == [file]


def test_a_tensor_does_not_read_beyond_its_storage(monkeypatch, tmp_path, capsys):
    path = tmp_path / "m.pt"
    path.write_bytes(archived(saved_tensor(monkeypatch, strides=(1, 4))))
    code, error = dumped(path, capsys)
    assert code == 2 and "beyond its storage" in error
    path.write_bytes(archived(saved_tensor(monkeypatch, size=7)))
    code, error = dumped(path, capsys)
    assert code == 2 and "a storage is missing, or has another size" in error


def test_a_checkpoint_does_not_read_beyond_its_part(tmp_path, capsys):
    (tmp_path / "m.ckpt.index").write_bytes(checkpoint(size=2**40))
    (tmp_path / "m.ckpt.data-00000-of-00001").write_bytes(W.tobytes())
    code, error = dumped(tmp_path / "m.ckpt", capsys)
    assert code == 2 and error.count("\n") == 1


def test_a_list_in_two_places_is_read_twice_but_not_without_end(tmp_path, capsys):
    """As an average of weights that is the weights."""
    value, path = [W], tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps({"model": value, "average": value}, 2))
    assert list(dump.contents_of(str(path)).arrays) == ["model/0", "average/0"]
    for _ in range(60):
        value = [value, value]
    path.write_bytes(pickle.dumps(value, 2))
    code, error = dumped(path, capsys)
    assert code == 2 and "it repeats more than 100000 containers" in error
    loop = [W]
    loop.append(loop)
    path.write_bytes(pickle.dumps(loop, 2))
    assert list(dump.contents_of(str(path)).arrays) == ["0"]


def test_texts_and_none_in_a_snapshot_are_left_out(tmp_path):
    """As a trainer writes them."""
    path = tmp_path / "snapshot.npz"
    np.savez(str(path), w=W, log=np.array("a log"), none=np.array(None))
    assert list(dump.contents_of(str(path)).arrays) == ["w"]
    text = message((2, 8), (6, b"word"), (8, "words"))
    path.write_bytes(message((1, 8), (7, message((5, onnx_tensor("w")), (5, text)))))
    assert list(dump.contents_of(str(path)).arrays) == ["w"]


def test_constants_of_onnx_functions_are_read(tmp_path):
    path = tmp_path / "m.onnx"
    node = message((2, "v"), (4, "Constant"), (5, message((1, "value"), (5, onnx_tensor("")))))
    path.write_bytes(message((1, 8), (7, message()), (25, message((1, "Block"), (7, node)))))
    assert list(dump.contents_of(str(path)).arrays) == ["Block/v"]


@pytest.mark.parametrize("arguments, value", [((), 0), ((message((1, "value"), (2, 1.0)),), 1)])
def test_constants_that_caffe2_fills_in_are_read(arguments, value, tmp_path):
    path, shape = tmp_path / "init_net.pb", message((1, "shape"), (6, 2), (6, 3))
    fields = [(5, argument) for argument in (shape, *arguments)]
    path.write_bytes(message((1, "init"), (2, message((2, "b"), (4, "ConstantFill"), *fields))))
    array = dump.contents_of(str(path)).arrays["b"]
    assert array.dtype == np.float32 and np.array_equal(array, np.full((2, 3), value))


def test_complex_numbers_of_a_graph_are_read(tmp_path):
    path, parts = tmp_path / "frozen.pb", [(9, 1.0), (9, 2.0), (9, 3.0), (9, 4.0)]
    value = message((8, message((1, 8), (2, message((2, message((1, 2))))), *parts)))
    const = message((1, "w"), (2, "Const"), (5, message((1, "value"), (2, value))))
    path.write_bytes(message((1, const)))
    assert dump.contents_of(str(path)).arrays["w"].tolist() == [1 + 2j, 3 + 4j]


def test_a_header_as_long_as_mxnets_magic_number_is_one_of_safetensors(tmp_path):
    path, data = tmp_path / "m.safetensors", safetensors()
    size = struct.unpack("<Q", data[:8])[0]
    text = data[8 : 8 + size].ljust(0x112)
    path.write_bytes(struct.pack("<Q", 0x112) + text + data[8 + size :])
    assert list(dump.contents_of(str(path)).arrays) == ["w"]


def test_a_name_with_a_slash_is_kept_in_pytorchs_files(monkeypatch, tmp_path):
    path = tmp_path / "m.pt"
    data = saved_tensor(monkeypatch).replace(b"\1\0\0\0w", b"\3\0\0\0e/w")
    path.write_bytes(archived(data))
    assert list(dump.contents_of(str(path)).arrays) == ["e/w"]


def test_parameters_of_the_first_pytorchs_are_read(monkeypatch, tmp_path):
    """Each is a call with its tensor, and a state; a whole network names its backend."""
    path, data = tmp_path / "m.pt", saved_tensor(monkeypatch)
    start, tensor = data.split(b"X\1\0\0\0wq\1")
    backend = b"X\1\0\0\0bctorch.nn.backends.thnn\n_get_thnn_function_backend\n)Rs"
    parameter = b"ctorch.nn.parameter\nParameter\n" + tensor[: -len(b"s.")]
    parameter += b"\x85R" + b"\x88\x89N\x87b"  # called with the tensor; (True, False, None)
    path.write_bytes(archived(start + backend + b"X\1\0\0\0w" + parameter + b"s."))
    assert np.array_equal(dump.contents_of(str(path)).arrays["w"], W.T)


@pytest.mark.parametrize("file", sorted(MADE) + ["calls2.pkl", "stream.pt"])
def test_no_damage_raises_more_than_one_line(file, tmp_path, capsys):
    content = MADE[file][0]() if file in MADE else HOSTILE[file][0]
    random, path = np.random.RandomState(0), tmp_path / file
    for _ in range(60):
        spoilt = bytearray(content)
        for at in random.randint(0, len(spoilt), 3):
            spoilt[at] = random.randint(256)
        path.write_bytes(bytes(spoilt[: random.randint(1, len(spoilt) + 1)]))
        code, error = dumped(path, capsys)
        assert code in (0, 2) and error.count("\n") == (code == 2)


def test_links_in_hdf5_are_refused(tmp_path, capsys):
    (tmp_path / "other").write_bytes(b"secret..")

    def spoilt(spoil):
        path = tmp_path / "m.h5"
        with h5py.File(str(path), "w") as file:
            file["d1/kernel"] = W
            spoil(file)
        return dumped(path, capsys)

    def external(file):
        file.create_dataset("x", (8,), "u1", external=[(str(tmp_path / "other"), 0, 8)])

    for spoil, words in (
        (lambda file: None, ""),
        (lambda file: file.__setitem__("x", h5py.ExternalLink("other", "/")), "is a link"),
        (lambda file: file.__setitem__("x", h5py.SoftLink("/d1")), "is a link"),
        (lambda file: file["d1"].__setitem__("x", file["/"]), "inside itself"),
        (lambda file: file.__setitem__("x", file["d1"]), "is there twice"),
        (external, "is in another file"),
        (lambda file: file.create_dataset("x", (2**40,), "u1", chunks=True), "claims"),
    ):
        code, error = spoilt(spoil)
        assert code == (2 if words else 0) and words in error
        assert "damaged" not in error  # it is refused, not misread


def test_out_has_the_arrays(tmp_path, capsys):
    (tmp_path / "m.onnx").write_bytes(onnx())
    out = tmp_path / "out.npz"
    assert commands.guarded(dump.command, [str(tmp_path / "m.onnx"), str(out)]) == 0
    printed = capsys.readouterr().out
    assert "layer  MatMul" in printed and "2 arrays in" in printed
    with np.load(str(out)) as archive:
        assert np.array_equal(archive["w"], W) and list(archive["i"]) == [-1, 5]


@pytest.mark.parametrize("count", [1, 2, 3, 70])
def test_repeated_numbers_are_taken_together(count):
    values = [float(n) for n in range(count)]
    given = Message(message(*([(5, value) for value in values] + [(6, 7), (5, 9.0)])))
    assert given.floats(5).tolist() == values + [9.0] and given.one(6) == 7
    assert len(given.all(5)) == 2


def test_bfloat16_of_keras_becomes_float32_and_other_types_are_refused(tmp_path, capsys):
    path, bits = tmp_path / "m.h5", (W.view("<u4") >> 16).astype("<u2")
    with h5py.File(str(path), "w") as file:
        file.create_dataset("d/kernel", data=bits.view("V2")).attrs["dtype"] = "bfloat16"
        file.attrs["model_config"] = np.int64(3 * 10**10)  # not a text of so many bytes
    assert np.array_equal(dump.contents_of(str(path)).arrays["d/kernel"], W)
    with h5py.File(str(path), "a") as file:
        file["table"] = np.zeros(3, [("a", "f4"), ("b", "f4")])
    code, error = dumped(path, capsys)
    assert code == 2 and "table is" in error and "not numbers" in error


def test_a_container_has_less_memory_than_the_machine(tmp_path):
    group, membership = tmp_path / "box", tmp_path / "membership"
    group.mkdir()
    membership.write_text("0::/box\n")
    where = str(tmp_path), str(membership)
    (group / "memory.max").write_text("5000\n")
    (group / "memory.current").write_text("4000\n")
    assert memory.available(*where) == 1000 - 125  # an eighth is spared
    (group / "memory.stat").write_text("active_file 7\ninactive_file 2000\nx 1\n")
    assert memory.available(*where) == 3000 - 375
    (group / "memory.max").write_text("max\n")
    assert memory.available(*where) > 3000


def test_memory_of_a_group_of_version_1(tmp_path):
    group, membership = tmp_path / "memory" / "box", tmp_path / "membership"
    group.mkdir(parents=True)
    membership.write_text("4:memory:/box\n3:cpu,cpuacct:/\n")
    (group / "memory.limit_in_bytes").write_text("8000")
    (group / "memory.usage_in_bytes").write_text("8000")
    (group / "memory.stat").write_text("inactive_file 1\ntotal_inactive_file 1600\n")
    assert memory.available(str(tmp_path), str(membership)) == 1400


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system has no limit")
def test_a_block_with_limited_memory_raises_before_the_memory_is_full(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 2**28)
    with pytest.raises(MemoryError), memory.limited():
        np.empty(2**30, "u1")
    assert np.empty(2**30, "u1").size == 2**30


def test_a_closed_pipe_ends_quietly(tmp_path):
    (tmp_path / "m.onnx").write_bytes(onnx())
    command = "%s -m common.dump %s | true" % (sys.executable, tmp_path / "m.onnx")
    done = subprocess.run(command, shell=True, cwd=ROOT, stderr=subprocess.PIPE)
    assert done.stderr == b""


def test_names_that_a_terminal_cannot_write_are_printed_all_the_same(tmp_path):
    np.savez(str(tmp_path / "m.npz"), **{"\u6743": W})
    command = [sys.executable, "-m", "common.dump", str(tmp_path / "m.npz")]
    environ = dict(os.environ, PYTHONIOENCODING="ascii")
    done = subprocess.run(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE)
    assert done.returncode == 0 and done.stdout.startswith(b"? ")
