"""What ``compare`` finds in published implementations.

    python -m tests.pairs record FOLDER [PAIR [CASE]]
    python -m tests.pairs compare FOLDER [PAIR [CASE]]
    python -m tests.pairs count FOLDER [PAIR [CASE]] [--write]

PAIR is bert, gpt2, t5, resnet or sd3; all, the default, are the first four. CASE is how the names
of cases begin.

In A is a network of a published library, in B the same one in another framework, with random
weights that were carried over; then with one mistake, or two (``truth``). ``record`` needs an
environment with
    torch transformers==4.48.* timm tensorflow tf-keras keras jax flax optax
and for sd3
    torch==2.13.0 diffusers==0.42.1 transformers==5.24.0 keras==3.15.1 keras-hub==0.32.0
    tensorflow==2.21.0
the others need NumPy alone. ``count`` reads the verdicts of ``compare``; with ``--write`` it writes
its table to reports/compare/pairs.md, or pairs-PAIR-CASE.md.
"""

import contextlib
import importlib
import json
import os
import re
import sys
from collections import OrderedDict

import numpy as np

from common.compare import command
from common.compare.arrays import TOLERANCE
from common.system import commands
from common.system.errors import InputError
from common.system.files import ROOT, write_json
from tests.pairs import truth

PAIRS = ("bert", "gpt2", "t5", "resnet")  # sd3 needs another environment
NAMES = {"bert": "BERT", "gpt2": "GPT-2", "t5": "T5", "resnet": "ResNet-50", "sd3": "SD 3.5"}
PASS_ALONE = ("sd3",)  # no steps of training
OUTCOMES = ("named", "located", "wrong", "unseen")
SEEDS = 4
HEAD = """# Mistakes planted in published implementations

`compare` on recordings of [tests/pairs](../../tests/pairs): "named" if the text says of the right
place what each mistake is, "located" if the first difference is at the right place, "wrong" if it
is elsewhere.
"""
IN_VIEW = """
`compare` was improved with all of these mistakes in view, so the table shows what it knows, not
how it does elsewhere. For that, see mistakes that it met for the first time. Of ten by somebody who
knew its code, 4 were named, 2 located, 3 wrong and 1 unseen; of twelve more, those "held out", 7
were named, 4 located and 1 wrong. The blind ones, by people who had seen nothing of `compare`, are
in files of their own: [blind](pairs-blind.md), [blind 2](pairs-blind2.md).

"""
FIRST_MET = {
    "sd3": """
The code that met these first accused all five right ports, because their time steps had another
shape. For the same reason, it looked for ten of the twelve mistakes in the wrong place; it located
1 and named 1. `compare` was improved with all of them in view.

"""
}
ONCE = """
These are by somebody who had seen nothing of `compare`. They were compared once, by code that was
written before them.

"""


def cases(pair):
    """Yield (name, kind, seed, mistakes) of all recordings of a pair."""
    for seed in range(SEEDS):
        yield "right-%d" % seed, "right", seed, ()
        if seed < 2 and pair not in PASS_ALONE:
            yield "right-steps-%d" % seed, "right", seed, ()
    yield "right-exact", "right", SEEDS, ()

    def planted(ending=""):
        return getattr(truth, pair.upper() + ending, [])

    known = planted() + planted("_SECOND")
    for n, mistake in enumerate(known):
        yield "single-%d" % n, "single", n % SEEDS, (mistake,)
    for n, mistake in enumerate(planted("_HELD_OUT")):
        yield "held-out-%d" % n, "held out", n % SEEDS, (mistake,)
    blind = planted("_BLIND")
    for n, mistake in enumerate(blind):
        yield "blind-%d" % n, "blind", n % SEEDS, (mistake,)
    for start, kind, among in (("", "double", known), ("_BLIND", "blind double", blind)):
        for n, names in enumerate(planted(start + "_DOUBLES")):
            made = tuple(m for name in names for m in among if m.name == name)
            assert len(made) == 2
            yield "%s-%d" % (kind.replace(" ", "-"), n), kind, n % SEEDS, made
    for n, mistake in enumerate(planted("_BLIND_2")):
        yield "blind2-%d" % n, "blind 2", n % SEEDS, (mistake,)


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


def compare(folder, pair, only=""):
    """Write the verdict on each of a pair's recordings, and the text."""
    for name, _, _, _ in cases(pair):
        start = os.path.join(folder, "%s-%s-" % (pair, name))
        if name.startswith(only):
            recorded = os.path.exists(start + "A.npz")
            print(pair, name, "" if recorded else "was not recorded", flush=True)
            if recorded:
                compare_files(start)


def compare_files(start):
    """(the verdict on two recordings, the text), which are written beside them."""
    exact = start + "A64.npz"
    request = command.Request(
        a=start + "A.npz",
        b=start + "B.npz",
        json=start + "verdict.json",
        tolerance=TOLERANCE,
        exact=exact if os.path.exists(exact) else None,
        html=None,
        all=False,
    )
    with open(start + "said.txt", "w") as file, contextlib.redirect_stdout(file):
        try:
            command.compare(request)
        except InputError as error:  # not even the inputs are the same
            refused = dict(a="x", b="x", computes=str(error), relation=None)
            write_json(request.json, dict(first_difference=refused, rows=[], hints=[]))
    return compared_files(start)


def compared_files(start):
    """(the verdict on two recordings, the text), as ``compare_files`` wrote them."""
    with open(start + "verdict.json") as verdict, open(start + "said.txt") as text:
        return json.load(verdict), text.read()


def statements(verdict, text):
    """[(names of a place in A and B, what is said of it)], the first difference first."""
    first, found = verdict["first_difference"], []
    if first is not None:
        alone = re.findall("before it, only .*", text)
        said = "; ".join([x for x in (first["computes"], first["relation"]) if x] + alone)
        found.append(((first["a"], first["b"]), said))
    rows = [row for row in verdict["rows"] if row["state"] == "also different"]
    found += [((row["a"]["name"], row["b"]["name"]), row["says"]) for row in rows]
    for hint in verdict["hints"]:
        names = re.search("leaves out .* the first of them (.*) in A, (.*) in B", hint)
        if names:
            found.append((names.groups(), hint))
    return found


def judged(mistakes, said):
    """The outcome: all mistakes are named, or the first difference is at the place of one."""
    if not said:
        return "unseen"
    if all(_is_named(mistake, said) for mistake in mistakes):
        return "named"
    places = said[0][0]
    return "located" if any(_is_at(mistake, places) for mistake in mistakes) else "wrong"


def _is_at(mistake, names):
    return any(re.search(mistake.where, name) for name in names)


def _is_named(mistake, said):
    """Whether all that names a mistake is said of one place, which shows it."""
    return any(
        _is_at(mistake, names) and all(re.search(pattern, words) for pattern in mistake.says)
        for names, words in said
    )


def count(folder, pair, only=""):
    """{(what was recorded, kind): the outcomes} of a pair's recordings."""
    outcomes = OrderedDict()
    for name, kind, _, mistakes in cases(pair):
        if not name.startswith(only):
            continue
        start = os.path.join(folder, "%s-%s-" % (pair, name))
        if not os.path.exists(start + "verdict.json"):
            print(pair, name, "was not compared", flush=True)
            continue
        said = statements(*compared_files(start))
        outcome = judged(mistakes, said) if mistakes else ("accused" if said else "passed")
        what = "steps" if "steps" in name or any(m.steps for m in mistakes) else "pass"
        outcomes.setdefault((what, kind), []).append(outcome)
        print(pair, name, [m.name for m in mistakes], outcome, flush=True)
        for places, words in said[:4]:
            print("   ", " / ".join(places), ": ", words, sep="", flush=True)
    return outcomes


def table(counts):
    """The table of {pair: {(what was recorded, kind): outcomes}} in Markdown."""
    yield "| networks | recorded | mistakes | of | %s | right ports | accused |" % " | ".join(
        OUTCOMES
    )
    yield "|---" * (len(OUTCOMES) + 6) + "|"
    for pair, outcomes in counts.items():
        for what, kind in outcomes:
            if kind != "right":
                own, right = outcomes[what, kind], outcomes.get((what, "right"), [])
                cells = [NAMES[pair], what, kind, len(own)] + [own.count(x) for x in OUTCOMES]
                cells += [len(right), right.count("accused")]
                yield "| %s |" % " | ".join(map(str, cells))


def main(arguments):
    """Record, compare or count."""
    write = "--write" in arguments
    work = {"record": record, "compare": compare, "count": count}
    words = [x for x in arguments if x != "--write"]
    if len(words) < 2 or words[0] not in work:
        raise InputError("say record, compare or count, and a folder")
    what, folder, *rest = words
    if rest and rest[0] not in ("all", *NAMES):
        raise InputError("unknown pair %r; there are %s" % (rest[0], ", ".join(NAMES)))
    pairs = PAIRS if rest[:1] in ([], ["all"]) else rest[:1]
    counts = OrderedDict((pair, work[what](folder, pair, *rest[1:])) for pair in pairs)
    if what != "count":
        return 0
    text = "\n".join(table(counts))
    print(text)
    if write:
        name = "-".join(["pairs"] + [x for x in rest if x != "all"]) + ".md"
        said = FIRST_MET.get(rest[0] if rest else "all", ONCE if rest[1:] else IN_VIEW)
        with open(os.path.join(ROOT, "reports", "compare", name), "w") as file:
            file.write(HEAD + said + text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(main, sys.argv[1:]))
