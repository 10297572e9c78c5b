"""rosetta record MODEL.onnx INPUTS.npz OUT.npz: what every node of an ONNX file computes.

ONNX Runtime returns only the outputs of a graph, so all results become outputs. To add them, a
second message is appended to the file: protobuf merges it with the first.
"""

import os
from collections import OrderedDict

import numpy as np

from common.dump.contents import Refused
from common.dump.protobuf import Message
from common.system import array_files, commands
from common.system.errors import InputError
from common.system.files import check_writable

GRAPH, NODE, OUTPUT, NAME = 7, 1, 12, 1  # fields of ModelProto, GraphProto, ValueInfoProto
FOLDER = "session.model_external_initializers_file_folder_path"


def record(path, inputs):
    """{name: array} of the inputs and of every node's results, in the order of computation.

    inputs: {name: array} by the names of the graph's inputs; or an array, if it has only one.
    """
    session, names = _session(path)
    wanted = [given.name for given in session.get_inputs()]
    if not isinstance(inputs, dict):
        inputs = {wanted[0]: inputs}
    if set(wanted) != set(inputs):
        values = (path, ", ".join(wanted), ", ".join(inputs))
        raise InputError("%s needs the inputs %s, not %s" % values)
    found = OrderedDict((name, np.asarray(inputs[name])) for name in wanted)
    try:
        results = session.run(names, dict(found))
    except Exception as error:  # the library's exceptions have no common class
        raise InputError("%s: %s" % (path, str(error).splitlines()[0]))
    for name, value in zip(names, results):
        # A list is no array, and text no number.
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" and value.size:
            found[name] = value
    return found


def _session(path):
    """(a session that outputs all results, their names)"""
    try:
        import onnxruntime
    except ImportError:
        raise InputError("this needs onnxruntime: pip install onnxruntime")
    try:
        with open(path, "rb") as file:
            data = file.read()
        graph = Message(data).message(GRAPH)
        names = _results(graph)
    except (OSError, Refused) as error:
        raise InputError("%s: %s" % (path, error))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry(FOLDER, os.path.dirname(os.path.abspath(path)))
    known = {output.text(NAME) for output in graph.inner(OUTPUT)}
    new = [name for name in names if name not in known]
    outputs = b"".join(_field(OUTPUT, _field(NAME, name.encode())) for name in new)
    try:
        session = onnxruntime.InferenceSession(
            data + _field(GRAPH, outputs), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise InputError("%s: %s" % (path, str(error).splitlines()[0]))
    return session, names


def _results(graph):
    """The names of the nodes' results, in the order of computation."""
    nodes = [node for node in graph.inner(NODE) if node.text(4) != "Constant"]
    if not nodes:
        raise Refused("it is no ONNX model")
    return [name for node in nodes for name in node.texts(2) if name]


def _field(number, data):
    """A field of bytes on the wire."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value):
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes(made + bytes([value]))


def command(arguments):
    """Write the recording of a model; exit code 0."""
    parser = commands.OneLineParser(prog="rosetta record", description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("inputs", metavar="INPUTS.npz")
    parser.add_argument("out", metavar="OUT.npz")
    options = parser.parse_args(arguments)
    array_files.ending(options.out)
    check_writable(options.out)
    inputs = dict(array_files.read(options.inputs))
    found = record(options.model, inputs)
    array_files.write(options.out, found)
    print("%s: %d arrays" % (options.out, len(found)))
    return 0
