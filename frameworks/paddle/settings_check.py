"""Paddle: the trained model tells its types and programs; threads are counted as they work."""

import paddle
from paddle.jit.dy2static.program_translator import StaticFunction

from frameworks.effects import busy_threads

TRACE_RUN = "FLAGS_enable_pir_in_executor_trace_run"


def in_force(module, settings, model):
    network, _, optimizer = model
    tensors = list(network.parameters())
    tensors += [state for state in optimizer.state_dict().values() if hasattr(state, "dtype")]
    (precision,) = {str(tensor.dtype) for tensor in tensors}
    return {
        "precision": precision.replace("paddle.", ""),
        "threads": busy_threads(lambda: network(paddle.zeros((64, 3, 32, 32)))),
        "to_static": compiled(network),
        "trace_run": paddle.get_flags(TRACE_RUN)[TRACE_RUN],
    }


def compiled(network):
    """Whether the network's passes ran as a compiled program."""
    forward = network.forward
    return isinstance(forward, StaticFunction) and len(forward.program_cache) > 0
