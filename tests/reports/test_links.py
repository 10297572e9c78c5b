"""Every link from one of the documents into the repository leads somewhere."""

import re
from collections import Counter
from pathlib import Path

import pytest

from common.system.files import ROOT

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "reports/README.md")
LINK = re.compile(r"\]\((?!https?:)([^)#\s\[]*)(?:#([^)\s]+))?\)")
LINE = re.compile(r"L\d+(-L\d+)?")  # a line of a source file


def anchors(document):
    """What GitHub makes of a document's headings."""
    found, seen = set(), Counter()
    for heading in re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add("%s-%d" % (anchor, seen[anchor]) if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


def dead(document):
    """The links of a document that lead nowhere."""
    found = []
    for path, anchor in LINK.findall(document.read_text(encoding="utf-8")):
        target = document.parent / path if path else document
        if not target.exists():
            found.append(path)
        elif anchor and not (LINE.fullmatch(anchor) or anchor in anchors(target)):
            found.append("%s#%s" % (path, anchor))
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_link_is_dead(name):
    document = Path(ROOT, name)
    assert LINK.search(document.read_text(encoding="utf-8"))
    assert not dead(document)


def test_a_dead_link_is_found(tmp_path):
    document = tmp_path / "page.md"
    heading, links = "# What `x_y` is: 1.5", "[a](#what-x_y-is-15) [b](page.md) [c](#no) [d](no.md)"
    document.write_text(heading + "\n" + links)
    assert dead(document) == ["#no", "no.md"]
