"""Caffe2's own file of weights, an ``init_net``.

Idiom: weights are saved as a net whose operators fill blobs; ``mobile_exporter`` makes it.
Surprise: loading weights means running a net, and a net can do anything. Here only its fill
    operators are read.
"""

import numpy as np
from caffe2.proto import caffe2_pb2
from caffe2.python import utils, workspace
from caffe2.python.predictor import mobile_exporter


def parameters(predict_net):
    """The names of the blobs that hold weights: the net's inputs except the images."""
    return [name for name in predict_net.Proto().external_input if name != "x"]


def save(model, path):
    """Write the model's weights as the net that fills them in."""
    train_net, predict_net, _ = model
    workspace.SwitchWorkspace(train_net.Name())
    init_net, _ = mobile_exporter.Export(workspace, predict_net, parameters(predict_net))
    with open(path, "wb") as file:
        file.write(init_net.SerializeToString())


def restore(model, path):
    """Read weights into the model."""
    train_net, predict_net, device = model
    init_net = caffe2_pb2.NetDef()
    with open(path, "rb") as file:
        init_net.ParseFromString(file.read())
    other = [operator.type for operator in init_net.op if operator.type != "GivenTensorFill"]
    if other:
        raise ValueError("it holds the operator %s, which is no fill" % other[0])
    workspace.SwitchWorkspace(train_net.Name())
    filled = {operator.output[0]: utils.ArgsToDict(operator.arg) for operator in init_net.op}
    for name in parameters(predict_net):
        values = np.array(filled[name]["values"], np.float32)
        workspace.FeedBlob(name, values.reshape(filled[name]["shape"]), device)
