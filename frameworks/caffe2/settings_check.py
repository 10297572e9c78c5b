"""Caffe2: operators and blobs show their settings, OpenMP its threads."""

import threadpoolctl
from caffe2.proto import caffe2_pb2
from caffe2.python import utils, workspace


def in_force(module, settings, model):
    nets = [net.Proto() for net in model[:2]]
    workspace.SwitchWorkspace(nets[0].name)
    operators = [operator for net in nets for operator in net.op]
    blobs = {blob for operator in operators for blob in operator.output}
    floats = [
        blob for blob in blobs if blob.startswith(module.LAYERS + ("drop", "loss", "softmax"))
    ]
    precisions = {str(workspace.FetchBlob(blob).dtype) for blob in floats}
    (precision,) = precisions - {"bool"}  # the dropout masks
    convolutions = [operator for operator in operators if operator.type.startswith("Conv")]
    (engine,) = {operator.engine for operator in convolutions}
    (net_type,) = {net.type for net in nets}
    openmp = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "openmp"]
    (threads,) = {one["num_threads"] for one in openmp}
    return {
        "precision": precision,
        "threads": threads,
        "engine": engine,
        "ideep": " ".join(sorted(_on_ideep(operators))),
        "cudnn_exhaustive_search": _exhaustive_search(convolutions),
        "net_type": net_type,
    }


def _on_ideep(operators):
    """The types whose operators all ran on IDEEP: their results are IDEEP tensors."""
    written = workspace.C.Workspace.current.blobs
    there, elsewhere = set(), set()
    for operator in operators:
        kind = operator.type.replace("Gradient", "")
        moved = operator.device_option.device_type == caffe2_pb2.IDEEP
        own = moved and not written[operator.output[0]].is_tensor()
        (there if own else elsewhere).add(kind)
    return there - elsewhere - {"CopyCPUToIDEEP", "CopyIDEEPToCPU"}


def _exhaustive_search(convolutions):
    """Whether every convolution lets cuDNN try its algorithms."""
    arguments = [utils.ArgsToDict(operator.arg) for operator in convolutions]
    return all(one.get("exhaustive_search") for one in arguments)
