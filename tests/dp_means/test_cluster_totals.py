"""Clusters by their totals: potentials, unions and single-row moves against their definitions."""

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from hardbayes.core.compiling import OPTIONS
from hardbayes.core.pool import Pool
from hardbayes.dp_means.compiled import cluster_totals, single_row
from hardbayes.dp_means.trials import all_union_costs, centres_of, totals_of
from tests.dp_means.partition_states import pose_here
from tests.test_divergences import rows_for

N, D, K = 40, 12, 12
DIVERGENCES = ["cosine", "kl", "logistic", "poisson"]


@njit(**OPTIONS)
def join(rows, i, weight, clusters, sizes, first, last):
    cluster_totals.join(rows, i, weight, clusters, sizes, first, last)


@njit(**OPTIONS)
def transfer(rows, i, weight, source, target, left, clusters, sizes, members):
    single_row.transfer(rows, i, weight, source, target, left, clusters, sizes, members)


class Example:
    """Rows in K clusters and one empty slot; potentials from the rows alone."""

    def __init__(self, divergence, prior_weight, is_sparse):
        rng = np.random.default_rng(0)
        X = rows_for(divergence, rng, N, D)
        if divergence == "poisson":
            X[3] = 0.0  # a row without entries
        weights = rng.choice([0.5, 1.0, 2.0], N)
        problem = pose_here(sparse.csr_array(X) if is_sparse else X, divergence, weights)
        self.partition = problem.partition(1.0, prior_weight, None)
        self.eta = self.partition.prior_weight
        self.local = problem.rows.take()
        self.x, self.weights = self.local.dense(), self.local.weights_at()
        self.labels = np.r_[np.arange(K), rng.integers(1, K, N - K)]  # row 0 is alone
        sizes, totals = self.counted()
        centres = np.where(sizes[:, None] > 0, totals / np.maximum(sizes, 1e-300)[:, None], 0.0)
        self.form = self.partition.moving_form(centres)
        self.sizes = sizes
        self.clusters = totals_of(self.form, sizes)

    def counted(self):
        """Return sizes and totals with the prior's, of K clusters and an empty one."""
        member = self.labels == np.arange(K + 1)[:, None]
        prior = self.eta * self.partition.prior_mean
        return member @ self.weights + self.eta, (member * self.weights) @ self.x + prior

    def potential(self, size, total):
        if size == 0:
            return 0.0
        geometry = self.partition.geometry
        return size * geometry.potential(geometry.inside(total / size))

    def expected(self):
        return [self.potential(*both) for both in zip(*self.counted(), strict=True)]


@pytest.fixture(params=DIVERGENCES)
def divergence(request):
    return request.param


@pytest.fixture(params=[0.0, 2.0], ids=["no prior", "prior"])
def prior_weight(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def example(request, divergence, prior_weight):
    return Example(divergence, prior_weight, request.param)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_potentials_and_centres(example):
    close(example.clusters.potentials, example.expected())
    sizes, totals = example.counted()
    close(centres_of(example.clusters, sizes)[:K], totals[:K] / sizes[:K, None])
    alone = example.potential(example.eta, example.eta * example.partition.prior_mean)
    close(example.clusters.alone[2], alone)


@pytest.mark.parametrize("slots", [(0, K + 1), (2, 4), (5, 6)], ids=["all", "few", "one"])
def test_potentials_with_a_row_and_without(example, slots):
    sizes, totals = example.counted()
    for i in range(0, N, 3):
        weight = example.weights[i]
        join(example.local.rows, i, weight, example.clusters, sizes, *slots)
        for k in range(*slots):
            total = totals[k] + weight * example.x[i]
            close(example.clusters.joined[k], example.potential(sizes[k] + weight, total))
        own = example.labels[i]
        join(example.local.rows, i, -weight, example.clusters, sizes, own, own + 1)
        left = np.maximum(totals[own] - weight * example.x[i], 0) if own else totals[K]
        size = sizes[own] - weight if own else example.eta
        if divergence_of(example) == "cosine":
            left = totals[own] - weight * example.x[i]
        close(example.clusters.joined[own], example.potential(size, left))


def divergence_of(example):
    return "cosine" if example.partition.geometry.row_unit == "length" else "other"


def test_everything_follows_rows_that_move(example):
    """Also to the empty slot, and where a row was the last of its cluster."""
    rng = np.random.default_rng(1)
    sizes, members = example.sizes, np.bincount(example.labels, minlength=K + 1)
    steps = [(0, K), (5, 0)] + [(int(i), int(k)) for i, k in rng.integers(0, (N, K), (30, 2))]
    for i, target in steps:
        source, weight = example.labels[i], example.weights[i]
        if source == target:
            continue
        left = example.eta if members[source] == 1 else sizes[source] - weight
        transfer(
            example.local.rows, i, weight, source, target, left, example.clusters, sizes, members
        )
        example.labels[i] = target
        np.testing.assert_array_equal(members, np.bincount(example.labels, minlength=K + 1))
        close(sizes, example.counted()[0])
        close(example.clusters.potentials, example.expected())


def test_costs_of_unions(example):
    sizes, totals = example.counted()
    weights = sizes - example.eta
    form = example.form._replace(centres=example.form.centres[:K])
    found = all_union_costs(form, weights[:K], Pool(1))
    centres = example.partition.centres(weights[:K], totals[:K] - totals[K])
    for a in range(K):
        assert found[a, a] == np.inf
        others = np.delete(np.arange(K), a)
        both = np.full(K - 1, weights[a]), np.tile(centres[a], (K - 1, 1))
        expected = example.partition.union_costs(*both, weights[others], centres[others])
        np.testing.assert_allclose(found[a, others], expected, rtol=1e-8, atol=1e-8)


def test_potentials_without_the_prior(example):
    sizes, totals = example.counted()
    cluster_totals.free_potentials(example.clusters, sizes)
    prior = example.eta * example.partition.prior_mean
    for k in range(K):
        expected = example.potential(sizes[k] - example.eta, np.abs(totals[k] - prior))
        if divergence_of(example) == "cosine":
            expected = np.linalg.norm(totals[k] - prior)
        close(example.clusters.joined[k], expected)
