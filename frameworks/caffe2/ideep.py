"""Caffe2's operators on IDEEP, a CPU's second device: oneDNN with its own tensors.

Idiom: a net is a list of operators in a protobuf message; each names its device.
Surprise: Caffe2 knows no gradient of a copy to or from IDEEP, so nets that train need one here.
"""

from caffe2.proto import caffe2_pb2
from caffe2.python import core

IDEEP = core.DeviceOption(caffe2_pb2.IDEEP)


def copy(name, blob_in, blob_out):
    """The operator that copies a blob to or from IDEEP."""
    return core.CreateOperator(name, [blob_in], [blob_out], device_option=IDEEP)


@core.GradientRegistry.RegisterGradient("CopyCPUToIDEEP")
@core.GradientRegistry.RegisterGradient("CopyIDEEPToCPU")
def copy_back(op, gradients):
    """The gradient of a copy, which Caffe2 lacks: the opposite copy."""
    name = "CopyIDEEPToCPU" if op.type == "CopyCPUToIDEEP" else "CopyCPUToIDEEP"
    blob = op.input[0] + "_grad"
    return copy(name, gradients[0], blob), [blob]


def on_ideep(net, types):
    """Move a net's operators of these types to IDEEP, and add copies where other operators follow.

    Weights stay on the CPU: IDEEP keeps them in an order of its own, which its update mixes up.
    """
    operators = []
    on_device, only_there = set(), set()  # blobs that IDEEP has; those that the CPU lacks

    def fetch(names):
        for name in only_there.intersection(names):
            operators.append(copy("CopyIDEEPToCPU", name + "_ideep", name))
            only_there.remove(name)

    for op in net.Proto().op:
        if op.type not in types:
            fetch(op.input)
            on_device.difference_update(op.output)
            only_there.difference_update(op.output)
        else:
            for name in set(op.input) - on_device:
                operators.append(copy("CopyCPUToIDEEP", name, name + "_ideep"))
            on_device.update(op.input, op.output)
            only_there.update(op.output)
            op.device_option.CopyFrom(IDEEP)
            for names in (op.input, op.output):
                names[:] = [name + "_ideep" for name in names]
            if op.type == "Conv":  # or it keeps the first weights that it sees
                op.arg.add(name="training_mode", i=1)
        operators.append(op)
    del net.Proto().op[:]
    net.Proto().op.extend(operators)
