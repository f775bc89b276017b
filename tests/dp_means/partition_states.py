"""Partition problems in memory, at any labels: where unit tests of executors and moves begin."""

from contextlib import contextmanager

import numpy as np
from scipy import sparse

from hardbayes.core.arrays import VisitOrder
from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.dp_means import bounds
from hardbayes.dp_means.moves import PartitionProposal
from hardbayes.dp_means.problem import pose
from tests.reference.dp_means import labelling_objective


def random_order(rng):
    """Return a random visiting order."""
    return VisitOrder(True, rng.integers(2**64, dtype=np.uint64))


def order_of(rows):
    """Return an order in which the first few rows are visited so."""
    orders = (VisitOrder(True, np.uint64(key)) for key in range(10000))
    return next(order for order in orders if order.rows(len(rows)).tolist() == rows)


@contextmanager
def posed(X, divergence="squared_euclidean", weights=None, n_threads=1):
    """Pose a problem; a pool of so many threads lives as long."""
    with Pool(n_threads) as pool:
        yield pose(X, geometry_for(divergence), weights, pool)


def pose_here(X, divergence="squared_euclidean", weights=None):
    """Pose a problem for the calling thread alone, which needs no closing."""
    return pose(X, geometry_for(divergence), weights, Pool(1))


def state_at(problem, partition, labels):
    """Return a state that stands at these labels (n,), clusters 0 to k - 1."""
    state = problem.state(partition)
    first = np.unique(labels, return_index=True)[1]
    state.start(problem.rows.take(first).dense())
    state.apply(PartitionProposal(0.0, np.arange(len(labels)), labels.astype(np.intp)))
    return state


def dense(X):
    """Return rows as a dense array."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def value_of(problem, partition, X, weights, labels, divergence):
    """Return the objective of labels (n,) in working units, from the rows alone."""
    options = dict(
        divergence=divergence,
        prior_weight=partition.prior_weight / problem.weight_unit,
        weights=weights,
    )
    penalty = partition.penalty / problem.unit
    return labelling_objective(dense(X), labels, penalty, **options) * problem.unit


def always_carry(monkeypatch):
    """Let assignments carry bounds from the first sweep on, however little they spare."""
    monkeypatch.setattr(bounds, "_affordable_share", lambda *_: 1.0)
    monkeypatch.setattr(bounds, "MAX_CHANGES", 1.0)
