"""Weight of rows in the strips between neighbouring clusters."""

import numpy as np
import pytest

from hardbayes.dp_means.local_rows import REACH, count_borders


def squared_costs(x, centres):
    return (np.asarray(x)[:, np.newaxis] - np.asarray(centres)) ** 2


def test_rows_are_counted_by_strip():
    """Two centres at -1 and 1, around which the rows of either cluster have their mean."""
    x = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -0.2, 0.2, -1.8, 1.8])
    weights = np.arange(1.0, 11.0)
    means = [np.average(x[x < 0], weights=weights[x < 0]), 0.0]
    means[1] = np.average(x[x > 0], weights=weights[x > 0])
    gap = (means[1] - means[0]) / 2
    pairs, sums, squares = count_borders([(squared_costs(x, [-1, 1]), weights)], 2)
    np.testing.assert_array_equal(pairs, [[0, 1]])
    position = x / gap
    strips = [
        (position <= -REACH) & (position > -3 * REACH),
        np.abs(position) < REACH,
        (position >= REACH) & (position < 3 * REACH),
    ]
    np.testing.assert_allclose(sums[0], [weights[strip].sum() for strip in strips])
    np.testing.assert_allclose(squares[0], [(weights[strip] ** 2).sum() for strip in strips])
    assert sums[0, 1] == 7 + 8 and sums.sum() < weights.sum()


def test_only_pairs_that_are_the_two_cheapest_of_some_row():
    x = np.array([0.0, 0.1, 1.0, 1.1, 2.0, 2.1])
    pairs = count_borders([(squared_costs(x, [0.0, 1.0, 2.0]), np.ones(6))], 3).pairs
    np.testing.assert_array_equal(pairs, [[0, 1], [1, 2]])


def test_blocks_make_no_difference():
    rng = np.random.default_rng(0)
    costs, weights = rng.uniform(size=(50, 4)), rng.uniform(1.0, 2.0, 50)
    whole = count_borders([(costs, weights)], 4)
    parts = count_borders([(costs[:20], weights[:20]), (costs[20:], weights[20:])], 4)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.filterwarnings("error")
def test_a_cluster_without_rows_has_no_border():
    x = np.array([0.0, 0.1, -0.1])
    assert len(count_borders([(squared_costs(x, [0.0, 5.0]), np.ones(3))], 2).pairs) == 0
