"""The result of compare as JSON and as a page: what they say, and that names do no harm."""

import json
import re
from html.parser import HTMLParser

import jsonschema
import numpy as np
import pytest

from common.challenge import challenge
from common.compare import page, verdict
from common.system import commands
from tests.challenge.conftest import normal

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "$title ${rule} %s {0}",
    "&lt;b&gt; \u202egnp.exe \x1b[2J\n",
    "http://example.org/x.js",
    "n" * 5000,
)
TAGS = "html head meta title style body main section h1 h2 p span dl dt dd div ul li br code "
TAGS += "figure svg line text circle polygon table thead tbody tr th td"


def network(mistake=False, names=("x", "h", "relu", "scores")):
    """A recording of three layers, and of a training step; the mistake is in the second layer."""
    x = normal(16, 30)
    h = np.dot(x, normal(30, 40, seed=1))
    relu = h if mistake else np.maximum(h, 0)
    layers = zip(names, (x, h, relu, np.dot(relu, normal(40, 10, seed=2))))
    gradient, weight = normal(30, 40, seed=3), normal(30, 40, seed=4)
    step = weight - np.float32(0.19 if mistake else 0.1) * gradient
    tensors = {"before w": weight, "grad w": gradient, "step1 w": step}
    return dict(dict(layers), **tensors)


class Tags(HTMLParser):
    """The tags and the attributes of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes.update(attributes)

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def results(tmp_path):
    """Compare {name: array}s: (exit code, the JSON's values, the page)."""

    def compare(a, b, *options):
        for name, arrays in (("a", a), ("b", b)):
            np.savez(str(tmp_path / (name + ".npz")), **arrays)
        paths = [str(tmp_path / name) for name in ("a.npz", "b.npz", "out.json", "out.html")]
        arguments = ["compare", *paths[:2], "--json", paths[2], "--html", paths[3], *options]
        code = commands.guarded(challenge.command, arguments)
        with open(paths[2]) as file:
            result = json.load(file, parse_constant=pytest.fail)
        with open(verdict.SCHEMA) as file:
            jsonschema.validate(result, json.load(file))
        with open(paths[3], encoding="utf-8") as file:
            return code, result, file.read()

    return compare


def states(result):
    return [row["state"] for row in result["rows"]]


def test_recordings_that_agree(results):
    code, result, html = results(network(), network())
    assert code == 0 and result["agree"] and result["schema"] == verdict.SCHEMA_VERSION
    assert states(result) == ["agree"] * 7 and result["first_difference"] is None
    assert [row["kind"] for row in result["rows"]] == ["layer"] * 4 + [
        "weight",
        "gradient",
        "weight",
    ]
    optimizer = result["optimizer"]
    assert optimizer["a"] == optimizer["b"] == "SGD, rate 0.1, no decay"
    assert optimizer["differs"] is None
    assert '<h1 class="good">7 pairs agree' in html and "The same in both:" in html


def test_recordings_that_differ(results):
    a = network()
    a["extra"] = normal(16, 5, seed=9)
    code, result, html = results(a, network(mistake=True))
    assert code == 3 and not result["agree"]
    row = result["rows"][2]
    assert row["state"] == "first difference" and row["a"]["name"] == "relu"
    assert "ReLU" in row["says"] and row["distance"] > 0.1 > row["limit"] > 0
    assert states(result)[:4] == ["agree", "agree", "first difference", "off"]
    assert states(result).count("only in A") == 1
    assert "Nesterov" in result["optimizer"]["differs"]
    shown = " ".join(Tags(html).text)
    for words in ("First difference: relu", "Nesterov", "only in A", "A is the ReLU of B"):
        assert words in shown, words
    assert html.count('<tr class="first">') == 1 and html.count('<tr class="off">') == 1
    assert html.count('<tr class="also">') == 1  # the weights, by their own optimisers


def test_a_distance_that_is_not_known_is_null(results):
    a, b = network(), network(mistake=True)
    b["scores"][3] = np.nan
    code, result, html = results(a, b)
    (row,) = [row for row in result["rows"] if row["a"] and row["a"]["name"] == "scores"]
    assert code == 3 and row["distance"] is None and "not known" in html


def test_a_layer_that_only_one_side_has_is_between_its_neighbours(results):
    b = network()
    del b["h"]
    code, result, _ = results(network(), b)
    assert code == 0 and states(result)[:3] == ["agree", "only in A", "agree"]


def test_with_all_what_only_a_has_is_a_difference(results, capsys):
    b = network()
    del b["h"]
    code, result, html = results(network(), b, "--all")
    assert code == 3 and not result["agree"] and result["first_difference"] is None
    assert result["missing"] == ["h"] and "missing in B: h" in capsys.readouterr().out
    assert "6 pairs agree; missing in B: h" in html
    assert results(b, network(), "--all")[0] == 0
    code, result, _ = results(network(), network(mistake=True), "--all")
    assert code == 3 and result["missing"] == []  # wrong, but there
    a = dict(network(), dropout=network()["relu"])  # the same values as another array
    assert results(a, network(), "--all")[0] == 0


def test_with_all_each_call_of_a_layer_counts(results):
    a = network()
    a = {"x": a["x"], "relu": a["h"], "relu, call 2": a["relu"], "scores": a["scores"]}
    b = {"x": a["x"], "relu": a["relu, call 2"], "scores": a["scores"]}  # the last call alone
    code, result, _ = results(a, b, "--all")
    assert code == 3 and result["missing"] == ["relu"]
    assert results(a, a, "--all")[0] == 0


def hostile():
    """Recordings whose names look like tags, commands or code; some arrays differ."""
    names = HOSTILE[:4]
    a, b = network(names=names), network(mistake=True, names=names)
    for name in HOSTILE[4:]:
        a[name], b["other " + name] = normal(16, 3, seed=5), normal(16, 4, seed=6)
    return a, b


@pytest.mark.parametrize("same", [True, False])
def test_names_of_arrays_are_text(same, results):
    a, b = hostile()
    _, result, html = results(a, a if same else b)
    html = page.render(dict(result, a=dict(result["a"], path=HOSTILE[1] + "\udcff")))
    html.encode("utf-8")
    parsed = Tags(html)
    assert parsed.tags <= set(TAGS.split())
    names = {name for name, _ in parsed.attributes}
    assert not names & {"href", "src", "srcset", "action", "xlink:href"}
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"url\(|@import", html) and html.count("default-src 'none'") == 1
    shown = " ".join(parsed.text)
    for words in HOSTILE[:2] + ("${rule} %s {0}",):
        assert words in shown
    assert "\u202e" not in html and "\x1b" not in html and "n" * 400 not in html


@pytest.mark.slow
def test_a_page_of_a_large_network_is_small(results):
    arrays = {"layer%d.conv" % n: normal(8, 20, seed=n) for n in range(200)}
    _, result, html = results(arrays, arrays)
    assert len(result["rows"]) == 200 and len(html) < 1000 * 200


def test_a_page_needs_the_json_alone(results):
    _, result, html = results(network(), network(mistake=True))
    assert page.render(json.loads(json.dumps(result))) == html


def test_a_page_that_cannot_be_written_is_one_line(tmp_path, capsys):
    np.savez(str(tmp_path / "a.npz"), **network())
    paths = [str(tmp_path / "a.npz")] * 2
    assert commands.guarded(challenge.command, ["compare", *paths, "--html", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
