"""The phrase book finds its line in every module, and says where it does not."""

import pytest

from common.challenge import causes, hypotheses, mending
from common.networks import MODELS
from common.system import modules as loader
from common.system.errors import InputError
from reports import phrases, sources


def test_every_module_has_its_line_for_every_concept():
    gaps = phrases.gaps(sources.modules())
    assert not gaps, "mend CONCEPTS in reports/phrases.py:\n" + "\n".join(gaps)


def test_gaps_are_told_together_with_the_pattern_to_mend():
    module = sources.modules()[0]
    lines = ["SGD(" if "momentum" in line else "" for line in module.lines]
    changed = module._replace(key="new", path="frameworks/new/cnn.py", lines=lines)
    with pytest.raises(InputError) as caught:
        phrases.book([changed])
    text = str(caught.value)
    assert "reports/phrases.py" in text and text.count("frameworks/new/cnn.py, '") > 10
    assert "'padding': no line of symbol matches; widen its pattern, or add 'new' to" in text


def test_a_line_that_was_not_expected_is_told():
    concept = phrases._concept("everything", "head", ".", absent="numpy")
    with pytest.raises(LookupError, match="line 1 says it; take 'numpy' out of its absent"):
        phrases.find(concept, sources.modules()[0])


@pytest.mark.parametrize("name", list(MODELS))
def test_every_cause_that_a_diagnosis_knows_has_its_line_in_the_book(name):
    description = MODELS[name]
    if description.task.name == "joints":  # too large for a challenge
        return
    module = causes.plain(description, loader.load("numpy", name))
    known = hypotheses.scores(description, module)
    known += hypotheses.steps(description, None, description.hp)
    book = {concept.name for concept in phrases.CONCEPTS}
    lost = [cause.says for cause in known if mending.concept(cause.says) not in book]
    assert known and not lost
