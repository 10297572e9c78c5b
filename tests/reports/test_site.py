"""The page in a real browser."""

import gzip
import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import frameworks
from common.networks import MODELS
from common.system import modules as loader
from reports import committed, phrases, port, reading, site, sources
from tests.reports.conftest import AXE, FAILED, HOSTILE

MEGABYTE = 1e6
MODULES = sources.modules()
READ = reading.read(MODULES)
BOOK = dict(phrases.book(MODULES))
A, B = (next(one for one in MODULES if one.key == key) for key in site.pair(MODULES))
# Those with the most networks come first: they have code for most of what is asked here.
C, D, E, *_ = sorted(
    (one for one in MODULES if one not in (A, B) and one.key != frameworks.REFERENCE),
    key=lambda module: -len(loader.models(module.key)),
)
SINGLE = "#with=%s,%s&at=single-runs" % (A.key, B.key)
MACHINE = "&machine=amd-epyc-2-cores"


def keys(*modules):
    return [module.key for module in modules]


def beside(*modules):
    """The end of an address that shows these modules."""
    return "#with=" + ",".join(keys(*modules))


def said(phrase, module):
    """The first line of how a module says something, without a comment."""
    return BOOK[phrase][MODULES.index(module)].text.split("\n")[0].split("#")[0].strip()


def columns(page, concept="loop"):
    cells = page.locator("#%s > .cell:visible" % concept)
    return [cells.nth(i).get_attribute("data-module") for i in range(cells.count())]


def framework(page, place):
    return page.get_by_label("Framework %d" % place)


def on_screen(page, selector):
    """Whether what is there first is to be seen without scrolling, when all is laid out."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => "
        "requestAnimationFrame(done))))"
    )
    box = page.locator(selector).first.bounding_box()
    size = page.viewport_size
    bars = 80  # the toolbar and the columns' heads
    return (
        box is not None
        and box["y"] >= bars - 1
        and box["y"] + min(box["height"], 40) <= size["height"]
    )


# Reading the same idea in two languages.


def test_frameworks_are_chosen_swapped_added_and_removed_and_the_address_keeps_them(opened):
    page = opened()
    assert columns(page) == keys(A, B)
    framework(page, 2).select_option(label=D.title)
    assert columns(page) == keys(A, D) and beside(A, D) in page.url
    page.get_by_role("button", name="Swap the frameworks").click()
    assert columns(page) == keys(D, A) and beside(D, A) in page.url
    page.get_by_role("button", name="Add a framework").click()
    page.get_by_role("button", name="Remove " + D.title).click()
    added = MODULES[0]
    assert columns(page) == keys(A, added)
    assert page.locator("#column-heads .head").all_inner_texts() == [A.title, added.title]
    heads = page.locator(".phrases thead [data-module]:visible")
    assert set(heads.all_text_contents()) == {A.title, added.title}


def test_a_concept_stands_on_one_row_in_all_columns(opened):
    page = opened(beside(A, C, D))
    for concept in ("dropout1", "optimiser", "backward"):
        cells = page.locator("#%s > .cell:visible" % concept)
        tops = {round(cells.nth(i).bounding_box()["y"]) for i in range(cells.count())}
        assert cells.count() == 3 and len(tops) == 1


def test_every_concept_of_every_framework_can_be_asked_for(opened):
    """Each row shows the code of whatever framework is chosen, or that none is needed."""
    page = opened()
    for module in MODULES:
        missing = page.evaluate(
            """key => [...document.querySelectorAll(".rows > .row")].filter((row) => {
              const cell = row.querySelector(`:scope > [data-module="${key}"]`);
              return cell.matches(".none") === Boolean(cell.querySelector(".l, .prose"));
            }).map((row) => row.id)""",
            module.key,
        )
        assert missing == [], module.key


def test_a_row_can_be_seen_in_all_frameworks(opened):
    page = opened(beside(A, D))
    page.locator("#dropout1").hover()
    page.get_by_role("button", name="dropout 1 in all %d frameworks" % len(MODULES)).click()
    assert len(columns(page, "dropout1")) == len(MODULES) and "all=1" in page.url
    assert columns(page, "dropout2") == keys(A, D)
    page = opened(page.url[page.url.index("#") :])
    assert len(columns(page, "dropout1")) == len(MODULES)


def test_helpers_fold(opened):
    module, key, piece = next(
        (module, key, piece)
        for module in MODULES
        for key, pieces in READ[module.key].pieces.items()
        for piece in pieces
        if piece.unit.helper and not piece.unit.head
    )
    page = opened(beside(module, A) + "&at=" + key)
    helper = page.locator('#%s [data-module="%s"] details' % (key, module.key)).first
    expect(helper.locator("pre")).to_be_hidden()
    helper.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(helper.locator("pre")).to_contain_text(module.lines[piece.lines[-1] - 1].strip())


def marked(page):
    return page.evaluate(
        """() => [...(CSS.highlights.get("differs") || [])].map((range) => {
          const row = range.startContainer.parentElement.closest(".row").id;
          return [row, range.startContainer.data.slice(range.startOffset, range.endOffset)];
        })"""
    )


def test_words_that_one_of_two_frameworks_lacks_are_marked_and_comments_do_not_count(opened):
    page = opened(beside(A, D))
    found = marked(page)
    conv1 = [text for row, text in found if row == "conv1"]
    ours, theirs = page.evaluate(
        """() => [...document.querySelectorAll("#conv1 > .cell:not([hidden])")].map((cell) => {
          const copy = cell.cloneNode(true);
          copy.querySelectorAll(".c, .o, .n, .who, details").forEach((one) => one.remove());
          return copy.textContent.match(/[A-Za-z_]\\w*/g);
        })"""
    )
    assert len(set(conv1) & (set(ours) ^ set(theirs))) > 2
    assert not any("quarter" in text or "canonical" in text for _, text in found)
    words = page.evaluate(
        """() => [...document.querySelectorAll(".rows .cell:not([hidden]) .l")]
          .map((line) => line.textContent.replace(/#.*/, "")).join(" ")
          .match(/[A-Za-z_]\\w*|\\d[\\w.]*/g).length"""
    )
    assert 0 < len(found) < 0.3 * words, "of %d words %d are marked" % (words, len(found))
    page.get_by_text("View", exact=True).click()
    page.locator("#differences").uncheck()
    assert marked(page) == []


def test_of_more_than_two_frameworks_nothing_is_marked(opened):
    assert marked(opened(beside(A, C, D))) == []


@pytest.mark.parametrize("view", ["", "&view=files"])
def test_no_code_is_clipped_at_1280_pixels_and_two_columns(opened, view):
    for one, other in zip(MODULES[::2], MODULES[1::2]):
        page = opened(beside(one, other) + view)
        clipped = page.evaluate(
            """() => [...document.querySelectorAll(".cell:not([hidden]) :is(pre, .l)")]
              .filter((one) => one.offsetParent && one.scrollWidth > one.clientWidth + 1)
              .map((one) => one.textContent.slice(0, 80))"""
        )
        assert clipped == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_wrapping_and_comments_are_switched_and_kept(opened):
    page = opened(beside(A, D) + "&at=optimiser")
    comment = page.locator("#optimiser .c:visible")
    assert comment.count() > 0
    page.get_by_text("View", exact=True).click()
    page.locator("#comments").uncheck()
    page.locator("#wrap").uncheck()
    assert comment.count() == 0
    line = page.locator("#optimiser .l").first
    assert line.evaluate("one => getComputedStyle(one).whiteSpace") == "pre"
    page.reload()
    assert comment.count() == 0


def test_a_click_on_a_concept_pins_it_into_the_address(opened):
    page = opened(beside(A, D))
    page.locator("#dropout2 .name a").click()
    assert page.url.endswith(beside(A, D) + "&at=dropout2")
    assert "here" in page.locator("#dropout2").get_attribute("class")
    page.go_back()
    assert page.url.endswith(beside(A, D))


def test_a_concept_lights_up_in_all_whole_files(opened):
    page = opened(beside(A, B) + "&view=files")
    cell = page.locator('.columns [data-module="%s"] .l' % A.key, has_text=said("dropout", A))
    cell.first.hover()
    lit = page.locator(".columns .l.lit")
    texts = [text.split("#")[0].strip() for text in lit.all_inner_texts()]
    assert texts == [said("dropout", A), said("dropout", B)]
    lit.first.click()
    assert "at=dropout1" in page.url


def test_a_step_of_a_whole_file_is_copied_as_it_stands(opened):
    page = opened("#view=files")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy train of " + A.title).click()
    first, last = A.steps["train"]
    expect(page.locator("#step-train .columns button").first).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines() == A.lines[first - 1 : last]


def test_a_step_is_folded_with_the_keyboard(opened):
    page = opened()
    page.locator("#step-symbol > summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#conv1 .cell").first).to_be_hidden()
    page.keyboard.press("Enter")
    assert columns(page, "conv1") == keys(A, B)


# The first screen, and further networks.


@pytest.mark.parametrize("width, height", [(1400, 900), (390, 800)])
def test_the_page_opens_with_the_network(opened, width, height):
    """The first convolution of the pair is on the first screen; what prepares it is folded."""
    page = opened()
    page.set_viewport_size({"width": width, "height": height})
    assert columns(page, "conv1")[0] == site.FIRST_PAIR[0]
    assert page.locator("#conv1").bounding_box()["y"] < height - 100
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for step in ("configure", "head"):
        assert page.locator("#step-" + step).get_attribute("open") is None
    toolbar = page.locator("#bar").bounding_box()
    for control in page.locator("#bar button:visible, #bar select:visible").all():
        box = control.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= toolbar["width"]


def test_a_network_is_chosen_like_a_framework(opened):
    page = opened(beside(D, A))
    page.get_by_label("Network", exact=True).select_option("resnet.html")
    page.wait_for_url("**/resnet.html#with=" + ",".join(keys(D, A)) + "*")
    assert columns(page, "norm") == keys(D, A)
    page.get_by_label("Network", exact=True).select_option("index.html")
    page.wait_for_url("**/index.html#with=" + ",".join(keys(D, A)) + "*")


@pytest.mark.parametrize("query", ["batch normalisation", "gradient cut", "ResNet", "checkpoint"])
def test_find_knows_the_concepts_of_all_networks(opened, query):
    page = opened()
    assert "Nothing here" not in found(page, query)[0][1]


def test_a_concept_of_another_network_is_two_actions_away(opened):
    hand = Hand(opened())
    hand.types("/batch normalisation")
    place = next(
        at
        for at, text in enumerate(hand.page.locator("#found [role=option]").all_inner_texts())
        if text.startswith("in ")
    )
    for _ in range(place):
        hand.page.keyboard.press("ArrowDown")
    hand.press("Enter")
    hand.page.wait_for_url("**/resnet.html#*at=norm*")
    assert on_screen(hand.page, "#norm") and columns(hand.page, "norm") == keys(A, B)


def test_every_network_has_a_page_with_rows_and_a_way_back(opened, folder):
    for name in MODELS:
        path = site.file(name)
        if path != "index.html" and sources.modules(name):
            page = opened(path)
            assert page.locator(".rows > .row:visible").count() > 10, name
            assert page.locator("#step-symbol .cell:visible .l").count() > 0, name
    page.get_by_role("link", name="Phrase book").click()
    page.wait_for_url("**/index.html#*at=phrase-book*")


def test_all_surprises_are_on_one_screen(opened):
    page = opened("#surprises")
    page.set_viewport_size({"width": 1400, "height": 1000})
    listed = page.locator("#surprises > .surprises").first
    assert listed.locator("dt").count() == len(MODULES)
    assert listed.bounding_box()["height"] < 1000


def test_the_wall_shows_every_record_and_one_mistake_that_fails(opened):
    page = opened("#wall")
    recorded = sorted((committed.HERE / "proofs").glob("*/*.json"))
    assert page.locator(".wall .ok, .wall .old, .wall .no").count() == len(recorded)
    states = page.locator("#proof .rungs li")
    assert states.count() > 1 and states.last.get_attribute("class") == "no"
    assert page.locator("#proof .rungs .no").count() == 1
    assert page.locator("#proof .diff ins").count() > 0


# Permalinks.


@pytest.mark.parametrize(
    "at, columns_then",
    [
        ("step-train", [C, D]),
        ("dropout3", [C, D]),
        ("%s-%d" % (E.key, E.steps["train"][0]), [E, D]),  # a line of a hidden column shows it
        ("figure-divergence", [C, D]),
        ("off-momentum", [C, D]),
        ("proof-cnn", [C, D]),
        ("phrase-book", [C, D]),
        ("surprises", [C, D]),
        ("wall", [C, D]),
        ("mistake-nesterov", [C, D]),
    ],
)
def test_a_permalink_opens_what_it_names(opened, at, columns_then):
    page = opened("#with=%s,nonsense,%s&machine=nowhere&at=%s" % (D.key, C.key, at))
    assert set(columns(page)) == set(keys(*columns_then))
    page.wait_for_function(
        "id => document.getElementById(id).getBoundingClientRect().y < 900", arg=at
    )
    assert on_screen(page, "#" + at)
    plain = opened("#" + at)
    assert on_screen(plain, "#" + at) and "with=" in plain.url


def test_every_line_has_a_permalink(opened):
    page = opened()
    ids = set(page.evaluate("[...document.querySelectorAll('.rows [id]')].map((one) => one.id)"))
    for module in MODULES:
        code = READ[module.key].code
        assert {"%s-%d" % (module.key, number) for number in code} <= ids


def test_nonsense_in_the_address_is_passed_over(opened):
    page = opened("#at=nowhere&only=nothing&with=,,x&lane=%3Cimg%3E&all=1&view=sideways")
    assert columns(page) == keys(A, B)
    page = opened("#%E0%A4%A")
    assert columns(page) == keys(A, B)


def test_a_whole_file_and_the_way_back_keep_the_choice(opened):
    page = opened(beside(C, D) + "&view=files&at=step-loss")
    page.locator('#step-loss a[href^="files/"]').first.click()
    page.wait_for_url("**/files/%s.html#*" % C.path)
    first, chosen = C.steps["loss"][0], beside(C, D)[1:]
    assert page.url.endswith("#L%d&%s" % (first, chosen))
    assert page.locator(".l.here .n").inner_text() == str(first)
    page.locator("#L%d .n" % (first + 1)).click()
    assert page.url.endswith("#L%d&%s" % (first + 1, chosen))
    page.locator("#back").click()
    page.wait_for_url("**/index.html#" + chosen)
    assert columns(page) == keys(C, D)
    page.go_back()
    page.go_back()
    page.go_back()
    assert page.url.endswith(chosen + "&view=files&at=step-loss")


def test_the_contents_follow_and_lead(opened):
    page = opened(beside(A, D) + "&at=dropout2")
    contents = page.locator("#contents")
    expect(contents).to_have_value("dropout2")
    page.evaluate("document.getElementById('proof').scrollIntoView()")
    expect(contents).to_have_value("proof")
    contents.select_option("backward")
    assert on_screen(page, "#backward") and "at=backward" in page.url
    assert page.locator("#bar").bounding_box()["y"] == 0


def test_names_stay_visible_in_tables(opened):
    page = opened("#at=phrase-book")
    page.locator("#all-phrases").check()
    wide = page.locator("#phrase-book .wide")
    wide.evaluate("one => one.scrollTo(3000, 800)")
    box = wide.bounding_box()
    head = wide.locator("thead th", has_text=MODULES[-1].title).bounding_box()
    concept = wide.locator("tbody th", has_text="gradients reset").bounding_box()
    assert head["y"] - box["y"] < 2 and concept["x"] - box["x"] < 2


# Find.


def found(page, query):
    page.keyboard.press("/")
    page.keyboard.type(query)
    return [text.split("\n") for text in page.locator("#found [role=option]").all_inner_texts()]


def test_find_goes_to_concepts_lines_and_frameworks_hidden_columns_too(opened):
    page = opened()
    first, *others = found(page, "momentum")
    assert first == ["head", "momentum"] and ["loss", "optimiser"] in others
    assert {place for place, _ in others} & {module.title for module in (C, D, E)}
    page.keyboard.press("Escape")
    line = said("optimiser", E)
    number = BOOK["optimiser"][MODULES.index(E)].number
    assert found(page, line)[0][0] == E.title
    page.keyboard.press("Enter")
    here = "%s-%d" % (E.key, number)
    assert columns(page) == keys(A, E) and "at=" + here in page.url
    assert on_screen(page, "#" + here)
    assert found(page, C.title)[0] == ["framework", C.title]
    page.keyboard.press("Enter")
    assert columns(page) == keys(A, C)


def test_find_takes_several_concepts_as_rows_alone(opened):
    page = opened()
    assert "3 rows" in found(page, D.title + " optimiser backward loop")[0][1]
    page.keyboard.press("Enter")
    rows = page.locator(".rows > .row:visible")
    ids = [rows.nth(i).get_attribute("id") for i in range(rows.count())]
    assert ids == ["optimiser", "loop", "backward"] and columns(page) == keys(A, D)
    again = opened(page.url[page.url.index("#") :])
    assert again.locator(".rows > .row:visible").count() == 3
    again.get_by_role("button", name="Show all").click()
    assert again.locator(".rows > .row:visible").count() > 40


def test_find_says_when_there_is_nothing_and_takes_markup_as_text(opened):
    page = opened()
    assert "Nothing here" in found(page, HOSTILE + " zzz")[0][1]
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert page.locator("img").count() == 0


def test_find_is_quick(opened):
    page = opened()
    found(page, "x")
    took = page.evaluate(
        """() => { const box = document.getElementById("find"); const times = [];
          for (const text of ["m", "mo", "momentum", "loss dropout", "self.conv"]) {
            box.value = text; const start = performance.now();
            box.dispatchEvent(new Event("input")); times.push(performance.now() - start);
          } return Math.max(...times); }"""
    )
    print("search: %.1f ms" % took)
    assert took < 100  # 10 to 20 ms on an idle machine


# What a new user wants, by keyboard alone. An action is a run of typing, or a key that commands.


class Hand:
    def __init__(self, page):
        self.page, self.actions = page, 0

    def types(self, text):
        self.page.keyboard.type(text)
        self.actions += 1

    def press(self, key):
        self.page.keyboard.press(key)
        self.actions += 1


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
    assert "is fastest" in answer and "passed every rung" in answer
    assert (
        page.locator("#results h3").first.inner_text() == "Which framework trains the CNN fastest?"
    )
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
    assert count > 20
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


def test_a_dropped_result_is_shown_beside_the_committed_ones(opened, good):
    page = opened(SINGLE + MACHINE)
    before = len(bars(page))
    mine = json.loads(json.dumps(good))
    mine.update(title="Mine", lane="best")
    mine["timings"]["step"].update(median=0.01, quartiles=[0.009, 0.011])
    drop(page, "mine.json", json.dumps(mine))
    expect(page.locator("#shown")).to_contain_text("has not left this browser")
    first, *others = bars(page)
    assert first[0] == "Mine best" and len(others) == before
    assert "your file mine.json" in " ".join(first)
    assert page.locator("#answer").inner_text().startswith("Fastest: Mine, best, with 6,400")


SPOILT = [
    (lambda result: "{", "not JSON"),
    (lambda result: "[1]", "of schema version undefined, not 1"),
    (lambda result: "null", "of schema version undefined, not 1"),
    (lambda result: json.dumps(dict(result, schema=2)), "of schema version 2, not 1"),
    (lambda result: json.dumps(dict(result, lane="street")), "lane: not one of same, best"),
    (lambda result: json.dumps(dict(result, extra=1)), '"extra" is unknown'),
    (lambda result: json.dumps(dict(result, losses=["x"])), "losses/0: not number"),
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
    """So the browser's check is that of the report."""
    page = opened(SINGLE + MACHINE)
    for one in committed.read(results)[0].runs:
        drop(page, one.path.split("/")[-1], json.dumps(one.result))
        expect(page.locator("#shown")).to_contain_text(one.path.split("/")[-1])
        assert page.locator("#dropped").inner_text() == ""


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
    pypdf = pytest.importorskip("pypdf")
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
