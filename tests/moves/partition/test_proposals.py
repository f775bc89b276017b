"""Moves of whole clusters do to the objective what they say, from any labelling."""

from contextlib import contextmanager

import numpy as np
import pytest

from hardbayes import objective
from hardbayes.geometry import geometry_for
from hardbayes.moves.partition.exchanges import exchange_clusters
from hardbayes.moves.partition.merges import least_few, merge_clusters, nearest_partners
from hardbayes.moves.partition.splits import divide_clusters, split_clusters
from hardbayes.pool import Pool
from hardbayes.problems.partition import pose

DIVERGENCES = ["squared_euclidean", "poisson"]
MOVES = [
    lambda executor, partition, divisions: sum(
        exchange_clusters(executor, partition, divisions, 8)
    ),
    lambda executor, partition, divisions: merge_clusters(executor, partition),
    split_clusters,
]


def random_case(seed):
    """Rows in a few heaps, some weights of zero, and labels that know nothing of the heaps."""
    rng = np.random.default_rng(seed)
    heaps = rng.uniform(1.0, 20.0, (5, 3))
    X = rng.gamma(20.0, heaps[rng.integers(5, size=80)] / 20.0)
    weights = rng.integers(0, 3, 80).astype(float)
    labels = rng.integers(6, size=80)
    weights[np.unique(labels, return_index=True)[1]] = 1.0  # every cluster has weight
    return X, weights, labels


@contextmanager
def labelled(X, weights, labels, divergence, penalty, max_clusters=None, n_threads=1):
    """An executor that stands at these labels, and the partition to judge by."""
    with Pool(n_threads) as pool:
        problem = pose(X, geometry_for(divergence), weights, pool)
        partition = problem.partition(penalty, 0.0, max_clusters)
        executor = problem.executor
        executor.start(executor.dense_rows(np.unique(labels, return_index=True)[1]))
        executor.take_labels(labels)
        executor.recount()
        yield executor, partition


def value_now(executor, X, weights, divergence, penalty):
    """The objective of the labels as they are, from the labels alone."""
    labels = executor.cluster_numbers()
    return objective(X, labels, penalty, divergence=divergence, sample_weight=weights)


def test_the_least_few_are_those_of_a_sort():
    values = np.random.default_rng(0).normal(size=(50, 20))
    np.testing.assert_array_equal(least_few(values.copy(), 4), np.argsort(values, axis=1)[:, :4])


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_partner_is_the_cheapest_union(seed):
    X, weights, labels = random_case(seed)
    with labelled(X, weights, labels, "squared_euclidean", 1.0) as (executor, partition):
        sizes, totals = executor.totals()
        centres = partition.centres(sizes, totals)
        partners, costs = nearest_partners(partition, sizes, centres)
    k = len(sizes)
    everyone = np.arange(k)
    for a in everyone:
        others = everyone[everyone != a]
        prices = partition.union_costs(
            np.full(k - 1, sizes[a]),
            np.tile(centres[a], (k - 1, 1)),
            sizes[others],
            centres[others],
        )
        assert costs[a] == pytest.approx(prices.min(), rel=1e-12)
        assert partners[a] == others[prices.argmin()]


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("cap", [None, 6, 7])
@pytest.mark.parametrize("penalty", [1.0, 30.0, 1000.0])
def test_moves_lower_the_objective_and_keep_the_cap(divergence, cap, penalty):
    """Whatever is taken over, the labelling costs less than before and no cluster is too many."""
    n_taken = 0
    for seed in range(6):
        X, weights, labels = random_case(seed)
        with labelled(X, weights, labels, divergence, penalty, cap) as (executor, partition):

            def judge(executor=executor, X=X, weights=weights):
                executor.recount()
                executor.close(executor.totals()[0] == 0)
                return value_now(executor, X, weights, divergence, penalty)

            before = judge()
            rng = np.random.RandomState(seed)
            for move in MOVES:
                taken = move(executor, partition, divide_clusters(executor, partition, rng, None))
                after = judge()
                assert after < before if taken else after == pytest.approx(before, rel=1e-12)
                assert cap is None or executor.n_clusters <= cap
                before = after
                n_taken += taken
    assert n_taken > 0


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_exchanges_are_the_same_for_any_number_of_threads_and_any_batch(divergence, monkeypatch):
    found = []
    for n_threads, together in [(1, 1 << 16), (3, 1 << 16), (2, 1)]:
        monkeypatch.setattr("hardbayes.moves.partition.exchanges.ROWS_TOGETHER", together)
        X, weights, labels = random_case(0)
        labels[labels == 5] = 0  # one change at a time, so that batches cannot differ
        case = labelled(X, weights, labels, divergence, 30.0, None, n_threads)
        with case as (executor, partition):
            divisions = divide_clusters(executor, partition, np.random.RandomState(0), None)
            exchange_clusters(executor, partition, divisions, 1)
            found.append(executor.cluster_numbers())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
