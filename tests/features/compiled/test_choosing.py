"""The features of a row where single flips are not enough."""

from types import SimpleNamespace

import numpy as np
import pytest

from hardbayes.features.compiled.allocating import EXACT, FLIP, FLIP_PAIRS
from tests.features.compiled.test_allocating import sweep


def one_row(A, row, start):
    A, row = np.array(A, float), np.array([row], float)
    return SimpleNamespace(
        n=1, k=len(A), d=A.shape[1], A=A, origin=np.zeros((1, A.shape[1])), rows=row,
        Z=np.array([start], np.uint8), weights=np.ones(1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "expected"), [(FLIP, [1, 0]), (FLIP_PAIRS, [0, 1]), (EXACT, [0, 1])]
)
def test_a_pair_flip_where_no_single_flip_helps(rule, expected):
    # Nearly equal components: to exchange one for the other takes two flips at once.
    data = one_row([[1.0, 0.2], [1.0, -0.2]], [1.0, -0.1], [1, 0])
    np.testing.assert_array_equal(sweep(data, rule)[0], [expected])


@pytest.mark.parametrize(
    ("rule", "expected"), [(FLIP_PAIRS, [1, 0, 0]), (EXACT, [0, 1, 1])], ids=["pairs", "exact"]
)
def test_all_subsets_where_no_pair_flip_helps(rule, expected):
    # One long component, and two that add up to it and to the row exactly.
    data = one_row([[2.0, 0.2, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]], [2.0, 0.0, 0.0], [1, 0, 0])
    np.testing.assert_array_equal(sweep(data, rule)[0], [expected])


@pytest.mark.parametrize("rule", [FLIP, FLIP_PAIRS, EXACT])
def test_equal_subsets_do_not_alternate(rule):
    data = one_row([[1.0, 0.0], [1.0, 0.0]], [1.0, 0.0], [0, 1])
    Z, *_, changed = sweep(data, rule)
    np.testing.assert_array_equal(Z, [[0, 1]])
    assert changed == 0
