"""Equinox on JAX: what is known before it is imported."""

from frameworks.facts import Environment, Framework

EQUINOX = Environment("equinox", "Equinox on JAX", "equinox", workers_of="equinox")

FRAMEWORK = Framework([EQUINOX])
