"""penalty_for: Kulis & Jordan's rule against a literal implementation."""

import numpy as np
import pytest

from hardbayes import penalty_for


def literal(X, k, mean):
    """Kulis & Jordan's rule, literally."""
    T = [mean]
    for _ in range(k):
        nearest = np.min([((X - t) ** 2).sum(axis=1) for t in T], axis=0)
        farthest = int(np.argmax(nearest))
        penalty = nearest[farthest]
        T.append(X[farthest])
    return penalty


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_the_papers_rule(k):
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert penalty_for(X, k) == pytest.approx(literal(X, k, X.mean(axis=0)), rel=1e-12)


def test_weights_move_the_mean_and_leave_rows_out():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    mean = np.average(X, axis=0, weights=weights)
    expected = literal(X[weights > 0], 4, mean)
    assert penalty_for(X, 4, sample_weight=weights) == pytest.approx(expected, rel=1e-12)
    repeated = np.repeat(X, weights, axis=0)
    assert penalty_for(repeated, 4) == pytest.approx(expected, rel=1e-12)


def test_more_clusters_than_distinct_rows():
    assert penalty_for(np.repeat([[0.0], [1.0]], 5, axis=0), 8) == 0.0
