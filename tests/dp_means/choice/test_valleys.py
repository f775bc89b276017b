"""Counts of rows on borders: small p-values for clusters, none without."""

import numpy as np
import pytest

from hardbayes.dp_means.choice.rule import filling, p_value_beyond, valley_p_value
from hardbayes.dp_means.local_rows import Borders


def borders(*counts, weight=1.0):
    """Borders of pairs with these counts of rows, each of one weight."""
    counts = np.array(counts, float).reshape(-1, 3)
    pairs = np.column_stack([np.arange(len(counts)), np.arange(1, len(counts) + 1)])
    return Borders(pairs, weight * counts, weight**2 * counts)


def test_empty_borders_have_small_p_values():
    empty, full = borders([50, 5, 60]), borders([50, 60, 55])
    assert valley_p_value([(empty, empty)]) < 1e-12
    assert valley_p_value([(full, full)]) > 0.5


def test_more_rows_say_more():
    few, many = (borders(np.array([10, 6, 10]) * factor) for factor in (1, 10))
    assert valley_p_value([(many, many)]) < valley_p_value([(few, few)]) / 10


def test_one_clear_border_among_many_is_found():
    flat = [[30, 32, 30]] * 8
    assert valley_p_value([(borders(*flat, [60, 2, 60]),) * 2]) < 1e-6


def test_halvings_are_averaged():
    empty, full = (borders([50, 5, 60]),) * 2, (borders([50, 60, 55]),) * 2
    p = [valley_p_value(halvings) for halvings in ([empty], [empty, full], [full])]
    assert p[0] < p[1] < p[2]


def test_valleys_are_compared_with_those_of_structureless_rows():
    assert p_value_beyond(1e-6, 1.0) == p_value_beyond(1e-6, 0.5) == 1e-6
    assert p_value_beyond(0.7, 1e-9) == 0.7
    assert p_value_beyond(1e-6, 1e-6) > 0.5  # no clearer than those
    assert 1e-12 < p_value_beyond(1e-40, 1e-3) < 1e-8  # far clearer
    values = [p_value_beyond(1e-6, reference) for reference in (1e-1, 1e-2, 1e-4, 0.0)]
    assert values == sorted(values)


def test_no_rows_say_nothing():
    nothing = borders()
    assert valley_p_value([]) == 1.0
    assert valley_p_value([(nothing, nothing)]) == pytest.approx(1.0, abs=0.03)
    assert valley_p_value([(borders([3, 0, 3]),) * 2]) == valley_p_value([(nothing, nothing)])
    assert filling([]) == filling([nothing]) == (1.0, 0.0)


@pytest.mark.parametrize("weight", [1e-3, 1e6])
def test_the_unit_of_weights_does_not_matter(weight):
    counts = [[40, 12, 30], [9, 1, 7]]
    plain, heavy = borders(*counts), borders(*counts, weight=weight)
    assert valley_p_value([(heavy, heavy)]) == pytest.approx(valley_p_value([(plain, plain)]))
    assert filling([heavy]) == pytest.approx(filling([plain]))


def test_false_alarms_of_one_uniform_line_are_rare():
    """Counts in three equally wide strips of a flat density, the worst of the log-concave."""
    rng = np.random.default_rng(0)
    p = []
    for _ in range(400):
        halves = tuple(borders(*rng.poisson(40.0, (3, 3))) for _ in range(2))
        p.append(valley_p_value([halves]))
    assert np.mean(np.array(p) < 0.05) < 0.08
    assert np.mean(np.array(p) < 0.005) < 0.015


def test_filling_is_the_part_of_the_harmonic_mean():
    filled, score = filling([borders([4000, 1500, 4000])])
    assert filled == pytest.approx(1500 / 4000, rel=1e-2) and score > 10
    filled, score = filling([borders([4000, 8000, 4000])])
    assert filled == pytest.approx(2.0, rel=1e-2) and score < -10


def test_filling_of_some_pairs():
    both = borders([4000, 1500, 4000], [4000, 8000, 4000])
    masks = [np.array([True, False])]
    assert filling([both], masks) == filling([borders([4000, 1500, 4000])])


def test_two_folds_count_once():
    fold = borders([40, 10, 40])
    one, two = filling([fold, fold]), filling([fold, fold, fold, fold])
    assert one == pytest.approx(two)
