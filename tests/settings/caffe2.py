"""Caffe2: operators and blobs are asked what they are, OpenMP for its threads."""

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
        "pool_device": _pool_device(operators),
        "cudnn_exhaustive_search": _exhaustive_search(convolutions),
        "net_type": net_type,
    }


def _pool_device(operators):
    """Where the pools ran, forward and backward: what they wrote is that device's own."""
    pools = [operator for operator in operators if operator.type.startswith("MaxPool")]
    (kind,) = {operator.device_option.device_type for operator in pools}
    written = [workspace.C.Workspace.current.blobs[pool.output[0]] for pool in pools]
    (plain,) = {blob.is_tensor() for blob in written}
    return "IDEEP" if kind == caffe2_pb2.IDEEP and not plain else "CUDA"


def _exhaustive_search(convolutions):
    """Whether every convolution was told to let cuDNN try its algorithms."""
    arguments = [utils.ArgsToDict(operator.arg) for operator in convolutions]
    return all(one.get("exhaustive_search") for one in arguments)
