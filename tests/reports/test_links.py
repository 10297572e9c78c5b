"""Every link from one of the documents into the repository leads somewhere."""

import re
from collections import Counter
from pathlib import Path

import pytest

from common import networks
from common.system.files import ROOT

DOCUMENTS = ["README.md", "CONTRIBUTING.md", "reports/README.md", "reports/results.md"]
DOCUMENTS += sorted("docs/" + path.name for path in Path(ROOT, "docs").glob("*.md"))
LINK = re.compile(r"\]\((?!https?:)([^)#\s\[]*)(?:#([^)\s]+))?\)")
LINE = re.compile(r"L\d+(-L\d+)?")  # a line of a source file


def prose(document):
    """A document's text without its fenced blocks of code."""
    return re.sub(r"(?ms)^```.*?^```", "", document.read_text(encoding="utf-8"))


def anchors(document):
    """The anchors that GitHub makes of a document's headings."""
    found, seen = set(), Counter()
    for heading in re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add("%s-%d" % (anchor, seen[anchor]) if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


def dead(document):
    """The links of a document that lead nowhere."""
    found = []
    for path, anchor in LINK.findall(prose(document)):
        target = document.parent / path if path else document
        if not target.exists():
            found.append(path)
        elif anchor and not (LINE.fullmatch(anchor) or anchor in anchors(target)):
            found.append("%s#%s" % (path, anchor))
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_link_is_dead(name):
    document = Path(ROOT, name)
    assert LINK.search(prose(document))
    assert not dead(document)


def test_the_manual_s_contents_name_every_page():
    contents = Path(ROOT, "docs", "README.md")
    named = {path for path, _ in LINK.findall(prose(contents))}
    assert {path.name for path in contents.parent.glob("*.md")} - {"README.md"} <= named


def test_the_manual_names_every_network():
    text = Path(ROOT, "docs", "networks.md").read_text(encoding="utf-8")
    assert [name for name in networks.ALL if "| `%s` |" % name not in text] == []


def test_the_readme_is_short():
    assert len(Path(ROOT, "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_a_dead_link_is_found(tmp_path):
    document = tmp_path / "page.md"
    heading, links = "# What `x_y` is: 1.5", "[a](#what-x_y-is-15) [b](page.md) [c](#no) [d](no.md)"
    document.write_text(heading + "\n" + links)
    assert dead(document) == ["#no", "no.md"]
