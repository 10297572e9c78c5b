"""Equinox on JAX: what is known before it is imported."""

from frameworks.facts import OF_XLA, OLDER_CONVOLUTIONS, Environment, Framework

EQUINOX = Environment(
    "equinox",
    "Equinox on JAX",
    "equinox",
    profiler="jax",
    forget="jax:clear_caches",
    flags=OLDER_CONVOLUTIONS,
    threads_from=OF_XLA,
    workers_of="equinox",
)

FRAMEWORK = Framework([EQUINOX])
