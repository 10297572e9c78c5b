"""python -m tests.workers.table FOLDER: what was run with several workers, as a table of Markdown.

FOLDER has NAME.xml (``tox run -e workers-NAME -- --junitxml FOLDER/NAME.xml``), and NAME-2.json and
NAME-3.json (``python -m common.proof NAME ... --workers 2 --out FOLDER/NAME-2.json``).
"""

import glob
import json
import os
import sys
from xml.etree import ElementTree

HEAD = """\
| environment | network | two workers | three | mistakes caught | `kill -9` to the end | tests |
|---|---|---|---|---|---|---|"""
PLANTED = ("mistake_of_workers", "share_of_the", "weights_of_ones_own", "normalisation_by_share")


def outcome(case):
    """ "passed", "failed" or "skipped"."""
    marks = {mark.tag for mark in case}
    return next((mark for mark in ("skipped", "failure", "error") if mark in marks), "passed")


def properties(case):
    """What a test has recorded."""
    return {each.get("name"): each.get("value") for each in case.iter("property")}


def certificate(folder, name, team):
    """The network of a certificate, and what it says."""
    try:
        with open(os.path.join(folder, "%s-%d.json" % (name, team))) as file:
            found = json.load(file)
    except FileNotFoundError:
        return "", "refused" if team == 3 else "not run"
    failed = [rung["rung"] for rung in found["rungs"] if not rung["passed"]]
    text = "fails at %s" % failed[0] if failed else "all %d rungs" % len(found["rungs"])
    return found["model"], text


def row(folder, name):
    """A line of the table."""
    suite = ElementTree.parse(os.path.join(folder, name + ".xml")).getroot().find("testsuite")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    planted = [
        outcome(case)
        for test, case in cases.items()
        if any(part in test for part in PLANTED)
        and outcome(case) != "skipped"
        and properties(case).get("caught") != "False"  # the engine leaves no room for it
    ]
    killed = properties(cases["test_a_killed_worker_ends_the_run"]).get("seconds")
    model, two = certificate(folder, name, 2)
    _, three = certificate(folder, name, 3)
    caught = "%d of %d" % (planted.count("passed"), len(planted))
    ended = "not run" if killed is None else killed + " s"
    passed = sum(outcome(case) == "passed" for case in cases.values())
    run = sum(outcome(case) != "skipped" for case in cases.values())
    tests = "%d of %d, %.0f s" % (passed, run, float(suite.get("time")))
    return "| `%s` | `%s` | %s | %s | %s | %s | %s |" % (
        (name, model) + (two, three, caught, ended, tests)
    )


def main(folder):
    names = sorted(os.path.basename(path)[:-4] for path in glob.glob(os.path.join(folder, "*.xml")))
    print("\n".join([HEAD] + [row(folder, name) for name in names]))


if __name__ == "__main__":
    main(sys.argv[1])
