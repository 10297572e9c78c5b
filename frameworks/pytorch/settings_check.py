"""PyTorch: switches are read from ``torch.backends``, the rest from the trained model."""

import torch
from torch import nn


def in_force(module, settings, model):
    network, _, optimizer = model
    tensors = list(network.parameters())
    tensors += [state["momentum_buffer"] for state in optimizer.state.values()]
    (precision,) = {str(tensor.dtype) for tensor in tensors}
    kernels = [layer.weight for layer in network if isinstance(layer, nn.Conv2d)]
    formats = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
    stored = [
        name
        for name, memory_format in formats.items()
        if all(kernel.is_contiguous(memory_format=memory_format) for kernel in kernels)
    ]
    with torch.profiler.profile() as profile:
        optimizer.step()
    updates = {event.key for event in profile.key_averages()}
    return {
        "precision": precision.replace("torch.", ""),
        "threads": torch.get_num_threads(),
        "flush_denormal": flush_denormal(),
        "memory_format": stored[0],
        "tf32": tf32(tensors[0].device),
        "autotune": torch.backends.cudnn.benchmark,
        "fused_optimizer": "aten::_fused_sgd_" in updates,
        "jit": jit(),
    }


def flush_denormal():
    """Whether denormal numbers become 0, in all threads: there are enough numbers for each."""
    return not bool((torch.full((2**22,), 1e-40) * 1).any())


def tf32(device):
    """TF32's effect: it keeps 10 bits of 1 + 2**-12, so that a product is exactly 1."""
    one = torch.full((64, 64), 1 + 2**-12, device=device)
    unit = torch.eye(64, device=device)
    image, kernel = one.reshape(1, 64, 8, 8), unit.reshape(64, 64, 1, 1)
    return bool((one @ unit == 1).any() or (nn.functional.conv2d(image, kernel) == 1).any())


def jit():
    """Whether ``torch.compile`` has compiled anything."""
    return bool(torch._dynamo.utils.counters["frames"])


def older():
    """Take away what PyTorch 2.8 lacks."""
    del type(torch.backends.cudnn).conv
