"""Malicious files in Caffe2's own format; see ``tests/native/hostile.py``."""

from caffe2.proto import caffe2_pb2


def operator(path, marker):
    """A net that does more than fill blobs."""
    net = caffe2_pb2.NetDef()
    with open(path, "rb") as file:
        net.ParseFromString(file.read())
    harm = net.op.add()
    harm.type = "Save"
    harm.input.append("conv1_w")
    with open(path, "wb") as file:
        file.write(net.SerializeToString())
    return "it holds the operator Save"


ATTACKS = {".pb": (operator,)}
