"""Flax on JAX: what is known before it is imported."""

from frameworks.facts import Environment, Framework

FLAX = Environment("flax", "Flax on JAX", "flax", profiler="jax")
FLAX_CUDA = FLAX._replace(name="flax-cuda", requirements="requirements-cuda.txt", gpu_of="flax")

FRAMEWORK = Framework([FLAX, FLAX_CUDA], endings=(".msgpack",))
