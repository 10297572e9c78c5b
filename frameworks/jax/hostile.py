"""Malicious files for a JAX user; see ``tests/native/hostile.py``."""

import io
import zipfile

import numpy as np

from frameworks.hostile import Marks

WEIGHT = "params/conv1/bias"  # the first of the sorted leaves


def pickle_in_weight(path, marker):
    """A weight that is an object, and runs something."""
    with open(path, "wb") as file:
        np.savez(file, **{WEIGHT: np.array([Marks(marker)])})
    return "not weights of this network"


def claimed(path, marker):
    """A weight whose header claims more values than it has bytes."""
    header = io.BytesIO()
    claims = {"descr": "<f4", "fortran_order": False, "shape": (2**40,)}
    np.lib.format.write_array_header_1_0(header, claims)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(WEIGHT + ".npy", header.getvalue() + bytes(4))
    return "not weights of this network"


ATTACKS = {".jax.npz": (pickle_in_weight, claimed)}
