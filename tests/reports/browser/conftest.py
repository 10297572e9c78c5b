"""The page that is made of the committed results, and a browser that looks at it."""

import json
import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

from reports import committed, site, sources

FAILED = sources.modules()[-1]  # whose certificate fails on a second machine
AXE = {"preload": False, "resultTypes": ["violations"]}  # all rules, of any severity
HOSTILE = "<img src=x onerror=alert(1)>"
LATER = "2100-01-01T00:00:00Z"  # than any committed run


@pytest.fixture(scope="session")
def folder(tmp_path_factory, results, good, phrase_book):
    """The page of the committed results, of a second machine, and of files that are spoilt."""
    root = tmp_path_factory.mktemp("site")
    copy = root / "reports"
    shutil.copytree(results, copy)
    other = copy / "results" / "second-machine"
    other.mkdir()
    marked = dict(good, machine=dict(good["machine"], cpu=HOSTILE))
    (other / "marked.json").write_text(json.dumps(marked))
    failed = json.loads(json.dumps(good))
    failed["certificate"]["passed"] = False
    failed["certificate"]["rungs"][4].update(passed=False, error=1.0, tolerance=0.5)
    (other / "failed.json").write_text(json.dumps(dict(failed, framework=FAILED.key, made=LATER)))
    (other / "cut.json").write_text(json.dumps(good)[:500])
    site.render(*committed.read(copy), root / "site")
    return root / "site"


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, or another that CHROMIUM names."""
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser, folder):
    """Open the page with an address's end; every error and every request that leaves fails."""
    troubles = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15000)
    page = context.new_page()
    page.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    inside = folder.as_uri()
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((inside, "data:")) else troubles.append(request.url)
        ),
    )

    def open_at(end=""):
        page.goto("about:blank")
        page.goto("%s/%s%s" % (inside, "" if ".html" in end else "index.html", end))
        return page

    yield open_at
    context.close()
    assert troubles == []
