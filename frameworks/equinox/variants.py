"""Equinox's levers."""

from frameworks.variants import XLA, kept

LEVERS = [
    *XLA,
    kept("state_kept", "the old state donated", ('"all-except-first" if best', '"none" if best')),
]

LESSONS = {}
