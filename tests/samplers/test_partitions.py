"""Summaries of drawn partitions, against slow versions of what they say."""

import numpy as np
import pytest

from hardbayes.samplers.partitions import canonical, certainty_of


def literal_certainty(labels, draws):
    """Match clusters one to one by a table of all pairs, those that share most rows first."""
    own = canonical(labels)
    size = int(max(draws.max(), own.max())) + 1
    agreed = np.zeros(len(own))
    for draw in draws:
        table = np.zeros((size, size), int)
        np.add.at(table, (own, draw), 1)
        match = np.full(size, -1)
        while table.max() > 0:
            one, other = np.unravel_index(table.argmax(), table.shape)
            match[one] = other
            table[one], table[:, other] = 0, 0
        agreed += match[own] == draw
    return agreed / len(draws)


@pytest.mark.parametrize(("n", "k"), [(50, 5), (60, 30), (200, 12), (40, 40), (7, 1)])
def test_certainty_matches_clusters_one_to_one(n, k):
    rng = np.random.default_rng([n, k])
    for _ in range(10):
        labels, draws = rng.integers(0, k, n), rng.integers(0, k, (6, n)).astype(np.int32)
        np.testing.assert_array_equal(certainty_of(labels, draws), literal_certainty(labels, draws))
