"""The page in a real browser: Debian's Chromium, or another that CHROMIUM names."""

import json
import os
import re
import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from reports import committed, site, sources

MEGABYTE = 1e6
MODULES = sources.modules()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, results, phrase_book):
    """The page of the committed results, of a second machine, and of files that are spoilt."""
    root = tmp_path_factory.mktemp("site")
    copy = root / "reports"
    shutil.copytree(results, copy)
    good = sorted(copy.glob("results/*/*.json"))[0]
    other = copy / "results" / "second-machine"
    other.mkdir()
    result = json.loads(good.read_text())
    result["machine"]["cpu"] = "<img src=x onerror=alert(1)>"
    (other / "marked.json").write_text(json.dumps(result))
    (other / "cut.json").write_text(good.read_text()[:500])
    site.render(*committed.read(copy), root / "site")
    return root / "site"


@pytest.fixture(scope="module")
def browser():
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
        page.goto("%s/index.html%s" % (inside, end))
        return page

    yield open_at
    context.close()
    assert troubles == []


def columns(page, step="load"):
    cells = page.locator("#step-%s .cell:visible" % step)
    return [cells.nth(i).get_attribute("data-module") for i in range(cells.count())]


def test_choosing_frameworks_shows_them_and_keeps_them_in_the_address(opened):
    page = opened()
    assert columns(page) == ["pytorch", "tensorflow"]
    page.get_by_label("Chainer", exact=True).check()
    page.get_by_label("TensorFlow", exact=True).uncheck()
    assert columns(page) == ["pytorch", "chainer"]
    assert "with=pytorch,chainer" in page.url
    heads = page.locator(".phrases thead [data-module]:visible")
    assert heads.all_inner_texts() == ["PyTorch", "Chainer"]


def test_a_link_opens_its_comparison_and_unknown_names_are_passed_over(opened):
    page = opened("#with=theano,nonsense,cntk&at=phrase-book&machine=nowhere")
    assert columns(page) == ["cntk", "theano"]
    box = page.locator("#phrase-book").bounding_box()
    assert abs(box["y"]) < 100


def test_a_step_shows_all_its_lines_one_below_the_other(opened):
    page = opened()
    lines = page.locator("#step-train .cell:visible").first.locator(".line")
    first, last = MODULES[1].parts["train"]
    tops = [lines.nth(i).bounding_box()["y"] for i in range(lines.count())]
    assert len(tops) == last - first + 1
    assert all(below > above for above, below in zip(tops, tops[1:]))


def test_lines_that_others_lack_are_marked(opened):
    page = opened("#with=pytorch,chainer")
    marked = page.locator("#step-load .cell:visible .line.differs").all_inner_texts()
    assert any("int32" in line for line in marked)
    assert not any("def load" in line for line in marked)


def test_a_step_is_folded_with_the_keyboard(opened):
    page = opened()
    summary = page.locator("#step-symbol summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#step-symbol .cell").first).to_be_hidden()
    page.keyboard.press("Enter")
    assert columns(page, "symbol") == ["pytorch", "tensorflow"]


def test_frameworks_are_chosen_with_the_keyboard_alone(opened):
    page = opened()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "with":
            break
    page.keyboard.press("Space")
    assert columns(page) == ["numpy", "pytorch", "tensorflow"]


def test_a_step_is_copied_as_it_stands_in_the_file(opened):
    page = opened()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy train of PyTorch").click()
    module = next(one for one in MODULES if one.key == "pytorch")
    first, last = module.parts["train"]
    expect(page.locator("#step-train .cell:visible button").first).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines() == module.lines[first - 1 : last]


def test_the_machine_is_selected_and_kept_in_the_address(opened):
    page = opened()
    page.locator("#machine").select_option("second-machine")
    assert "machine=second-machine" in page.url
    assert page.locator(".machine:visible").get_attribute("data-machine") == "second-machine"
    page = opened(page.url[page.url.index("#") :])
    assert page.locator(".machine:visible").get_attribute("data-machine") == "second-machine"


def test_spoilt_files_are_named_and_markup_in_them_is_text(opened):
    page = opened("#machine=second-machine")
    assert "results/second-machine/cut.json" in page.locator("#figures").inner_text()
    assert "<img src=x" in page.locator(".machine:visible").inner_text()
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(opened, scheme, width):
    page = opened("#with=pytorch,theano")
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    found = Axe().run(page, options={"preload": False}).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []


def test_a_phone_shows_the_page_without_scrolling_sideways(opened):
    page = opened("#with=pytorch,theano,numpy")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_link_within_the_site_leads_somewhere(folder):
    ids = {}
    for page in folder.rglob("*.html"):
        ids[page] = set(re.findall(r' id="([^"]+)"', page.read_text(encoding="utf-8")))
    for page in ids:
        for link in set(re.findall(r'href="([^":]+)"', page.read_text(encoding="utf-8"))):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in ids[target], link


def test_the_site_is_small(tmp_path, results, phrase_book):
    assert site.render(*committed.read(results), tmp_path / "site") < 5 * MEGABYTE
