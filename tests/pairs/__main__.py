"""python -m tests.pairs record|count FOLDER: what ``compare`` finds in implementations of others.

``record`` needs an environment with
    torch transformers==4.48.* timm tensorflow tf-keras keras jax flax optax
and ``count`` NumPy alone. In A is a network of a published library, in B the same one in another
framework, with random weights that were carried over; then with one mistake, or two (``truth``).
"""

import contextlib
import importlib
import io
import json
import os
import sys
from argparse import Namespace

import numpy as np

from common.compare import command as compare
from common.compare.arrays import TOLERANCE
from common.system import commands
from tests.pairs import truth

PAIRS = ("bert", "gpt2", "t5", "resnet")
SEEDS = 4


def cases(pair):
    """Yield (name, kind, seed, mistakes) of all recordings of a pair."""
    for seed in range(SEEDS):
        yield "right-%d" % seed, "right", seed, ()
        if seed < 2:
            yield "right-steps-%d" % seed, "right", seed, ()
    yield "right-exact", "right", SEEDS, ()
    known = getattr(truth, pair.upper())
    for n, mistake in enumerate(known):
        yield "single-%d" % n, "single", n % SEEDS, (mistake,)
    for n, names in enumerate(getattr(truth, pair.upper() + "_DOUBLES")):
        made = tuple(m for name in names for m in known if m.name == name)
        assert len(made) == 2
        yield "double-%d" % n, "double", n % SEEDS, made


def record(folder, pair, only=""):
    """Write the recordings of a pair."""
    module = importlib.import_module("tests.pairs." + pair)
    os.makedirs(folder, exist_ok=True)
    for name, _, seed, mistakes in cases(pair):
        if not name.startswith(only):
            continue
        steps = "steps" in name or any(m.steps for m in mistakes)
        options = {} if steps else {"exact": name.endswith("exact")}
        make = module.steps if steps else module.forward
        recordings = make(seed, tuple(m.name for m in mistakes), **options)
        for side, arrays in zip(("A", "B", "A64"), recordings):
            if arrays is not None:
                np.savez(os.path.join(folder, "%s-%s-%s.npz" % (pair, name, side)), **arrays)
        print(pair, name, [len(r) for r in recordings if r is not None], flush=True)


def compared(folder, pair, name):
    """(the verdict, the text)"""
    start = os.path.join(folder, "%s-%s-" % (pair, name))
    exact = start + "A64.npz"
    options = Namespace(
        a=start + "A.npz",
        b=start + "B.npz",
        json=start + "verdict.json",
        tolerance=TOLERANCE,
        exact=exact if os.path.exists(exact) else None,
        html=None,
        all=False,
    )
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        compare.command(options)
    with open(start + "said.txt", "w") as file:
        file.write(text.getvalue())
    with open(options.json) as file:
        return json.load(file), text.getvalue()


def main(arguments):
    """Record or count."""
    what, folder, *rest = arguments
    pairs = rest[:1] or PAIRS
    for pair in pairs:
        if what == "record":
            record(folder, pair, *rest[1:])
            continue
        for name, _, _, mistakes in cases(pair):
            if not name.startswith("".join(rest[1:])):
                continue
            verdict, _ = compared(folder, pair, name)
            print(pair, name, [m.name for m in mistakes], verdict["first_difference"], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(main, sys.argv[1:]))
