"""Costs of merges against their definition."""

import numpy as np

from hardbayes.core.centre_free import merges_of, ratio


def test_empty_clusters_have_nothing_inside():
    np.testing.assert_array_equal(ratio(np.array([3.0, 0.0]), np.array([2.0, 0.0])), [1.5, 0.0])


def test_unions_cost_what_their_ratio_loses_the_cheapest_first():
    rng = np.random.default_rng(0)
    links = rng.random((4, 4))
    links += links.T
    inside, volumes = np.diag(links), rng.random(4) + 1.0
    lefts, rights = np.triu_indices(4, 1)
    found = merges_of(inside, volumes, lefts, rights, links[lefts, rights])
    assert (np.diff(found.costs) >= 0).all() and len(found.costs) == 6
    for a, b, cost in zip(*found, strict=True):
        both = links[np.ix_([a, b], [a, b])].sum() / (volumes[a] + volumes[b])
        np.testing.assert_allclose(cost, inside[a] / volumes[a] + inside[b] / volumes[b] - both)


def test_equal_unions_come_by_their_numbers():
    found = merges_of(
        np.zeros(3), np.ones(3), np.array([1, 0, 0]), np.array([2, 2, 1]), np.zeros(3)
    )
    assert list(zip(found.lefts, found.rights, strict=True)) == [(0, 1), (0, 2), (1, 2)]
