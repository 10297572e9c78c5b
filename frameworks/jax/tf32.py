"""TF32 in JAX: a GPU multiplies factors of 11 significant bits; everything else is float32.

Idiom: ``jax_default_matmul_precision``, which convolutions follow too.
Surprise: without it, XLA takes TF32 on its own. The other lanes ask for "highest".
"""

import jax


def functions(module):
    """The functions of a network's ``module`` that differ in this lane: {name: function}."""

    def configure(lane, threads, seed):
        """As in lane best; products may take TF32."""
        settings = module.configure("best", threads, seed)
        jax.config.update("jax_default_matmul_precision", "tensorfloat32")
        return dict(settings, tf32=True, products="tf32")

    return dict(configure=configure)
