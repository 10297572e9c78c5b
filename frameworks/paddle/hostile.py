"""Malicious files in Paddle's own format; see ``tests/native/hostile.py``."""

import pickle

import numpy as np

from frameworks.hostile import Marks


def pickle_in_state(path, marker):
    """A state_dict with an entry that runs something."""
    with open(path, "wb") as file:
        pickle.dump({"conv1.weight": Marks(marker)}, file, protocol=4)
    return "not weights of this network"


def array_of_objects(path, marker):
    """A state_dict whose array holds an object that runs something."""
    with open(path, "wb") as file:
        pickle.dump({"conv1.weight": np.array([Marks(marker)])}, file, protocol=4)
    return "not weights of this network"


ATTACKS = {".pdparams": (pickle_in_state, array_of_objects)}
