"""Profile Flax: the time of each operation of JAX.

Idiom: Flax has no profiler of its own; JAX's goes around the steps.
Surprise: XLA fuses operations and drops the modules' names.
"""

from frameworks.jax.profile import profile

__all__ = ["profile"]
