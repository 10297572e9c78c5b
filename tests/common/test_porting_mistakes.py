"""Each mistake that docs/porting-mistakes.md calls planted is in the file that it links to."""

import re
from pathlib import Path

import pytest

from common.system.files import ROOT

PAGE = Path(ROOT, "docs", "porting-mistakes.md")
HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
PLANTED = re.compile(r"^- \*\*Planted:\*\* (.+?)(?=^\S|^$|\Z)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\(([^)#]+\.py)\)")
NAME = re.compile(r"(?<![\w.])([a-z0-9]+(?:_[a-z0-9]+)+)")


def entries():
    """[(heading, its text)] of all mistakes."""
    parts = HEADING.split(PAGE.read_text(encoding="utf-8"))
    return list(zip(parts[1::2], parts[2::2]))


def claims(planted):
    """[(name, path of a file that has it)] of a text: "`a` and `b` in [X](x.py) and [Y](y.py)".

    A link may have names of its own, and other files of theirs may follow it.
    """
    found, names, linked = [], [], False
    for link in re.finditer(r"%s|%s" % (LINK.pattern, NAME.pattern), planted):
        text, path, name = link.groups()
        if name:
            names, linked = ([] if linked else names) + [name], False
            continue
        names = NAME.findall(text) or names
        found, linked = found + [(name, path) for name in names], True
    return found


def planted_in(path):
    """The names of functions, classes and texts in a file."""
    source = path.read_text(encoding="utf-8")
    return set(re.findall(r"(?:^(?:def|class) |\")(\w+)", source, re.MULTILINE))


@pytest.mark.parametrize("heading, text", entries(), ids=[heading for heading, _ in entries()])
def test_planted_mistakes_are_where_the_page_says(heading, text):
    (planted,) = PLANTED.findall(text)
    if "not yet" in planted and "](" not in planted:
        return
    found = claims(planted)
    assert found
    there = {path: planted_in(PAGE.parent / path) for _, path in found}
    assert not [(name, path) for name, path in found if name not in there[path]]
    # A name without a link of its own ("in several") is in one of the entry's files.
    names = NAME.findall(re.sub(r"\]\([^)]*\)", "", planted))
    assert not set(names) - set().union(*there.values())


def test_a_name_is_claimed_of_its_own_links_alone():
    text = "`a_b` and `c_d` in [X](x.py) and [Y](y.py), [`e_f`](z.py), also in [X](x.py); `g_h`"
    assert claims(text) == [
        ("a_b", "x.py"),
        ("c_d", "x.py"),
        ("a_b", "y.py"),
        ("c_d", "y.py"),
        ("e_f", "z.py"),
        ("e_f", "x.py"),
    ]


def test_a_name_that_is_nowhere_is_found():
    assert NAME.findall("`kernel_flipped`, [`a_b`, `c_d_1`]") == ["kernel_flipped", "a_b", "c_d_1"]
