"""Malicious files in PyTorch's own format; see ``tests/native/hostile.py``."""

import torch


class Marks:
    """An object that makes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (self.marker, "w")


def pickle_in_state(path, marker):
    """A state_dict with an entry that runs code."""
    torch.save({"conv1.weight": Marks(marker)}, path)
    return "not weights of this network"


ATTACKS = {".pt": (pickle_in_state,)}
