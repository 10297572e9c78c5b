"""Every line of a module speaks of a concept, and every concept is found in every module."""

import re

import pytest

from common.system.errors import InputError
from reports import aligned, concepts, sources

MODULES = sources.modules()
READ = {module.key: concepts.Source(module) for module in MODULES}
SHARE = 0.8  # of the lines of code, what must speak of more than the rest of their step


def test_every_concept_is_found_in_every_module_that_has_it():
    gaps = [gap for source in READ.values() for gap in source.gaps()]
    assert not gaps, "mend reports/concepts.py:\n" + "\n".join(gaps)


def test_each_line_of_code_is_in_a_row_and_most_speak_of_a_concept():
    lines = rest = 0
    for key, source in READ.items():
        told = {n for pieces in source.pieces.values() for piece in pieces for n in piece.lines}
        assert set(source.code) <= told, key
        lines, rest = lines + len(source.code), rest + len(source.rest())
    assert rest / lines <= 1 - SHARE, "%d of %d lines speak of no concept" % (rest, lines)


def test_spans_hold_each_other_or_lie_apart():
    assert [cross for source in READ.values() for cross in source.crossing()] == []


def test_a_column_belongs_to_one_concept_unless_a_call_does_several_at_once():
    """As ``train_on_batch`` does: then the very same columns are all of theirs."""
    for key, source in READ.items():
        owners = {}
        for concept, pieces in source.pieces.items():
            for piece in pieces:
                for number, spans in piece.owned.items():
                    for span in spans:
                        owners.setdefault(number, {}).setdefault(span, []).append(concept)
        for number, spans in owners.items():
            columns = [column for a, b in spans for column in range(a, b)]
            assert len(columns) == len(set(columns)), (key, number, spans)


@pytest.mark.parametrize(
    "key, concept, own",
    [
        ("chainer", "pool1", ["F.max_pooling_2d(", ", 2, cover_all=False)"]),
        ("chainer", "conv2", ["self.conv2(x)"]),
        ("keras", "relu1", ['activation="relu"']),
        ("tensorflow1", "batch", ["{x: images, y: labels}"]),
    ],
)
def test_what_a_row_is_about_is_told_from_what_stands_around_it(key, concept, own):
    source = READ[key]
    (piece,) = [one for one in source.pieces[concept] if one.shared and any(one.owned.values())]
    (number,) = piece.owned
    line = source.module.lines[number - 1]
    assert [line[a:b].strip() for a, b in piece.owned[number]] == own


@pytest.mark.parametrize(
    "concept, said",
    [
        ("dropout1", {"pytorch": "nn.Dropout(drop1)", "chainer": "dropout(x, drop1)"}),
        ("optimiser", {"caffe2": "nesterov=False", "cntk": "unit_gain=False"}),
        ("backward", {"pytorch": "step_loss.backward()", "keras": "train_on_batch(x, y)"}),
        ("train-off", {"pytorch": "network.eval()", "theano": "predict_step("}),
    ],
)
def test_a_row_has_the_lines_that_say_it(concept, said):
    for key, text in said.items():
        lines = [n for piece in READ[key].pieces[concept] for n in piece.lines]
        assert any(text in READ[key].module.lines[n - 1] for n in lines), (key, concept)


def test_every_helper_has_a_row():
    for module in MODULES:
        text = "\n".join(module.lines)
        names = set(re.findall(r"^ *def (\w+)\(", text, re.MULTILINE)) - set(module.parts)
        others = {name for name in names if not name.startswith("__")} - set(concepts.HELPERS)
        assert not others, "%s: name the concept of %s in HELPERS" % (module.path, others)


def without(module, text):
    """``module`` without the lines that have a text."""
    lines = ["" if text in line else line for line in module.lines]
    return module._replace(lines=lines)


def test_a_concept_that_is_gone_is_told_with_what_to_mend():
    module = next(one for one in MODULES if one.key == "pytorch")
    with pytest.raises(InputError) as caught:
        concepts.read([without(module, "zero_grad")])
    assert "no line speaks of 'reset'; widen a pattern, or add 'pytorch' to its ABSENT" in str(
        caught.value
    )
    with pytest.raises(InputError, match="2 lines match .* which is for 3: dropout1"):
        concepts.Source(without(module, "nn.Dropout(drop2)"))


def test_a_rows_text_is_that_of_the_file():
    """Character for character, but for the indent that a row's lines share."""
    module = next(one for one in MODULES if one.key == "tensorflow")
    rows = aligned.Rows(module, READ["tensorflow"])
    for concept in concepts.CONCEPTS:
        cell = rows.cell(concept.key)
        for number, html in re.findall(r"<a class=n [^>]*>(\d+)</a>(.*)\n", cell or ""):
            text = re.sub(r"<[^>]+>", "", html)
            for code, letter in (("&#34;", '"'), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">")):
                text = text.replace(code, letter)
            assert module.lines[int(number) - 1].endswith(text.replace("&amp;", "&"))
