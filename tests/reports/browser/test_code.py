"""The code on the page in a real browser: columns, rows, concepts, whole files and search."""

import pytest
from playwright.sync_api import expect

from common.networks import MODELS
from reports import committed, site, sources
from tests.reports.browser.conftest import HOSTILE
from tests.reports.browser.looks import (
    BOOK,
    MODULES,
    READ,
    A,
    B,
    C,
    D,
    E,
    Hand,
    beside,
    columns,
    found,
    framework,
    keys,
    on_screen,
    said,
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


def test_without_a_clipboard_both_copy_buttons_say_so(opened):
    """A page that came over plain http has none."""
    page = opened("#view=files")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_role("button", name="Copy train of " + A.title).click()
    expect(page.locator("#step-train .columns button").first).to_have_text("Not allowed")
    page.get_by_text("View", exact=True).click()
    page.locator("#link").click()
    expect(page.locator("#link")).to_have_text("Not allowed: it is in the address bar")


def test_the_focus_stays_in_the_toolbar_when_a_framework_is_added_or_removed(opened):
    page = opened(beside(A, C, D))
    focus = "document.activeElement.dataset.place"
    page.get_by_role("button", name="Add a framework").focus()
    page.keyboard.press("Enter")
    assert page.evaluate(focus) == "3"  # there is no room for another one
    page.get_by_role("button", name="Remove " + D.title, exact=True).focus()
    page.keyboard.press("Enter")
    assert page.evaluate(focus) == "2"


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
