"""Equinox on JAX: what is known before it is imported."""

from frameworks.facts import Environment, Framework

EQUINOX = Environment("equinox", "Equinox on JAX", "equinox")

FRAMEWORK = Framework([EQUINOX])
