"""The committed results."""

import os

import pytest

from common.system.files import ROOT
from reports import committed, phrases, sources


@pytest.fixture(scope="session")
def results():
    """A folder like reports with the committed result files alone."""
    try:
        with committed.folder() as folder:
            yield folder
    except committed.NoGit as error:
        if os.path.exists(os.path.join(ROOT, ".git")):
            raise
        pytest.skip("which results are committed only git can tell: %s" % error)


@pytest.fixture(scope="session")
def phrase_book():
    """For all that renders a page: entries that miss fail in one test; the others are skipped."""
    if phrases.misses(sources.modules()):
        pytest.skip("tables of the page have misses: see tests/reports/test_reading.py")


@pytest.fixture(scope="session")
def good(results):
    """A result to spoil: of a committed run of the CNN, as if it were a short one in lane best."""
    runs = [run.result for run in committed.read(results)[0].runs]
    cnn = next(run for run in runs if run.get("model", "cnn") == "cnn")
    return dict(cnn, lane="best", hyperparameters=dict(cnn["hyperparameters"], epochs=3))
