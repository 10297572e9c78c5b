"""The drawn figures: the same bytes everywhere, and correct joints."""

import numpy as np
import pytest

from common.data import figures
from tests.common.test_data import refused


@pytest.fixture(scope="module")
def drawn():
    return figures.draw(200, figures.SEED)


def test_they_are_the_same_bytes_everywhere(drawn):
    images, targets = drawn
    assert figures.sha256_of(images, targets) == (
        "603b1cb9f486c1512b4aae7232425da7e5397741feb60ff4ebb8f318321ed908"
    )


def test_fewer_are_the_first_of_more(drawn):
    for few, many in zip(figures.draw(3, figures.SEED), drawn):
        assert np.array_equal(few, many[:3])


def test_visible_joints_are_inside_and_hidden_ones_are_unknown(drawn):
    images, targets = drawn
    assert images.shape == (200, 3, 220, 220) and images.dtype == np.uint8
    assert targets.shape == (200, 14, 3) and targets.dtype == np.float32
    visible = targets[..., 2] == 1
    assert (np.abs(targets[visible][:, :2]) <= 0.5).all()
    assert (targets[~visible] == [figures.HIDDEN, figures.HIDDEN, 0]).all()
    assert 0.8 < visible.mean() < 0.95 and (~visible).any(0).all()


def test_a_figure_has_its_colours_at_its_joints(drawn):
    """Both wrists have the colour of the skin if both are visible."""
    images, targets = drawn
    alike = []
    for image, target in zip(images, targets):
        if target[[6, 11], 2].all():
            columns, rows = np.int64((target[[6, 11], :2] + 0.5) * figures.SIDE).T
            alike.append((image[:, rows[0], columns[0]] == image[:, rows[1], columns[1]]).all())
    assert len(alike) > 50 and np.mean(alike) > 0.9


def test_a_folder_is_refused(tmp_path):
    refused(lambda: figures.load(str(tmp_path)), "the figures are drawn")
