"""Each mistake that docs/porting-mistakes.md calls planted is in the file that it links to."""

import re
from pathlib import Path

import pytest

from common.system.files import ROOT

PAGE = Path(ROOT, "docs", "porting-mistakes.md")
HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
PLANTED = re.compile(r"^- \*\*Planted:\*\* (.+?)(?=^\S|^$|\Z)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?<![\w.])([a-z0-9]+(?:_[a-z0-9]+)+)")


def entries():
    """[(heading, its text)] of all mistakes."""
    parts = HEADING.split(PAGE.read_text(encoding="utf-8"))
    return list(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize("heading, text", entries(), ids=[heading for heading, _ in entries()])
def test_planted_mistakes_are_where_the_page_says(heading, text):
    (planted,) = PLANTED.findall(text)
    if "not yet" in planted and "](" not in planted:
        return
    paths = [PAGE.parent / path for path in re.findall(r"\]\(([^)#]+\.py)\)", planted)]
    assert paths
    sources = "".join(path.read_text(encoding="utf-8") for path in paths)
    names = NAME.findall(re.sub(r"\]\([^)]*\)", "", planted))
    there = set(re.findall(r"(?:^(?:def|class) |\")(\w+)", sources, re.MULTILINE))
    missing = [name for name in names if name not in there]
    assert names and not missing


def test_a_name_that_is_nowhere_is_found():
    assert NAME.findall("`kernel_flipped`, [`a_b`, `c_d_1`]") == ["kernel_flipped", "a_b", "c_d_1"]
