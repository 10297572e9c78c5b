"""Tasks by keyboard, results, files that are dropped, print, a phone and axe, in a real browser."""

import gzip
import json
import re

import pypdf
import pytest
from playwright.sync_api import expect

from reports import committed, port, site
from reports.table import kind
from tests.reports.browser.conftest import FAILED, HOSTILE
from tests.reports.browser.looks import (
    MODULES,
    A,
    B,
    C,
    D,
    Hand,
    beside,
    columns,
    keys,
    on_screen,
    said,
)

MEGABYTE = 1e6
SINGLE = "#with=%s,%s&at=single-runs" % (A.key, B.key)
NAME = "amd-epyc-25.17-avx512.bf16-2-cores"
MACHINE = "&machine=" + NAME


# What a new user wants, by keyboard alone. An action is a run of typing, or a key that commands.


def test_task_another_frameworks_dropout_optimiser_and_loop(opened):
    hand = Hand(opened())
    hand.types("/%s dropout optimiser loop" % D.title)
    hand.press("Enter")
    page = hand.page
    assert hand.actions <= 2 and columns(page) == keys(A, D)
    for concept in ("dropout1", "dropout2", "dropout3", "optimiser", "loop"):
        assert on_screen(page, "#" + concept), concept
    for phrase, row in (("dropout", "dropout1"), ("optimiser", "optimiser")):
        cells = page.locator("#%s > .cell:visible" % row).all_text_contents()
        for module in (A, D):
            assert any(said(phrase, module) in cell for cell in cells), (phrase, module.key)


def test_task_my_port_is_off_at_step_1(opened):
    symptom = next(one for one in port.symptoms(MODULES) if one.rung == "gradient")
    module, _, name, hunks = symptom.traps[0]
    other = next(one for one, *_ in symptom.traps if one.key != module.key)
    hand = Hand(opened(beside(module, next(one for one in MODULES if one not in (module, other)))))
    hand.types("/off at step 1")
    hand.press("Enter")
    page = hand.page
    assert hand.actions <= 2 and "at=off-gradient" in page.url
    assert on_screen(page, "#off-gradient")
    panel = page.locator("#off-gradient")
    cause = panel.locator("#mistake-loss_summed")
    expect(cause).to_be_visible()
    assert said("loss and its reduction", module) in cause.inner_text()  # what mends it
    trap = panel.locator("tr:visible", has_text=name.replace("_", " ")).first
    right = [line.strip() for _, lines in hunks for line in lines if line.strip()]
    assert trap.locator("ins").all_inner_texts() == right
    assert panel.locator('tr:visible[data-module="%s"]' % other.key).count() == 0


def test_task_which_is_fastest_and_may_i_believe_it(opened):
    hand = Hand(opened())
    hand.types("/fastest")
    hand.press("Enter")
    page = hand.page
    assert hand.actions <= 2 and "at=results" in page.url
    for selector in ("#results .answers", "#results figure svg"):
        assert on_screen(page, selector), selector
    answer = page.locator("#results .answers").first.inner_text()
    assert "the fastest: " in answer and "passed every rung" in answer
    title = page.locator("#results h3").first.inner_text()
    assert title.startswith("Which framework trains the CNN fastest in lane best? ")
    expect(page.locator("#bars")).to_be_hidden()  # single runs come second


def test_task_print_and_share(opened):
    """Print is the browser's own command; what is shared is the address, or its copy."""
    page = opened(beside(C, D) + "&only=dropout1,optimiser&at=optimiser")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("window.print = () => { document.title = 'printed'; }")
    hand = Hand(page)
    hand.types("/print")
    hand.press("Enter")
    assert hand.actions <= 2 and page.title() == "printed"
    hand = Hand(page)
    hand.types("/copy link")
    hand.press("Enter")
    assert hand.actions <= 2
    page.wait_for_function("() => document.getElementById('link').textContent === 'Copied'")
    link = page.evaluate("navigator.clipboard.readText()")
    again = opened(link[link.index("#") :])
    assert columns(again, "optimiser") == keys(C, D)
    assert again.locator(".rows > .row:visible").count() == 2


def test_task_find_momentum(opened):
    hand = Hand(opened())
    hand.types("/momentum")
    hand.press("Enter")
    assert hand.actions <= 2 and on_screen(hand.page, "#momentum")
    assert "v = momentum * v + g" in hand.page.locator("#momentum").inner_text()


def test_the_toolbar_is_reached_and_worked_with_the_tab_key(opened):
    page = opened()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.place") == "1":
            break
    page.keyboard.type(D.title)
    assert columns(page) == keys(A, D)
    assert page.evaluate("document.activeElement.dataset.place") == "1"


# Results.


def chosen(page, **options):
    for name, value in options.items():
        page.locator("#by-" + name).select_option(value)


def bars(page):
    return [text.split("\n") for text in page.locator("#bars .result").all_inner_texts()]


def test_the_comparison_is_filtered_and_the_address_keeps_it(opened):
    page = opened(SINGLE + MACHINE)
    chosen(page, lane="both", by="accuracy")
    count = len(bars(page))
    assert count >= 5
    answer = page.locator("#answer").inner_text()
    assert answer.startswith("Highest: ") and "intervals overlap" in answer
    assert "by=accuracy" in page.url and "lane=both" in page.url
    again = opened(page.url[page.url.index("#") :])
    assert len(bars(again)) == count
    chosen(again, model="lstm", by="speed", lane="same")
    assert "sequences a second" in again.locator("#answer").inner_text()


def test_no_time_without_a_certificate_and_what_failed_is_said(opened):
    page = opened(SINGLE + "&machine=second-machine&lane=both&by=speed")
    assert not any(FAILED.title in one[0] for one in bars(page))  # it is not proven
    chosen(page, by="accuracy")
    assert any(FAILED.title in one[0] for one in bars(page))
    assert "Not proven: " + FAILED.title in page.locator("#belief").inner_text()
    assert "✗ 7 of 8" in page.locator("#bars").inner_text()


def test_beside_the_figures_stands_where_they_come_from(opened):
    page = opened(SINGLE + MACHINE)
    source = page.locator("#source").inner_text()
    for text in ("unofficial pixels", "decoded from JPEG copies", "AMD EPYC, 2 cores", "Made 20"):
        assert text in source
    assert re.search(r"version \d\S*, 20\d\d-\d\d-\d\d", page.locator("#bars").inner_text())
    for figure in page.locator("figure").all():
        assert "Data: " in figure.locator(".small").text_content()


def test_spoilt_files_are_named_and_markup_in_them_is_text(opened):
    page = opened(SINGLE + "&machine=second-machine")
    assert "results/second-machine/cut.json" in page.locator("#results").inner_text()
    assert HOSTILE in page.locator("#source").inner_text()
    assert page.locator("img").count() == 0


def drop(page, name, text):
    payload = {"name": name, "mimeType": "application/json", "buffer": text.encode()}
    page.locator("#file").set_input_files(payload)


@pytest.fixture
def mine(results):
    """A result to drop: of the recipe that ``MACHINE`` shows, in lane best and very fast."""
    runs = [run.result for run in committed.read(results)[0].runs if run.machine == NAME]
    runs = [run for run in runs if run.get("model", "cnn") == "cnn" and run["lane"] == "best"]

    def size(run):  # as the page chooses
        images, epochs = run["dataset"]["train_images"], run["hyperparameters"]["epochs"]
        return -images * epochs, len(kind(run))

    copy = json.loads(json.dumps(min(runs, key=size)))
    copy["title"] = "Mine"
    copy["timings"]["step"].update(median=0.01, quartiles=[0.009, 0.011])
    copy["timings"]["share_of_matmul"] = 0.99
    return copy


def test_a_dropped_result_is_shown_beside_the_committed_ones(opened, mine):
    page = opened(SINGLE + MACHINE)
    before = len(bars(page))
    drop(page, "mine.json", json.dumps(mine))
    expect(page.locator("#shown")).to_contain_text("mine.json is shown with the others above")
    first, *others = bars(page)
    assert first[0] == "Mine best" and len(others) == before
    assert "your file mine.json: %s, version" % kind(mine) in " ".join(first)
    assert "6,400" in " ".join(first)
    assert "Mine" not in page.locator("#answer").inner_text()  # of another machine, perhaps
    chosen(page, by="share")
    assert "Mine, best" in page.locator("#answer").inner_text()
    chosen(page, by="memory")
    assert "Mine" not in page.locator("#answer").inner_text()


def test_a_dropped_result_of_another_recipe_is_not_ranked(opened, mine):
    page = opened(SINGLE + MACHINE + "&by=share")
    mine["hyperparameters"]["seed"] = 7
    drop(page, "mine.json", json.dumps(mine))
    expect(page.locator("#shown")).to_contain_text("mine.json is shown")
    assert "seed 7" in " ".join(bars(page)[0])
    assert "Mine" not in page.locator("#answer").inner_text()


def test_a_dropped_result_that_is_not_proven_has_no_time(opened, mine):
    """Its certificate passed, but its last updates were off."""
    late = {"passed": False, "share_of_tolerance": 50, "steps": 9, "detail": "conv1.bias"}
    page = opened(SINGLE + MACHINE)
    drop(page, "mine.json", json.dumps(dict(mine, late_updates=late)))
    shown = page.locator("#shown")
    expect(shown).to_contain_text("mine.json is not shown: it is not proven. The file has not left")
    assert not any(first[0].startswith("Mine") for first in bars(page))
    chosen(page, by="accuracy")
    assert any(first[0].startswith("Mine") for first in bars(page))
    assert "Mine, best" in page.locator("#belief").inner_text()


def test_a_dropped_result_in_a_third_lane_is_shown(opened, mine):
    page = opened(SINGLE + MACHINE + "&lane=both")
    drop(page, "mine.json", json.dumps(dict(mine, lane="bf16")))
    expect(page.locator("#shown")).to_contain_text("mine.json is shown")
    assert any(first[0] == "Mine bf16" for first in bars(page))


SPOILT = [
    (lambda result: "{", "not JSON"),
    (lambda result: "[1]", "of schema version undefined, not 1"),
    (lambda result: "null", "of schema version undefined, not 1"),
    (lambda result: json.dumps(dict(result, schema=2)), "of schema version 2, not 1"),
    (lambda result: json.dumps(dict(result, lane="street")), "lane: not one of same, best"),
    (lambda result: json.dumps(dict(result, extra=1)), '"extra" is unknown'),
    (lambda result: json.dumps(dict(result, losses=["x"])), "losses/0: not number"),
    (lambda result: json.dumps(dict(result, losses=["x"])).replace('"x"', "1e400"), "losses/0"),
    (lambda result: json.dumps(dict(result, timings=None)), "timings: not object"),
    (lambda result: json.dumps(dict(result, made=HOSTILE)), "made: not of the form"),
    (lambda result: json.dumps({n: v for n, v in result.items() if n != "timings"}), '"timings"'),
    (
        lambda result: json.dumps(
            dict(
                {n: v for n, v in result.items() if n not in ("accuracy", "timings")},
                status="stopped",
                error=HOSTILE,
            )
        ),
        "of a run that stopped: " + HOSTILE,
    ),
    (lambda result: json.dumps(dict(result, model="constructor")), "no committed run is of"),
    (lambda result: json.dumps(dict(result, model=HOSTILE)), "no committed run is of " + HOSTILE),
]


def test_a_dropped_file_that_is_spoilt_is_named_and_not_shown(opened, good):
    page = opened(SINGLE + MACHINE)
    before = bars(page)
    for spoil, why in SPOILT:
        drop(page, "<b>spoilt</b>.json", spoil(good))
        expect(page.locator("#dropped")).to_contain_text(why)
        assert page.locator("#dropped").inner_text().startswith("<b>spoilt</b>.json: ")
        assert bars(page) == before and page.locator("img, #dropped b").count() == 0


def test_a_dropped_file_that_is_hostile_is_shown_as_text(opened, good):
    page = opened(SINGLE + MACHINE)
    mine = dict(
        good, title=HOSTILE, lane="best", versions=dict(good["versions"], framework=HOSTILE)
    )
    drop(page, "mine.json", json.dumps(mine))
    expect(page.locator("#bars")).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0


def test_every_committed_result_may_be_dropped(opened, results):
    """So the browser's check is that of the report, and so is the recipe that it names."""
    page = opened(SINGLE + MACHINE)
    for number, one in enumerate(committed.read(results)[0].runs):
        name = "%d-%s" % (number, one.path.split("/")[-1])
        drop(page, name, json.dumps(one.result))
        expect(page.locator("#shown")).to_contain_text(name)
        assert page.locator("#dropped").inner_text() == ""
        assert page.evaluate("runs.at(-1).kind") == kind(one.result)


def test_the_page_may_ask_nothing_of_the_network(browser, folder):
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri())
    told = page.evaluate("fetch('data:,x').then(() => 'sent', () => 'refused')")
    page.close()
    assert told == "refused"


def test_tables_are_sorted_by_what_their_heads_say(opened):
    page = opened("#at=proof-cnn")
    table = page.locator("#proof .proof").first
    table.get_by_role("button", name=re.compile("^dropout")).click()
    shares = [
        float(text)
        for text in table.locator("tbody tr td:nth-child(9)").evaluate_all(
            "cells => cells.map((cell) => cell.dataset.value)"
        )
    ]
    assert shares == sorted(shares)
    names = table.get_by_role("button", name=re.compile("^run$"))
    names.click()
    first = table.locator("tbody th").all_inner_texts()
    names.click()
    assert table.locator("tbody th").all_inner_texts() == first[::-1]


# The proof.


def test_the_proof_shows_what_failed_first_and_shares_of_the_tolerance(opened):
    page = opened("#at=proof-cnn")
    table = page.locator("#proof .proof").first
    first = table.locator("tbody tr").first
    assert FAILED.key in first.inner_text() and "✗ 7 of 8" in first.inner_text()
    assert "FAILED: 2 times the tolerance" in first.locator(".failed").inner_text()
    rest = table.locator("tbody tr").nth(1).inner_text()
    assert "✓ 8 of 8" in rest and "equal" in rest and "%" in rest and " of 1" not in rest
    expect(first.locator(".raw").nth(4)).to_be_hidden()
    page.locator("#raw").check()
    assert first.locator(".raw").nth(4).inner_text().startswith("1.0e+00 of 5.0e-01")
    heads = table.locator("thead th span").all_inner_texts()
    assert len(heads) == 8 and all(len(text) > 20 for text in heads)


# Print, phone, dark.


def test_print_shows_the_chosen_frameworks_only_and_nothing_is_clipped(opened, tmp_path):
    page = opened(beside(A, D))
    page.pdf(path=str(tmp_path / "page.pdf"), prefer_css_page_size=True, format="A4")
    pages = pypdf.PdfReader(str(tmp_path / "page.pdf")).pages
    text = re.sub(r"\s", "", "".join(one.extract_text() for one in pages))
    lines = page.evaluate(
        """() => [...document.querySelectorAll(".step[open] .row > .cell:not([hidden]) > pre .l")]
          .filter((line) => !line.closest(".row[hidden]"))
          .map((line) => [...line.childNodes].slice(1).map((node) => node.textContent).join(""))"""
    )
    assert len(lines) > 120
    missing = [line for line in lines if re.sub(r"\s", "", line) not in text]
    assert not missing, "clipped: %s" % missing[:5]
    for module in MODULES:
        if module not in (A, D) and "loss" in module.steps:  # others import it
            first, last = module.steps["loss"]
            own = [re.sub(r"\s", "", line) for line in module.lines[first - 1 : last]]
            for line in own:
                others = "".join(A.lines + D.lines)
                if len(line) > 40 and line not in re.sub(r"\s", "", others):
                    assert line not in text, (module.key, line)
    assert "Fastest:" not in text and len(pages) < 16


def test_nothing_reaches_beyond_a_printed_page(opened):
    page = opened(beside(B, C))
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 less its margins
    page.emulate_media(media="print")
    for part in ("code", "results", "proof", "port"):
        page.evaluate("id => document.getElementById(id).scrollIntoView()", part)
        page.wait_for_timeout(100)
        wide = page.evaluate(
            """() => [...document.querySelectorAll("main *")].filter((one) => one.offsetParent &&
              one.getBoundingClientRect().right > innerWidth + 1 && !one.closest("svg"))
              .map((one) => one.outerHTML.slice(0, 120))"""
        )
        assert wide == [], part


def test_a_phone_shows_one_framework_at_a_time_and_a_tab_for_each(opened):
    page = opened(beside(A, D, C) + "&at=loss-function")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    before = columns(page, "optimiser")
    assert len(before) == 1 and before != keys(D)
    tabs = page.locator("#step-loss .tabs button")
    assert tabs.all_inner_texts() == [A.title, D.title, C.title]
    tabs.nth(1).focus()
    page.keyboard.press("Enter")
    assert columns(page, "optimiser") == keys(D) and columns(page, "loop") == before
    assert tabs.nth(1).get_attribute("aria-pressed") == "true"


def test_a_phone_without_the_script_shows_the_code_and_nothing_that_needs_it(browser, folder):
    size = {"width": 390, "height": 800}
    context = browser.new_context(java_script_enabled=False, viewport=size)
    page = context.new_page()
    page.goto((folder / "index.html").as_uri())
    assert sorted(columns(page, "conv1")) == sorted(keys(A, B))
    for selector in ("#bar", ".controls", "#drop", "#raw", "#all-phrases"):
        assert page.locator(selector).count() > 0
        assert page.locator(selector + ":visible").count() == 0, selector
    context.close()


def test_a_phone_shows_a_row_in_all_frameworks(opened):
    page = opened(beside(A, D) + "&at=dropout1&all=1")
    page.set_viewport_size({"width": 390, "height": 800})
    assert len(columns(page, "dropout1")) == len(MODULES) and len(columns(page, "dropout2")) == 1


def test_the_theme_is_switched_and_kept(opened):
    page = opened()
    page.emulate_media(color_scheme="light")
    back = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(back)
    button = page.locator("#theme")
    button.click()
    assert page.evaluate(back) == light
    button.click()
    dark = page.evaluate(back)
    assert dark != light and button.get_attribute("aria-label") == "Theme: dark"
    page.reload()
    assert page.evaluate(back) == dark
    button.click()
    assert page.evaluate(back) == light


# Size and speed.


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
        text = page.read_text(encoding="utf-8")
        every = re.findall(r' id="([^"]+)"', text)
        assert len(every) == len(set(every)), "an id stands twice in %s" % page.name


def test_the_site_is_small_and_so_is_its_page(tmp_path, results, phrase_book):
    whole = site.render(*committed.read(results), tmp_path / "site")
    index = gzip.compress((tmp_path / "site" / "index.html").read_bytes(), 6)
    assets = sum(
        len(gzip.compress(one.read_bytes(), 6)) for one in (tmp_path / "site/assets").iterdir()
    )
    print("index %d kB gzipped, assets %d kB" % (len(index) / 1e3, assets / 1e3))
    assert len(index) + assets < 600e3
    assert whole < 20 * MEGABYTE  # most of it the files of committed runs, opened one at a time


def test_the_first_paint_is_early(opened):
    page = opened()
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
    took = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    print("first paint: %.0f ms" % took)
    assert took < 1000  # 100 to 200 ms on an idle machine


def test_the_originals_lessons_stand_beside_its_figures(opened):
    page = opened("#lessons")
    rows = page.locator("#original table").nth(1).locator("tbody tr")
    assert rows.count() == 10
    assert rows.nth(1).locator("td").nth(2).inner_text() == "cannot be seen without a GPU"
