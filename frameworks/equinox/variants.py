"""Equinox's levers."""

from frameworks.variants import kept

LEVERS = [
    kept(
        "ynn",
        "XLA's older convolutions",
        ("OLDER_CONVOLUTIONS if best else", "OLDER_CONVOLUTIONS if False else"),
    ),
    kept(
        "threefry",
        "dropout's masks from the generator `rbg`, not `threefry`",
        ('"rbg" if best', '"threefry2x32" if best'),
    ),
    kept(
        "windows",
        "the pool as comparisons of pixels",
        ('"comparisons" if best', '"windows" if best'),
    ),
    kept("state_kept", "the old state donated", ('"all" if best', '"none" if best')),
]

LESSONS = {}
