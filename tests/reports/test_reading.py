"""Rows and phrases are found in the modules, and every entry that misses is named at once."""

import os
import re

import pytest

import frameworks
from common.challenge import causes, hypotheses
from common.networks import MODELS
from common.proof.reference import USUAL
from common.system import modules as loader
from common.system.errors import InputError
from common.system.files import ROOT
from reports import aligned, phrases, reading, sources
from reports.concepts import PHRASES, rows, steps

MODULES = sources.modules()
SHARE = 0.8  # of the lines of code at least, that show more than the rest of their step
OTHERS = 0.6  # in the other networks: shorter modules, with as many lines around the code

TEXT = '''"""A module of no framework.

Idiom: plain functions.
Layout: NCHW.
"""

import library


def configure(lane, threads, seed):
    """Set the seed."""
    library.seed(seed)
    return {"device": "cpu", "threads": threads}


def relu(x):
    """The larger of x and 0."""
    return library.maximum(x, 0)


def symbol(settings, hp):
    """The network."""
    # This comment is shown with the line below.
    x = relu(library.pool(library.conv(50), 2))
    x = relu(library.pool(library.conv(100), 2))
    return x


def wait(model):
    """Return at once."""
'''
ROWS = {"pool": "library.pool", "conv1": "library.conv(50)", "conv2": "library . conv( 100 )"}


def read(text=TEXT, rows=ROWS, said=None, unsaid=""):
    lines = text.splitlines()
    module = sources.Module(
        "new", "New", "frameworks/new/cnn.py", lines, sources.steps(text, lines)
    )
    return reading.Source(module, reading.Table("page.py", "cnn", rows, said or {}, unsaid)).rows()


def shown(source, key):
    """The texts of a row's lines."""
    lines = [number for piece in source.pieces[key] for number in piece.lines]
    return [source.module.lines[number - 1].strip() for number in lines]


def test_every_entry_of_the_tables_is_found():
    assert phrases.misses(MODULES) == []


def with_a_table(network):
    """The modules of a network of which a ``page.py`` says something."""
    for module in sources.modules(network):
        table = reading.table(module, network)
        there = network == reading.FIRST and os.path.isfile(os.path.join(ROOT, table.path))
        if there or network in table.networks:
            yield module


@pytest.mark.parametrize("network", list(MODELS))
def test_each_line_of_code_is_in_a_row_and_most_show_a_concept(network):
    lines, rest, without = 0, 0, {}
    for key, source in reading.read(list(with_a_table(network)), network).items():
        in_rows = {
            number
            for pieces in source.pieces.values()
            for piece in pieces
            if piece.module is source.module
            for number in piece.lines
        }
        assert set(source.code) <= in_rows, key
        lines, rest = lines + len(source.code), rest + len(source.rest())
        without[source.module.path] = "%d of %d" % (len(source.rest()), len(source.code))
    share = SHARE if network == reading.FIRST else OTHERS
    assert rest <= (1 - share) * lines, "lines that show no concept: %s" % without


@pytest.mark.parametrize("network", list(MODELS))
def test_a_column_belongs_to_one_concept_unless_a_call_does_several_at_once(network):
    """As a call does that trains on a batch: then the very same columns are all of theirs."""
    for key, source in reading.read(sources.modules(network), network).items():
        owners = {}
        for pieces in source.pieces.values():
            for piece in pieces:
                for number, spans in piece.owned.items():
                    number = piece.module.path, number
                    owners.setdefault(number, set()).update(spans)
        for number, spans in owners.items():
            columns = [column for a, b in spans for column in range(a, b)]
            assert len(columns) == len(set(columns)), (key, number, spans)


def test_a_module_without_a_table_has_rows_by_its_steps_fields_and_settings():
    source = read(rows={})
    assert shown(source, "layout") == ["Layout: NCHW."]
    assert shown(source, "seed") == ["library.seed(seed)"]
    assert "def relu(x):" in shown(source, "relu1")
    assert "return x" in shown(source, "rest-symbol")
    cell = aligned.Rows(source.module, source).cell
    assert cell("optimiser") == aligned.NOT_YET
    assert aligned.Rows(source.module, read(unsaid="reset")).cell("reset") == aligned.NOTHING


def test_a_row_owns_its_call_without_the_calls_inside_it():
    source = read()
    (piece,) = source.pieces["pool1"]
    line = source.module.lines[piece.lines[-1] - 1]
    (owned,) = [spans for spans in piece.owned.values() if spans]
    assert piece.shared and [line[a:b] for a, b in owned] == ["library.pool(", ", 2)"]


def test_comments_quotes_and_line_breaks_do_not_matter():
    changed = TEXT.replace("conv(50)", "conv(  # a remark\n        50\n    )")
    source = read(changed, {"conv1": "conv(50)", "device": "'device'"})
    assert source.missed == [] and len(shown(source, "conv1")) == 4


def test_a_comment_is_shown_with_the_line_below():
    assert shown(read(), "pool1")[0].startswith("# This comment")


@pytest.mark.parametrize(
    "rows, why",
    [
        ({"optimiser": "library.sgd"}, "no 'library.sgd' in loss"),
        ({"dropout1": "def drop"}, "no 'def drop' in symbol"),
        ({"conv": "library.conv"}, "found 2, not 4"),
        ({"device": "library.device"}, "no 'library.device' in configure"),
        ({"dense": "library.dense{}"}, "no 'library.dense1' in symbol"),
    ],
)
def test_an_entry_that_its_module_lacks_says_why(rows, why):
    assert why in [why for _, why in read(rows=rows).missed]


def test_a_network_has_rows_of_its_own_and_those_of_the_steps_that_it_imports():
    borrowed = 0
    for module in sources.modules("resnet"):
        if "resnet" not in reading.table(module, "resnet").networks:
            continue
        source = reading.read([module], "resnet")[module.key]
        assert any("norm" in line.lower() for line in shown(source, "norm"))
        if "train" in module.imports:
            borrowed += 1
            assert source.pieces["loop"][0].module.path.endswith("/cnn.py")
            cell = aligned.Rows(module, source).cell("loop")
            assert "from cnn.py" in cell and 'id="%s-cnn-' % module.key in cell
    assert borrowed


def test_a_row_shows_the_lines_of_the_function_that_the_step_calls_with_their_file():
    """As of configure, which most networks take from another one and change a little."""
    shared = 0
    for network in MODELS:
        for module in sources.modules(network):
            source = reading.read([module], network)[module.key]
            pieces = source.pieces["precision"]
            if "configure" in module.imports or pieces[0].module is module:
                continue
            shared += 1
            name = pieces[0].module.path.split("/")[-1]
            assert "from %s" % name in aligned.Rows(module, source).cell("precision")
    assert shared > 20


def test_a_row_says_in_which_step_its_lines_are_if_it_is_another():
    seen = set()
    for module in sources.modules("gpt"):
        source = reading.read([module], "gpt")[module.key]
        piece = source.pieces["clipping"][0]
        seen.add(piece.step)
        told = "in train" in aligned.Rows(module, source).cell("clipping")
        assert told == (piece.step == "train")
    assert seen == {"loss", "train"}


def test_an_entry_of_a_network_must_be_found_and_one_of_the_cnn_need_not(monkeypatch):
    networks = {"mlp lenet5": {"optimiser": "library.adam"}, "mlp": {"relu": (), "colour": "red"}}
    rows = {"conv": "library.conv", "loss-function": "library.cost"}
    table = reading.Table("page.py", "mlp", rows, {}, "declared", networks)
    assert table.unknown() == ["colour"] and table.unsaid == {"declared", "relu"}
    source = read()
    source = reading.Source(source.module, table).rows()
    assert [key for key, _ in source.missed] == ["optimiser"]


def test_rows_are_the_shared_ones_and_the_networks_own_in_its_order():
    of_symbol = [concept.key for concept in rows("resnet") if concept.step == "symbol"]
    assert of_symbol[:3] == ["input", "conv", "norm"] and of_symbol[-1] == "rest-symbol"
    assert {"loop", "optimiser", "decay"} <= set(steps("resnet")) and "loop" in steps("unknown")


def test_a_row_that_is_there_is_not_unsaid():
    assert ("seed", "needs no code, it says, but line 12 shows it") in read(
        unsaid="seed reset"
    ).missed


def test_all_misses_are_in_one_message(monkeypatch):
    rows = {"optimiser": "library.sgd", "colour": "red"}
    said = ({"padding": "'same'"}, "loop taste", {"mlp": {"dense": "library.dense"}, "odd": {}})
    table = reading.Table("frameworks/new/page.py", "cnn", rows, *said)
    monkeypatch.setattr(reading, "table", lambda module, network="cnn": table)
    with pytest.raises(InputError) as caught:
        phrases.book([read().module])
    for key in ("optimiser", "colour", "padding", "taste", "odd"):
        assert "frameworks/new/page.py: %r: no" % key in str(caught.value)


def test_a_phrase_is_its_rows_most_telling_line(monkeypatch):
    said = {"dropout": (), "pooling": "library.pool"}
    table = reading.Table("page.py", "cnn", {"seed": "library.seed"}, said)
    monkeypatch.setattr(reading, "table", lambda module, network="cnn": table)
    book = {name: said for name, (said,) in phrases.book([read().module])}
    assert book["activation"].text == "return library.maximum(x, 0)"
    assert book["seed"].text == "library.seed(seed)"
    assert book["pooling"].text == "x = relu(library.pool(library.conv(50), 2))"
    assert book["layout of images"].prose and book["layout of images"].text == "NCHW."
    assert book["waiting for the device"].text == "Return at once."
    assert book["dropout"] == phrases.NOTHING
    assert book["optimiser"] == book["Adam"] == phrases.NOT_YET


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.challenge])
def test_every_cause_that_a_diagnosis_knows_has_its_line_on_the_page(name):
    description = MODELS[name]
    module = causes.plain(description, loader.load(frameworks.REFERENCE, name))
    known = hypotheses.scores(description, module)
    known += hypotheses.steps(description, USUAL._asdict(), None, description.hp)
    if "attention" in description.traits:
        known += hypotheses.generation(description)
    page = {phrase.name for phrase in PHRASES} | {row.title for row in rows(name)}
    lost = [cause.says for cause in known if cause.concept not in page]
    assert known and not lost


def test_a_rows_text_is_that_of_the_file():
    """Character for character, but for the indent that a row's lines share."""
    for module in MODULES:
        made = aligned.Rows(module, reading.read([module])[module.key])
        for concept in rows("cnn"):
            step = steps("cnn")[concept.key]
            lines = module.imports.get(step, module).lines
            cell = made.cell(concept.key)
            for number, html in re.findall(r"<a class=n [^>]*>(\d+)</a>(.*)\n", cell):
                text = re.sub(r"<[^>]+>", "", html)
                for code, letter in (("&#34;", '"'), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">")):
                    text = text.replace(code, letter)
                assert lines[int(number) - 1].endswith(text.replace("&amp;", "&"))
