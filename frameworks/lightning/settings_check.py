"""Lightning: its trainer, and PyTorch's switches and kernels."""

import torch
from torch import nn

from frameworks.pytorch.settings_check import flush_denormal, jit, tf32


def in_force(module, settings, model):
    classifier, trainer = model
    optimizer = classifier.optimizer
    tensors = list(classifier.parameters())
    tensors += [state["momentum_buffer"] for state in optimizer.state.values()]
    (precision,) = {str(tensor.dtype) for tensor in tensors}
    assert trainer.precision == "32-true"
    assert trainer.accumulate_grad_batches == 1
    assert trainer.gradient_clip_val is None
    kernels = [layer.weight for layer in classifier.network if isinstance(layer, nn.Conv2d)]
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
