"""Paddle: the trained model tells its types and programs; threads are counted as they work."""

import paddle
from paddle.jit.dy2static.program_translator import StaticFunction

from frameworks.effects import busy_threads
from frameworks.paddle import profile

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
        "onednn": "onednn_to_paddle_layout" in operations(network),
    }


def compiled(network):
    """Whether the network's passes, or those of its convolutions, ran as a compiled program."""
    programs = [layer.forward for layer in network.sublayers(include_self=True)]
    programs = [getattr(program, "program", program) for program in programs]
    return any(isinstance(f, StaticFunction) and len(f.program_cache) > 0 for f in programs)


def operations(network):
    """The names of the operations of a forward pass."""
    batches = [paddle.zeros((64, 3, 32, 32))]
    return profile.profile(lambda: network, lambda network, xs: map(network, xs), batches)
