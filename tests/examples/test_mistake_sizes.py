"""The sizes of mistakes on docs/porting-mistakes.md are those that its script measures."""

import importlib.util
import re
from pathlib import Path

import pytest

from common.system.files import ROOT

SCRIPT = Path(ROOT, "docs", "examples", "mistake_sizes.py")
PAGE = Path(ROOT, "docs", "porting-mistakes.md")
CLOSE = 0.05  # two digits on the page, and another machine's rounding


def figures():
    """{anchor: numbers in what the page says of how the mistake looks}."""
    parts = re.split(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for heading, text in zip(parts[1::2], parts[2::2]):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        looks = text[text.index("**Looks like:**") : text.index("- **Fix:**")]
        found[anchor] = [float(x) for x in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?", looks)]
    return found


def test_the_page_has_the_figures(name):
    if name != "pytorch":
        pytest.skip("the script runs in pytorch")
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, str(SCRIPT))
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = figures()
    missing = [
        (anchor, what, size)
        for anchor, sizes in script.measured().items()
        for what, size in sizes.items()
        if not any(abs(number - size) <= CLOSE * size for number in written[anchor])
    ]
    assert missing == []
