"""Malicious files in PyTorch's own format; see ``tests/native/hostile.py``."""

import torch

from frameworks.hostile import Marks


def pickle_in_state(path, marker):
    """A state_dict with an entry that runs code."""
    torch.save({"conv1.weight": Marks(marker)}, path)
    return "not weights of this network"


ATTACKS = {".pt": (pickle_in_state,)}
