"""Flax: JAX's configuration, the compiled step, and threads that are busy."""

import os

import jax
import numpy as np
from flax import nnx

from frameworks.effects import busy_threads


def in_force(module, settings, model):
    network, optimizer = model
    images, labels = np.zeros((64, 3, 32, 32), np.float32), np.zeros(64, np.int64)
    images, labels = module.load(images, labels, settings)
    floats = nnx.state((network, optimizer.opt_state), (nnx.Param, nnx.OptArray))
    (precision,) = {str(w.dtype) for w in jax.tree.leaves(floats)}
    graph, state = nnx.split(network)
    traced = str(jax.make_jaxpr(lambda state, x: nnx.merge(graph, state)(x))(state, images))
    return {
        "precision": precision,
        "threads": busy_threads(lambda: list(module.train(model, [(images, labels)]))),
        "tf32": jax.config.jax_default_matmul_precision != "highest",
        "autotune": "autotune_level=0" not in os.environ["XLA_FLAGS"],
        "ynn_convolution": ynn_convolution(network, images),
        "pool": "windows" if "reduce_window" in traced else "comparisons",
        "generator": str(jax.random.key_impl(network.drop1.rngs.key[...])),
        "jit": module.step.jitted_fn._cache_size() > 0,
    }


def ynn_convolution(network, images):
    """Whether XLA has put a convolution into a fusion of that kind."""
    graph, state = nnx.split(network.conv1)
    forward = jax.jit(lambda state, x: nnx.merge(graph, state)(x))
    return "ynn_fusion" in forward.lower(state, images).compile().as_text()
