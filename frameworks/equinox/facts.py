"""Equinox on JAX: what is known before it is imported."""

from frameworks.facts import Environment, Framework

EQUINOX = Environment(
    "equinox",
    "Equinox on JAX",
    "equinox",
    profiler="jax",
    forget="jax:clear_caches",
    workers_of="equinox",
)

FRAMEWORK = Framework([EQUINOX])
