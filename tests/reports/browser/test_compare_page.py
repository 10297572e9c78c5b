"""The page of compare in a real browser."""

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from common.challenge import challenge
from common.system import commands
from tests.challenge.test_compare_page import hostile, network
from tests.reports.browser.conftest import AXE


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """{name: a page}: of recordings that agree, that differ, and with names that are tags."""
    folder = tmp_path_factory.mktemp("compare")
    sides = {
        "agree": (network(), network()),
        "differ": (network(), network(mistake=True)),
        "hostile": hostile(),
    }
    for name, (a, b) in sides.items():
        paths = [str(folder / (name + end)) for end in ("-a.npz", "-b.npz", ".html")]
        np.savez(paths[0], **a)
        np.savez(paths[1], **b)
        commands.guarded(challenge.command, ["compare", *paths[:2], "--html", paths[2]])
    return {name: (folder / (name + ".html")).as_uri() for name in sides}


@pytest.mark.parametrize(
    "name, scheme, width",
    [
        ("agree", "light", 1400),
        ("agree", "dark", 390),
        ("differ", "light", 390),
        ("differ", "dark", 1400),
        ("hostile", "dark", 390),
    ],
)
def test_axe_finds_nothing_and_nothing_is_loaded(name, scheme, width, browser, pages):
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    requests, troubles = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda line: troubles.append(line.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: troubles.append(dialog.message))
    page.goto(pages[name])
    assert requests == [pages[name]] and troubles == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg .mark").count() > 4
    heading = page.get_by_role("heading", level=1).inner_text()
    assert ("agree" in heading) == (name == "agree")
    if name == "differ":
        mark = page.locator(".chart .mark.first").first.bounding_box()
        assert 0 <= mark["x"] < width and mark["width"] >= 10
    violations = Axe().run(page, options=AXE).response["violations"]
    page.close()
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in violations] == []
