"""Rows that are cut into blocks, and fits that are compared bit for bit."""

from itertools import pairwise

import numpy as np
import pytest

from hardbayes.core import arrays

CUTS = {
    "1": 1,
    "3": 3,
    "17": 17,
    "uneven": [1, 50, 51, 250],
    "empty": [0, 0, 7, 7, 200, 10**9, 10**9],
}


def cut(X, how):
    """Return the rows of X as a list of blocks, as `CUTS` says."""
    n = X.shape[0]
    inner = CUTS[how]
    if isinstance(inner, int):
        ends = np.linspace(0, n, inner + 1).astype(int)
    else:
        ends = [0, *(min(end, n) for end in inner), n]
    slices = [slice(a, b) for a, b in pairwise(ends)]
    return [X.iloc[s] if hasattr(X, "iloc") else X[s] for s in slices]


def blobs(n=240, d=3, seed=0):
    """Rows around six centres that overlap."""
    rng = np.random.default_rng(seed)
    centres = 4 * rng.standard_normal((6, d))
    return centres[rng.integers(6, size=n)] + rng.standard_normal((n, d))


def assert_same_bits(model, expected):
    """Whether two fits are one and the same."""
    np.testing.assert_array_equal(np.asarray(model.labels_), expected.labels_)
    names = ("cluster_centers_", "cluster_weights_", "objective_history_")
    for name in names:
        found, wanted = getattr(model, name), getattr(expected, name)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    for name in ("objective_", "inertia_", "n_iter_", "n_splits_", "n_merges_", "n_clusters_"):
        assert getattr(model, name) == getattr(expected, name), name


@pytest.fixture
def small_memory(monkeypatch):
    """Take so few rows at a time that fits of small data leave them where they are."""
    monkeypatch.setattr(arrays, "TAKEN_ENTRIES", 80)
    monkeypatch.setattr(arrays, "TAKEN_ROWS", 80)
    monkeypatch.setattr(arrays, "TAKEN_WIDE_ENTRIES", 240)


@pytest.fixture
def rows():
    """Rows for a cluster."""
    import dask.array as da

    from tests.blocks.clusters import X

    return da.from_array(X, chunks=(40, 3))


@pytest.fixture
def expected(small_memory):
    """The fit of these rows in memory."""
    from tests.blocks.clusters import X, fit

    return fit(X)
