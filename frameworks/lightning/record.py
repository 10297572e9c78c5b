"""Recording a pass through a network in Lightning.

Idiom: a ``LightningModule`` is a module of PyTorch's, with whose recorder it is recorded: a trainer
    gives the results of steps alone.
Surprise: ``trainer.predict`` would first move the network to a device and afterwards back.
"""

from frameworks.pytorch import record as hooks


def record(network, x):
    """{name: array} of the inputs and of each layer's result, in the order of computation."""
    return hooks.record(network, x)
