"""A JAX user's file of weights, ``.jax.npz``: a name for each leaf of the trees.

Idiom: ``jax.tree_util.keystr`` of a leaf's path, ``params/conv1/weight``. JAX has no format of its
    own; Orbax's checkpoints, a library's, are folders.
Surprise: a tree's leaves come in the order of their sorted keys, not in that of the layers: only
    the names tell which is which.
"""

import jax
import jax.numpy as jnp
import numpy as np


def trees(model):
    """The weights and, if there are any, the running statistics; not the optimiser's state."""
    return {kind: w for kind, w in model["state"].items() if kind in ("params", "running")}


def name(path):
    """A leaf's name in the file."""
    return jax.tree_util.keystr(path, simple=True, separator="/")


def save(model, path):
    """Write the model's weights."""
    leaves = jax.tree.leaves_with_path(trees(model))
    jnp.savez(path, **{name(keys): w for keys, w in leaves})


def restore(model, path):
    """Read weights into the model."""
    with np.load(path, allow_pickle=False) as archive:
        read = jax.tree.map_with_path(
            lambda keys, w: jnp.array(archive[name(keys)], w.dtype), trees(model)
        )
    model["state"].update(read)
