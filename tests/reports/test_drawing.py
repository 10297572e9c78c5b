"""A figure takes the page's colours, and text that could be markup stays text."""

from xml.etree import ElementTree

from reports import drawing

HOSTILE = '<b onclick="x">$\\frac$'


def test_an_interval_that_holds_the_line_has_the_accents_colour():
    def colours(low, high):
        drawn = drawing.intervals([("one", 1.0, low, high)], "title", "ratio", 1)
        return [one for one in ("accent", "other") if "var(--%s)" % one in drawn]

    assert colours(0.9, 1.1) == ["accent"]
    assert colours(1.05, 1.1) == colours(0.8, 0.95) == ["other"]


def test_markup_in_a_name_is_text():
    drawn = drawing.intervals([(HOSTILE, 1.0, 0.9, 1.1)], HOSTILE, HOSTILE, 1)
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == HOSTILE
    assert [one.text for one in root.iter() if one.text == HOSTILE] == [HOSTILE] * 2
