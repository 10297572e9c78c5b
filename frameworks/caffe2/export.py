"""Caffe2's network as ONNX.

Idiom: the frontend takes a net, the net that fills its weights in, and its inputs' shapes.
Surprise: it runs the net to infer shapes, and supports neither copies between devices nor arguments
    for training. So both are removed.
"""

from caffe2.proto import caffe2_pb2
from caffe2.python import workspace
from caffe2.python.onnx import frontend
from caffe2.python.predictor import mobile_exporter

FOR_TRAINING = ("no_gradient_to_input", "training_mode")


def plain_net(net):
    """The net with all of its operators on the CPU, without copies to IDEEP and back."""
    plain, same = caffe2_pb2.NetDef(), {}
    plain.CopyFrom(net)
    del plain.op[:]
    for operator in net.op:
        inputs = [same.get(name, name) for name in operator.input]
        if operator.type.startswith("Copy"):
            same[operator.output[0]] = inputs[0]
            continue
        kept = plain.op.add()
        kept.CopyFrom(operator)
        kept.ClearField("device_option")
        del kept.input[:], kept.arg[:]
        kept.input.extend(inputs)
        kept.arg.extend(arg for arg in operator.arg if arg.name not in FOR_TRAINING)
    plain.external_output.append(plain.op[-1].output[0])
    return plain


def export(model, x, path):
    """Write the network as ``.onnx``, for one image at a time. x: some images."""
    train_net, predict_net, _ = model
    workspace.SwitchWorkspace(train_net.Name())
    net = plain_net(predict_net.Proto())
    weights = [name for name in net.external_input if name != "x"]
    init_net, _ = mobile_exporter.Export(workspace, net, weights)
    filled = [operator for operator in init_net.op if operator.output[0] in weights]
    del init_net.op[:]
    init_net.op.extend(filled)
    written = frontend.caffe2_net_to_onnx_model(net, init_net, {"x": (1, x[:1].shape)})
    with open(path, "wb") as file:
        file.write(written.SerializeToString())
