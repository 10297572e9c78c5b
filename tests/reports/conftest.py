"""The committed results, and the phrase book without which no page can be made."""

import pytest

from reports import committed, phrases, sources


@pytest.fixture(scope="session")
def results():
    """A folder like reports with the committed result files alone."""
    try:
        with committed.folder() as folder:
            yield folder
    except committed.NoGit as error:
        pytest.skip("which results are committed only git can tell: %s" % error)


@pytest.fixture(scope="session")
def phrase_book():
    """Asked for by what makes a page: gaps fail in one test, and the others are skipped."""
    if phrases.gaps(sources.modules()):
        pytest.skip("the phrase book has gaps: see tests/reports/test_phrases.py")
