"""Flax's own file of weights, ``.msgpack``.

Idiom: ``flax.serialization`` of the network's state as nested dicts of arrays, in one file. For
    checkpoints of large networks, Flax recommends Orbax, which writes a folder.
Surprise: ``from_bytes`` compares the names with those of its target, but not the shapes.
"""

import jax
import jax.numpy as jnp
from flax import nnx, serialization

WEIGHTS = (nnx.Param, nnx.BatchStat)  # not dropout's keys


def save(model, path):
    """Write the model's weights."""
    with open(path, "wb") as file:
        file.write(serialization.to_bytes(nnx.to_pure_dict(nnx.state(model[0], WEIGHTS))))


def restore(model, path):
    """Read weights into the model."""
    with open(path, "rb") as file:
        target = nnx.to_pure_dict(nnx.state(model[0], WEIGHTS))
        found = serialization.from_bytes(target, file.read())
    if jax.tree.map(jnp.shape, found) != jax.tree.map(jnp.shape, target):
        raise ValueError("an array has another shape than the network's")
    nnx.update(model[0], found)
