"""Likelihoods of partitions, and how Gaussian clusters look."""

import numpy as np
import pytest

from hardbayes.gaussian.choice.evidence import (
    PRIOR_ROWS,
    MarginalLikelihood,
    departure,
    gain_of_two,
    likeliest_prior,
    look_gaussian,
)
from tests.gaussian.choice.samples import SQUARE, blobs, sampled

MATRIX, TRUE = blobs(SQUARE)


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def rows(request):
    with sampled(MATRIX, diagonal=request.param) as sample:
        yield sample.rows, TRUE[sample.ids]


def test_the_true_partition_is_likelier_than_its_neighbours(rows):
    rows, true = rows
    values = {}
    for name, labels in {
        "true": true,
        "two merged": np.minimum(true, 2),
        "one split": np.where((true == 0) & (np.arange(rows.n) % 2 == 0), 4, true),
        "one": 0 * true,
    }.items():
        values[name] = likeliest_prior(rows, rows.statistics(labels, labels.max() + 1))[1]
    assert max(values, key=values.get) == "true"


def test_the_likeliest_of_all_priors(rows):
    rows, true = rows
    clusters = rows.statistics(true, 4)
    each = {n: MarginalLikelihood(rows, clusters, n).of_partition(clusters) for n in PRIOR_ROWS}
    prior, value = likeliest_prior(rows, clusters)
    assert value == max(each.values()) and each[prior.prior_rows] == value
    whole = prior.of_each(clusters).sum() + prior.of_shares(4)
    np.testing.assert_allclose(value, whole)
    assert prior.pooled_rows >= rows.least_rows


def test_two_clusters_are_likelier_apart_and_halves_of_one_are_not(rows):
    rows, true = rows
    halves = np.where(true == 0, np.arange(rows.n) % 2, true + 1)
    clusters = rows.statistics(halves, 5)
    gains = gain_of_two(rows, clusters, np.array([0, 2]), np.array([1, 3]), (2.0, 32.0))
    assert gains[0] < 0 < gains[1]


@pytest.mark.parametrize("diagonal", [False, True])
def test_departure_is_small_for_gaussians_only(diagonal):
    rng = np.random.default_rng(0)
    found = []
    for matrix in (
        rng.normal(size=(2000, 2)) * [5.0, 1.0],
        rng.uniform(size=(2000, 2)),
        rng.exponential(size=(2000, 2)),
    ):
        with sampled(matrix, diagonal=diagonal) as sample:
            found.append(departure(sample.rows, np.zeros(2000, np.int64), 1))
    assert found[0] < 0.03 < 0.05 < min(found[1:])


def test_clusters_too_small_to_tell_depart_by_all():
    with sampled(np.random.default_rng(1).normal(size=(6, 2))) as sample:
        assert departure(sample.rows, np.arange(6) % 2, 2) == 1.0


@pytest.mark.parametrize("n", [100, 3000])
def test_gaussians_look_gaussian_and_cubes_do_not(n):
    rng = np.random.default_rng(2)
    halves = np.arange(n) % 2
    for matrix, expected in ((rng.normal(size=(n, 3)), True), (rng.uniform(size=(n, 3)), False)):
        matrix[:, 0] += 20.0 * halves
        with sampled(matrix) as sample:
            assert look_gaussian(sample.rows, halves[sample.ids], 2) == expected
