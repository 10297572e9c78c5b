"""Malicious files in Lightning's own format; see ``tests/native/hostile.py``."""

import torch

from frameworks.hostile import Marks


def pickle_beside_the_state(path, marker):
    """A checkpoint with hyperparameters that run code."""
    checkpoint = torch.load(path, weights_only=True)
    torch.save(dict(checkpoint, hyper_parameters=Marks(marker)), path)
    return "not weights of this network"


ATTACKS = {".ckpt": (pickle_beside_the_state,)}
