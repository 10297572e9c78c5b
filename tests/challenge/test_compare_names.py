"""Names of arrays: which belong together, and which are arrays of training steps."""

import numpy as np
import pytest

from common.compare import names
from common.compare.counterparts import in_order
from common.compare.optimizers import steps
from tests.challenge.conftest import normal
from tests.challenge.test_compare_right import deep

X, Y = normal(16, 8), normal(16, 32, seed=1)


LAYERS = "G.conv1 D.conv1 g_a.0 d_proj update_gate start_logits initial_conv before_pool d1.conv"


@pytest.mark.parametrize("name", LAYERS.split())
def test_layers_are_not_taken_for_arrays_of_steps(name):
    assert steps.kind(name)[0] == "plain" and steps.label(name) == name


@pytest.mark.parametrize(
    "name, kind",
    [
        ("g.w", ("gradient", 1)),
        ("g2 fc", ("gradient", 2)),
        ("grad.fc", ("gradient", 1)),
        ("G.conv1.weight.grad", ("gradient", 1)),
        ("update fc", ("update", 1)),
        ("update_2_fc", ("update", 2)),
        ("update.fc.bias", ("update", 1)),
        ("before fc", ("start", 1)),
        ("initial/fc/kernel", ("start", 1)),
        ("step3 fc", ("weight", 3)),
    ],
)
def test_arrays_of_steps_are_known_by_their_names(name, kind):
    assert steps.kind(name)[:2] == kind


def test_rounding_may_grow_in_layers_with_such_names(compared):
    ours, theirs = (
        {n.replace("layer", "before_l"): x for n, x in deep(side, growth=1.12).items()}
        for side in "AB"
    )
    assert compared(ours, theirs)[0] == 0


def test_names_in_other_scripts_are_names(compared):
    """Two layers with different names that agree later are no difference."""
    near = Y * np.float32(1 + 1e-7)
    a = {"x": X, "слой": normal(16, 32, seed=2), "out": Y}
    b = {"x": X, "блок": normal(16, 32, seed=3), "out": near}
    assert compared(a, b)[0] == 0
    code, difference, _ = compared(a, {"x": X, "слой": b["блок"], "out": near})
    assert code == 3 and difference["a"] == "слой"
    assert names.same(["층1", "block1"], ["block1", "층1"]) == {0: 1, 1: 0}


def test_the_longest_list_in_both_orders_is_the_first_of_its_length():
    pairs = [(0, 5), (1, 1), (2, 6), (3, 2), (4, 7), (5, 3)]
    assert in_order(pairs) == [(0, 5), (2, 6), (4, 7)]
    assert in_order([]) == [] and in_order([(3, 3)]) == [(3, 3)]
