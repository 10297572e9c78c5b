"""Profile Equinox: the time of each operation of JAX.

Idiom: Equinox has no profiler of its own; JAX's goes around the steps.
Surprise: ``eqx.filter_jit`` compiles with XLA, which fuses operations and drops the modules'
    names.
"""

from frameworks.jax.profile import profile

__all__ = ["profile"]
