"""axe, which looks for what keeps people from using the page, in a real browser."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.reports.browser.conftest import AXE
from tests.reports.browser.looks import A, B, D, beside


@pytest.mark.parametrize(
    "scheme, width, end, where",
    [
        ("light", 1280, beside(A, D) + "&at=off-gradient", "html"),
        ("dark", 1280, beside(A, D) + "&at=off-gradient", "html"),
        ("light", 1280, beside(A, D) + "&view=files", "#code"),
        ("dark", 390, beside(A, D) + "&at=dropout1", "#code"),
        ("light", 390, beside(A, D) + "&at=phrase-book", "#phrase-book"),
        ("dark", 1280, "resnet.html" + beside(A, B), "html"),
    ],
)
def test_axe_finds_nothing(opened, scheme, width, end, where):
    page = opened(end)
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.keyboard.press("/")
    page.keyboard.type("dropout")
    # All is laid out, so that all is looked at.
    page.add_style_tag(content="main > section { content-visibility: visible !important; }")
    found = Axe().run(page, context=where, options=AXE).response["violations"]
    told = [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in found]
    assert told == []


def test_axe_finds_nothing_on_a_files_page(browser, folder):
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto((folder / "files" / (A.path + ".html")).as_uri() + "#L84")
        found = Axe().run(page, options=AXE).response["violations"]
        page.close()
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
