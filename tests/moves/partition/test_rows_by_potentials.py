"""Rows that move one by one, priced together, against the objective of every labelling."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.geometry import GEOMETRIES, geometry_for
from hardbayes.moves.partition import priced_rows
from hardbayes.moves.partition.single_rows import relocate_rows
from hardbayes.pool import Pool
from hardbayes.problems.partition import pose
from tests.reference.dp_means import labelling_objective, same_partition
from tests.test_divergences import rows_for

NAMES = sorted(set(GEOMETRIES) - {"squared_euclidean"})
K = 4


def random_labelling(divergence, seed):
    """(X, weights, labels, options): a labelling far from good, and some rows without weight."""
    rng = np.random.default_rng(seed)
    X = rows_for(divergence, rng, 24, 5, zeros=divergence not in ("cosine", "itakura_saito"))
    if divergence == "poisson":
        X[5] = 0.0  # a row without entries
    weights = np.where(rng.random(24) < 0.1, 0.0, rng.choice([1.0, 0.5, 2.0], 24))
    weights[:K] = 1.0
    labels = np.append(np.arange(K), rng.integers(0, K, 20))
    options = dict(
        penalty=float(rng.choice([0.05, 0.5, 3.0])), prior_weight=float(rng.choice([1.0, 10.0]))
    )
    return X, weights, labels, options | dict(max_clusters=int(rng.choice([K, K + 1, 20])))


def literal_walk(X, weights, labels, passes, divergence, penalty, prior_weight, max_clusters):
    """Give each row in turn the label at which the whole objective is lowest."""
    labels = labels.copy()

    def value(i, label):
        moved = np.where(np.arange(len(labels)) == i, label, labels)
        options = dict(divergence=divergence, prior_weight=prior_weight, weights=weights)
        return labelling_objective(X, moved, penalty, **options)

    n_moves = 0
    for _ in range(passes):
        before = n_moves
        for i in np.flatnonzero(weights > 0):
            open_now = np.unique(labels[weights > 0])
            targets = list(open_now)
            if len(open_now) < max_clusters and np.sum(labels[weights > 0] == labels[i]) > 1:
                targets.append(labels.max() + 1)
            values = np.array([value(i, label) for label in targets])
            stays = value(i, labels[i])
            if values.min() < stays * (1 - 1e-12):
                labels[i] = targets[int(np.argmin(values))]
                n_moves += 1
        if n_moves == before:
            break
    return labels, n_moves


@pytest.mark.parametrize("together", [1, 1 << 17])
@pytest.mark.parametrize("container", [np.ascontiguousarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", NAMES)
def test_rows_choose_as_if_they_came_one_by_one(divergence, container, together, monkeypatch):
    monkeypatch.setattr(priced_rows, "TOGETHER", together)
    for seed in range(2):
        X, weights, labels, options = random_labelling(divergence, seed)
        with Pool(1) as pool:
            problem = pose(container(X), geometry_for(divergence), weights, pool)
            partition = problem.partition(
                options["penalty"], options["prior_weight"], options["max_clusters"]
            )
            executor = problem.executor
            executor.start(np.tile(problem.mean, (K, 1)))
            executor.take_labels(labels)
            executor.recount()
            n_moves = relocate_rows(executor, partition, np.arange(len(X)), 3)
            found = executor.cluster_numbers()
        expected, n_expected = literal_walk(X, weights, labels, 3, divergence, **options)
        assert n_moves == n_expected > 0
        assert same_partition(found[weights > 0], expected[weights > 0])
