"""MXNet, Gluon and Module: ask the optimiser, the graph and the running threads."""

import json

import mxnet as mx
import threadpoolctl


def in_force(module, settings, model):
    if "hybridize" in settings:
        network, _, trainer = model
        optimizer, updater = trainer.optimizer, trainer._updaters[0]
        arrays = [parameter.data() for parameter in network.collect_params().values()]
        graph = dict(network._flags, hybridize=network._active)
        # MXNet reads this again for each convolution that it makes for a GPU.
        autotune = mx.util.getenv("MXNET_CUDNN_AUTOTUNE_DEFAULT")
    else:
        trainer, predictor = model
        optimizer, updater = trainer._optimizer, trainer._updater
        arrays = list(trainer.get_params()[0].values())
        graph = {"subgraph_backend": _subgraph_backend(predictor)}
        autotune = trainer.symbol.attr_dict()["conv1"]["cudnn_tune"]
    precisions = {array.dtype for array in arrays}
    precisions |= {state.dtype for state in updater.states.values()}
    (precision,) = precisions
    # Its own OpenMP, whose workers all start with as many threads as the process was given.
    openmp = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "openmp"]
    (threads,) = {one["num_threads"] for one in openmp}
    return dict(
        graph,
        precision=precision.__name__,
        threads=threads,
        autotune=autotune,
        tensor_core_conversion=mx.util.getenv("MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"),
        tf32_override=str(int(_tf32(arrays[0].context))),
        openmp=_openmp(),
        optimizer_aggregation=optimizer.aggregate_num,
        onednn=_onednn(),
    )


def _subgraph_backend(predictor):
    """NONE if the bound graph has none of oneDNN's fused operators."""
    executor = predictor._exec_group.execs[0]
    nodes = json.loads(executor.get_optimized_symbol().tojson())["nodes"]
    return "MKLDNN" if any(node["op"].startswith("_sg_mkldnn") for node in nodes) else "NONE"


def _openmp():
    """The OpenMP in use: Intel's is loaded only if it was preloaded, and then before all others."""
    found = {one["prefix"] for one in threadpoolctl.threadpool_info()}
    return "Intel" if "libiomp" in found else "GNU"


def _onednn():
    """oneDNN's effect: its log-softmax differs from MXNet's own, which a temperature selects."""
    scores = mx.nd.random.uniform(-3, 3, (64, 10))
    own = mx.nd.log_softmax(scores, temperature=1)
    return bool((mx.nd.log_softmax(scores) != own).asnumpy().any())


def _tf32(device):
    """TF32's effect: it keeps 10 bits of 1 + 2**-12, so that a product is exactly 1."""
    product = mx.nd.dot(mx.nd.full((64, 64), 1 + 2**-12, ctx=device), mx.nd.eye(64, ctx=device))
    return bool((product == 1).asnumpy().any())
