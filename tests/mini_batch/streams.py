"""Streams for the tests, and what must agree between two models of one stream."""

import numpy as np

from hardbayes import MiniBatchDPMeans
from hardbayes.mini_batch.windows import WINDOW
from tests.conftest import assert_same_numbers

NUMBERS = (
    "labels_",
    "cluster_centers_",
    "cluster_weights_",
    "cluster_ids_",
    "cluster_penalty_",
    "prior_weight_",
    "micro_centers_",
    "micro_weights_",
    "summary_error_",
    "inertia_",
    "objective_",
    "objective_history_",
)

#: Rows that each divergence takes: few kinds of rows, and many of each.
DIVERGENCES = ("squared_euclidean", "kl", "poisson", "itakura_saito", "logistic", "cosine")


def cloud(n, d=3, k=6, *, seed=0, spread=0.2):
    """Rows around k centres, in random order."""
    rng = np.random.default_rng(seed)
    return 2 * rng.standard_normal((k, d))[rng.integers(0, k, n)] + spread * rng.standard_normal(
        (n, d)
    )


def rows_for(divergence, n, d=4, *, seed=0):
    """Rows that a divergence takes, some entries at the border of its domain."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 5, n)
    if divergence == "squared_euclidean":
        return cloud(n, d, 5, seed=seed)
    means = rng.gamma(1.0, 8.0, (5, d))[kinds]
    counts = rng.poisson(means).astype(float)
    if divergence == "logistic":
        return (counts > 4).astype(float)
    if divergence == "itakura_saito":
        return counts + 1.0
    counts[counts.sum(axis=1) == 0, 0] = 1.0
    return counts


def taken_up(X, sizes, penalty=5.0, *, weights=None, times=None, **options):
    """Return a model of a stream that came in calls of these sizes, then in one call."""
    model = MiniBatchDPMeans(penalty, **{"random_state": 0, **options})
    start = 0
    for size in [*sizes, X.shape[0]]:
        rows = slice(start, start + size)
        if X[rows].shape[0]:
            model.partial_fit(
                X[rows],
                sample_weight=None if weights is None else weights[rows],
                time=None if times is None else times[rows],
            )
        start += size
    return model


def assert_same_stream(a, b, *, without=()):
    """Two models tell the same, to the last bit; their last calls may differ."""
    names = [name for name in NUMBERS if name not in without]
    assert_same_numbers(a, b, names)
    assert a.events_ == b.events_
    assert a.n_rows_seen_ == b.n_rows_seen_


__all__ = [
    "DIVERGENCES", "NUMBERS", "WINDOW", "assert_same_stream", "cloud", "rows_for", "taken_up",
]  # fmt: skip
