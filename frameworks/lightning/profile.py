"""Profile Lightning: the time of each operation of PyTorch.

Idiom: ``Trainer(profiler="simple")`` times the trainer's own calls, ``profiler="pytorch"`` the
    operations of PyTorch, with the profiler that goes around the pass here.
Surprise: forward and backward pass are a closure that the optimiser's ``step`` calls, so all
    operations are inside that call.
"""

from functools import partial

from frameworks.pytorch import profile as pytorch

profile = partial(pytorch.profile, inside="Optimizer.step")
