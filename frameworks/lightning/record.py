"""Recording a pass through a network in Lightning.

Idiom: a ``LightningModule`` is a module of PyTorch's, with whose recorder it is recorded: a trainer
    gives the results of steps alone.
Surprise: ``trainer.predict`` would first move the network to a device and afterwards back.
"""

from frameworks.pytorch.record import record

__all__ = ["record"]
