"""The snippets of docs/findings.md print what the page says, each in the environment it names."""

import os
import re
import subprocess
import sys

from common.system.files import ROOT
from tests.environ import ENVIRON

SNIPPET = re.compile(r"^In `([\w-]+)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def snippets(name):
    """The snippets for one environment: (code, lines that it prints)."""
    with open(os.path.join(ROOT, "docs", "findings.md"), encoding="utf-8") as file:
        found = SNIPPET.findall(file.read())
    assert found
    return [
        (code, ", then ".join(PRINTED.findall(code)).split(", then "))
        for environment, code in found
        if environment == name
    ]


def test_the_snippets_print_what_the_page_says(name, tmp_path):
    for number, (code, expected) in enumerate(snippets(name)):
        path = tmp_path / ("snippet%d.py" % number)
        path.write_text(code, encoding="utf-8")
        printed = subprocess.check_output([sys.executable, str(path)], env=ENVIRON).decode()
        if expected != [""]:  # where it depends on the machine, the page says so
            assert [line for line in printed.splitlines() if line] == expected, code
