"""What tests of the page share: the modules that they show, and where things are on it."""

import frameworks
from common.system import modules as loader
from reports import phrases, reading, site, sources

MODULES = sources.modules()
READ = reading.read(MODULES)
BOOK = dict(phrases.book(MODULES))
A, B = (next(one for one in MODULES if one.key == key) for key in site.pair(MODULES))
# Those with the most networks come first: they have code for most of what is asked here.
C, D, E, *_ = sorted(
    (one for one in MODULES if one not in (A, B) and one.key != frameworks.REFERENCE),
    key=lambda module: -len(loader.models(module.key)),
)


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


def found(page, query):
    page.keyboard.press("/")
    page.keyboard.type(query)
    return [text.split("\n") for text in page.locator("#found [role=option]").all_inner_texts()]


class Hand:
    def __init__(self, page):
        self.page, self.actions = page, 0

    def types(self, text):
        self.page.keyboard.type(text)
        self.actions += 1

    def press(self, key):
        self.page.keyboard.press(key)
        self.actions += 1
