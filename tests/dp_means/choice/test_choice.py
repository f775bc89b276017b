"""The rule: which numbers count, and which of them is chosen."""

import numpy as np
import pytest

from hardbayes.dp_means.choice.rule import (
    FULL,
    LEVEL,
    Candidate,
    Fold,
    choose,
    needed_width,
    p_value_of,
    with_evidence,
)
from hardbayes.dp_means.local_rows import Borders


def candidate(k, width, reference=0.5, p_value=1.0, filled=1.0, is_division=True, folds=None):
    return Candidate(k, width, reference, is_division, p_value, filled, folds or {})


def test_wide_plateaus_count():
    for k in (2, 3, 20):
        needed = needed_width(k, 0.5)
        assert candidate(k, needed * 1.01).strength >= 1.0
        assert candidate(k, needed * 0.99).strength < 1.0


def test_two_clusters_need_less():
    assert needed_width(2, 1.0) == pytest.approx(1.2)
    assert needed_width(3, 1.0) == pytest.approx(1.55)


def test_a_wide_plateau_with_full_borders_does_not_count():
    assert candidate(3, 5.0, filled=FULL + 0.1).strength < 1.0
    assert candidate(3, 5.0, filled=2 * FULL).strength == pytest.approx(0.5)
    assert candidate(3, 0.6, filled=FULL + 0.1).strength < candidate(3, 0.6).strength


def test_small_p_values_count():
    assert candidate(3, 0.1, p_value=LEVEL / 2).strength > 1.0
    assert candidate(3, 0.1, p_value=2 * LEVEL).strength < 1.0
    assert candidate(3, 0.1, p_value=LEVEL / 2, filled=3.0).strength > 1.0


def test_outliers_never_count():
    assert candidate(2, 9.0, p_value=0.0, is_division=False).strength == 0.0


def test_one_cluster_where_none_counts():
    assert choose([]) == 1
    assert choose([candidate(2, 0.5), candidate(3, 0.6)]) == 1


def test_many_clusters_need_less_width_than_few():
    assert choose([candidate(2, 3.0), candidate(9, 2.0)]) == 9
    assert choose([candidate(2, 3.0), candidate(9, 1.5)]) == 9
    assert choose([candidate(2, 5.0), candidate(4, 1.5)]) == 2


def fold(labels, pairs, *counts):
    """``counts``: in each metric."""
    borders = (Borders(np.array(pairs), *2 * [np.array(some, float)]) for some in counts)
    return Fold(np.array(labels, np.int32), tuple(borders))


@pytest.mark.parametrize(("between", "expected"), [(3.0, 3), (60.0, 2)])
def test_a_finer_number_is_taken_if_its_own_borders_are_empty(between, expected):
    """Of three clusters two make up one of the coarser; only the border between those counts."""
    coarse = fold([0, 0, 1, 1, 1, 1], [[0, 1]], [[60, 2, 60]])
    fine = fold([0, 0, 1, 1, 2, 2], [[0, 1], [1, 2]], [[60, 0, 60], [60, between, 60]])
    two = candidate(2, 3.0, folds=dict.fromkeys(range(2), coarse))
    three = candidate(3, 0.2, p_value=0.01, folds=dict.fromkeys(range(2), fine))
    assert choose([two, three]) == expected
    assert choose([two, three._replace(width=0.01)]) == 2
    assert choose([two, three._replace(p_value=1.0)]) == 2
    assert choose([two, three._replace(folds={})]) == 2


def test_p_values_are_for_all_numbers_together():
    folds = dict.fromkeys(range(2), fold([0, 1], [[0, 1]], [[20, 8, 20]]))
    two, five = (with_evidence(k, 1.0, 0.5, True, folds) for k in (2, 5))
    assert five.p_value == pytest.approx(10 * two.p_value)
    assert two.filled == five.filled < 1.0
    assert with_evidence(3, 1.0, 0.5, True, {}).p_value == 1.0


def test_the_metric_of_the_clearest_valleys_counts():
    full, empty = [[20, 20, 20]], [[20, 2, 20]]
    one, other = (dict.fromkeys(range(2), fold([0, 1], [[0, 1]], some)) for some in (full, empty))
    both = dict.fromkeys(range(2), fold([0, 1], [[0, 1]], full, empty))
    expected = with_evidence(2, 1.0, 0.5, True, other)
    found = with_evidence(2, 1.0, 0.5, True, both)
    assert found.p_value == expected.p_value == p_value_of(2, both)
    assert found.p_value < with_evidence(2, 1.0, 0.5, True, one).p_value
    assert found.filled == expected.filled
    assert all(len(each.borders) == 1 for each in found.folds.values())


def test_of_finer_numbers_the_one_of_the_largest_score_is_taken():
    """Not each of them in turn: the last may be optimal in a narrow range alone."""
    coarse = fold([0, 0, 0, 0, 1, 1], [[0, 1]], [[60, 2, 60]])
    fine = fold([0, 0, 1, 1, 2, 2], [[0, 1], [1, 2]], [[60, 3, 60], [60, 0, 60]])
    finest = fold([0, 3, 1, 1, 2, 2], [[0, 1], [0, 3]], [[60, 3, 60], [60, 2, 60]])
    two, three, four = (
        candidate(k, width, p_value=0.01, folds=dict.fromkeys(range(2), some))
        for k, width, some in ((2, 3.0, coarse), (3, 0.8, fine), (4, 0.06, finest))
    )
    full = finest._replace(borders=fold([], [[0, 1], [0, 3]], [[60, 3, 60], [60, 60, 60]]).borders)
    assert choose([two, three]) == 3 and choose([two, four]) == 4
    assert choose([two, three, four]) == 4  # what it adds to three is empty as well
    four = four._replace(folds=dict.fromkeys(range(2), full))
    assert choose([two, three, four]) == 3
