"""List and convert the arrays of a file of weights, whatever framework wrote it.

The file's content decides how it is read. Nothing in it is run, and no class in it is imported.
"""

import io
import os

from common.dump import (
    arrays,
    caffe,
    caffe2,
    cntk,
    hdf5,
    mindspore,
    msgpack,
    mxnet,
    onnx,
    pickles,
    sstable,
    tensorflow,
    torch,
)
from common.dump.contents import Contents, Refused
from common.dump.protobuf import Message
from common.system import array_files, commands, memory, zips
from common.system.errors import InputError
from common.system.files import check_writable

KNOWN = (
    ".npz, .safetensors, .h5, .keras, .onnx, .pt, .pth, .params, .model, .caffemodel, .pb, .pkl, "
    ".pdparams, .msgpack, .ckpt, or a checkpoint"
)


def of_zip(file):
    """``Contents`` of an archive."""
    with zips.opened(file) as zipped:
        names = zipped.namelist()
        if "model.weights.h5" in names:
            return hdf5.keras(zipped)
        if torch.is_archive(names):
            return torch.archive(zipped)
        return arrays.npz(zipped)


def of_messages(path, data):
    """``Contents`` of protocol buffers: which, their fields say."""
    data = mindspore.plain(data)
    try:
        message = Message(data)
    except Refused as error:
        raise Refused("it is damaged or has an unknown format: %s" % error)
    if mindspore.is_one(message):
        return mindspore.read(message)
    if tensorflow.is_graph(message):
        return tensorflow.graph(message)
    if message.is_bytes(7) and not message.is_bytes(1):
        return onnx.read(message)
    if cntk.is_one(message):
        return cntk.read(message)
    if os.path.basename(path) == "saved_model.pb":
        raise Refused("its weights are in variables/variables.index, if it has variables")
    if caffe.is_one(message):
        return caffe.read(message)
    if caffe2.is_one(message):
        return caffe2.read(message, path)
    raise Refused("it has an unknown format: %s" % KNOWN)


def contents_of(path):
    """``Contents`` of a file, or of the checkpoint with this prefix; InputError names the fault."""
    for part in ("", ".index", "/variables/variables.index"):  # of a checkpoint, a saved model
        if os.path.isfile(path + part):
            path += part
            break
    try:
        with open(path, "rb") as file, memory.limited():
            if os.path.getsize(path) > Contents().room:
                raise Refused("it is larger than the free memory")
            return read(path, file.read())
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror or error))
    except InputError as error:
        raise InputError("%s: %s" % (path, error))
    except MemoryError:
        raise InputError("%s: it needs more than the free memory" % path)
    except Exception as error:  # a broken file can raise almost anything
        fault = " ".join(("%s: %s" % (type(error).__name__, error)).split())[:160]
        raise InputError("%s: it is damaged or has an unknown format (%s)" % (path, fault))


def read(path, data):
    """``Contents`` of a file's bytes."""
    if data[:4] == b"PK\x03\x04":
        return of_zip(io.BytesIO(data))
    if data[:8] == hdf5.MAGIC:
        return hdf5.read(data)
    if arrays.is_safetensors(data):  # its header may have as many bytes as MXNet's magic number
        return arrays.read_safetensors(data)
    if data[:8] == mxnet.MAGIC:
        return mxnet.read(path, data)
    if sstable.is_one(data):
        return tensorflow.tables(path, data)
    if torch.is_stream(data):
        return torch.stream(io.BytesIO(data))
    if msgpack.is_one(data):
        return msgpack.read(data)
    if data[:1] == b"\x80" or path.endswith((".pkl", ".pickle", ".pdparams", ".p")):
        return pickles.read(io.BytesIO(data))
    return of_messages(path, data)


def lines(contents):
    """The arrays and layers as lines of text."""
    for name, array in contents.arrays.items():
        yield "%-40s %-9s %s" % (name, array.dtype, array.shape)
    for kind, name, inputs, outputs in contents.layers:
        wires = " ".join(inputs) + (" -> " + " ".join(outputs) if outputs else "")
        yield ("layer  %-20s %-20s %s" % (kind, name, wires)).rstrip()


def command(arguments):
    """Exit code 0, or 2 for a file that cannot be read."""
    parser = commands.OneLineParser(prog="dump", description=__doc__)
    parser.add_argument("file", metavar="FILE", help=KNOWN)
    parser.add_argument(
        "out", metavar="OUT", nargs="?", help=".npz or .safetensors; without it, list the arrays"
    )
    options = parser.parse_args(arguments)
    if options.out:
        array_files.ending(options.out)
        check_writable(options.out)
    contents = contents_of(options.file)
    if options.out and contents.arrays:
        array_files.write(options.out, contents.arrays)
    for line in lines(contents):
        print(commands.printable(line)[:500])
    if not contents.arrays:
        raise InputError("%s: it contains no arrays" % options.file)
    if options.out:
        print("%d arrays in %s" % (len(contents.arrays), options.out))
    return 0
