"""JAX: its configuration, the compiled step, and threads that are busy."""

import os

import jax
import numpy as np

from frameworks.effects import busy_threads
from frameworks.jax import cnn


def in_force(module, settings, model):
    images, labels = np.zeros((64, 3, 32, 32), np.float32), np.zeros(64, np.int64)
    images, labels = module.load(images, labels, settings)
    state = model["state"]
    (precision,) = {str(w.dtype) for w in jax.tree.leaves((state["params"], state["velocity"]))}
    traced = str(jax.make_jaxpr(model["step"])(state, images, labels))
    return {
        "precision": precision,
        "threads": busy_threads(lambda: list(module.train(model, [(images, labels)]))),
        "tf32": jax.config.jax_default_matmul_precision != "highest",
        "autotune": "autotune_level=0" not in os.environ["XLA_FLAGS"],
        "ynn_convolution": ynn_convolution(state["params"]["conv1"], images, settings["layout"]),
        "pool": "windows" if "reduce_window" in traced else "comparisons",
        "generator": str(jax.random.key_impl(state["key"])),
        "jit": model["step"]._cache_size() > 0,
    }


def ynn_convolution(layer, images, layout):
    """Whether XLA has put a convolution into a fusion of that kind."""
    forward = jax.jit(cnn.conv, static_argnames="layout")
    return "ynn_fusion" in forward.lower(images, layer, layout).compile().as_text()
