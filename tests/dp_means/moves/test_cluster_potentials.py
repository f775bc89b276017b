"""Potentials of clusters with a row more or less, by NumPy."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import geometry_for
from hardbayes.dp_means.moves.potentials import Batch, ClusterPotentials
from hardbayes.dp_means.objective import Partition
from tests.test_divergences import rows_for

DIVERGENCES = ["poisson", "logistic", "cosine", "squared_euclidean", "kl"]
N, D, K = 16, 4, 3


class Example:
    """Rows in clusters, and potentials from the rows alone."""

    def __init__(self, divergence, prior_weight, sparse_rows):
        rng = np.random.default_rng(0)
        self.X = rows_for(divergence, rng, N, D, zeros=divergence != "cosine")
        if divergence == "poisson":
            self.X[3] = 0.0  # a row without entries
        if divergence == "kl":
            self.X /= self.X.sum(axis=1, keepdims=True)
        self.weights = rng.choice([0.5, 1.0, 2.0], N)
        self.labels = np.r_[np.arange(K), K - 1, rng.integers(1, K, N - K - 1)]  # row 0 is alone
        mean = self.X.mean(axis=0)
        self.partition = Partition(geometry_for(divergence), 1.0, prior_weight, mean, 9)
        sizes = np.bincount(self.labels, self.weights)
        totals = np.array([self.total(self.labels == c) for c in range(K)])
        centres = self.partition.centres(sizes, totals)
        members = np.bincount(self.labels)
        self.potentials = ClusterPotentials(self.partition, sizes, centres, members)
        rows = sparse.csr_array(self.X) if sparse_rows else self.X
        self.batch = Batch(rows, self.weights)

    def total(self, member):
        return self.weights[member] @ self.X[member]

    def potential(self, member):
        """``N phi(T / N)`` of these rows (mask) and the prior."""
        eta, mean = self.partition.prior_weight, self.partition.prior_mean
        size = self.weights[member].sum() + eta
        if size == 0:
            return 0.0
        centre = (self.total(member) + eta * mean) / size
        return size * self.partition.geometry.potential(self.partition.geometry.inside(centre))

    def expected(self, n_clusters):
        return [self.potential(self.labels == c) for c in range(n_clusters)]


@pytest.fixture(params=DIVERGENCES)
def divergence(request):
    return request.param


@pytest.fixture(params=[0.0, 2.0], ids=["no prior", "prior"])
def prior_weight(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def example(request, divergence, prior_weight):
    if not prior_weight and divergence in ("logistic", "kl"):
        prior_weight = 0.1  # or zeros would cost infinity
    return Example(divergence, prior_weight, request.param)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_potentials_of_the_clusters_and_of_one_not_yet_open(example):
    close(example.potentials.potentials, example.expected(K + 1))
    assert example.potentials.members[-1] == 0


@pytest.mark.parametrize("part", [slice(0, N), slice(3, 4), slice(5, 11)])
@pytest.mark.parametrize("which", [np.arange(K + 1), np.array([2, 0]), np.array([3])])
def test_clusters_with_each_row(example, part, which):
    found = example.potentials.with_rows(example.batch, part, which)
    expected = np.empty((part.stop - part.start, len(which)))
    for at, i in enumerate(range(part.start, part.stop)):
        for column, c in enumerate(which):  # also a cluster that has the row already
            member = (example.labels == c).astype(float)
            member[i] += 1
            eta, mean = example.partition.prior_weight, example.partition.prior_mean
            weights = member * example.weights
            size = weights.sum() + eta
            centre = (weights @ example.X + eta * mean) / size
            expected[at, column] = size * example.partition.geometry.potential(centre)
    close(found, expected)


@pytest.mark.parametrize("part", [slice(0, N), slice(0, 1), slice(3, 9)])
def test_clusters_without_their_rows(example, part):
    own = example.labels[part]
    found = example.potentials.without_rows(example.batch, part, own)
    expected = [
        example.potential((example.labels == example.labels[i]) & (np.arange(N) != i))
        for i in range(part.start, part.stop)
    ]
    close(found, expected)


def test_everything_follows_a_row_that_moves(example):
    """Also to a cluster not yet open, and where it was the last of its own."""
    rng = np.random.default_rng(1)
    potentials, n_clusters = example.potentials, K + 1
    steps = [(0, 2), (5, K), (6, 1), (5, 2)]
    steps += [(int(rng.integers(N)), int(rng.integers(K + 1))) for _ in range(20)]
    for row, target in steps:
        source = int(example.labels[row])
        if source == target:
            continue
        potentials.with_rows(example.batch, slice(0, N), np.arange(n_clusters))  # fills caches
        potentials.move(example.batch, row, source, target)
        example.labels[row] = target
        n_clusters += target == n_clusters - 1
        assert len(potentials.sizes) == n_clusters
        np.testing.assert_array_equal(
            potentials.members, np.bincount(example.labels, minlength=n_clusters)
        )
        close(potentials.potentials, example.expected(n_clusters))
        found = potentials.without_rows(example.batch, slice(0, N), example.labels)
        others = [
            example.potential((example.labels == example.labels[i]) & (np.arange(N) != i))
            for i in range(N)
        ]
        close(found, others)
        with_new = potentials.with_rows(example.batch, slice(0, 1), np.array([n_clusters - 1]))
        alone = np.arange(N) == 0
        close(with_new[0, 0], example.potential(alone))
    before = potentials.potentials.copy()
    potentials.recount()
    close(potentials.potentials, before)
    centres, eta = potentials.centres(), example.partition.prior_weight
    for c in range(n_clusters):
        member = example.labels == c
        if member.any():
            total = example.total(member) + eta * example.partition.prior_mean
            close(centres[c], total / (example.weights[member].sum() + eta))
        else:
            np.testing.assert_array_equal(centres[c], example.partition.prior_mean)


def test_an_emptied_cluster_is_exactly_the_prior(example):
    """Without the rounding of the moves before."""
    potentials = example.potentials
    potentials.move(example.batch, 0, 0, 1)
    assert potentials.sizes[0] == example.partition.prior_weight
    np.testing.assert_array_equal(potentials.totals[:, 0], potentials.prior)
    np.testing.assert_array_equal(potentials.potentials[0], potentials.potentials[-1])


def test_rows_of_a_batch():
    X = np.array([[1.0, 0.0], [2.0, 3.0]])
    for rows in (X, sparse.csr_array(X)):
        batch = Batch(rows, np.array([2.0, 0.5]))
        np.testing.assert_array_equal(batch.added, [[2.0, 0.0], [1.0, 1.5]])
