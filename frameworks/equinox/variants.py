"""Equinox's levers."""

from frameworks.variants import XLA, kept

LEVERS = [
    *XLA,
    kept("state_kept", "the old state donated", ('"all" if best', '"none" if best')),
]

LESSONS = {}
