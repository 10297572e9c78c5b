"""Malicious files in Lightning's own format; see ``tests/native/hostile.py``."""

import torch


class Marks:
    """An object that makes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (self.marker, "w")


def pickle_beside_the_state(path, marker):
    """A checkpoint with hyperparameters that run code."""
    checkpoint = torch.load(path, weights_only=True)
    torch.save(dict(checkpoint, hyper_parameters=Marks(marker)), path)
    return "not weights of this network"


ATTACKS = {".ckpt": (pickle_beside_the_state,)}
