"""Profile Lightning: the time of each operation of PyTorch.

Idiom: ``Trainer(profiler="simple")`` times the trainer's own calls, ``profiler="pytorch"`` the
    operations of PyTorch, with the profiler that goes around the steps here.
Surprise: the update is inside a closure, so that a step's forward and backward pass are parts of
    the optimiser's call.
"""

from frameworks.pytorch.profile import profile

__all__ = ["profile"]
