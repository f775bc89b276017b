"""The automatic prior matrix."""

import numpy as np
import pytest

from hardbayes.pool import Pool
from hardbayes.selection.gaussian_prior import FLOOR, QUICK, PriorSearch
from hardbayes.structure.gaussians import GaussianPartition
from tests.engine.gaussian.test_restarts import options
from tests.structure.test_gaussians import gaussians

LABELS = np.repeat(np.arange(3), 30)


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def make(request):
    rng = np.random.default_rng(0)
    matrix = np.repeat([[0.0, 0.0], [900.0, 0.0], [0.0, 9.0]], 30, axis=0)
    matrix = matrix + rng.normal(size=(90, 2)) * [50.0, 1.0]
    with Pool(1) as pool:

        def make(weight=1.0, prior=None):
            weights, diagonal = np.full(90, weight), request.param
            given = options(diagonal=diagonal, prior=prior)
            random, middle = np.random.RandomState(0), matrix.mean(axis=0)
            search = PriorSearch(matrix, weights, weights.sum(), middle, given, random, pool)
            return search, matrix, weights, diagonal

        yield make


def unpacked(matrix, diagonal):
    return matrix[0] if diagonal else matrix


def test_the_pooled_scatter_in_the_users_units(make):
    for weight in (1.0, 0.01, 7.0):
        search, matrix, weights, diagonal = make(weight)
        clusters = gaussians(matrix, LABELS, weights, diagonal)
        found = search.in_units(search.pooled(LABELS))
        expected = unpacked(clusters.scatters.sum(axis=0), diagonal)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_weights_are_rows_at_least_one_each_on_average(make):
    for weight, mean in ((0.01, 1.0), (7.0, 7.0), (1e9, 1e6)):
        np.testing.assert_allclose(make(weight)[0].rows.weights, mean)


def test_whitened_rows_see_the_prior_as_the_identity(make):
    search, _, _, diagonal = make()
    prior = search.pooled(LABELS)
    rows = search.whitened(prior)
    scatters = rows.statistics(LABELS, 3)[2].sum(axis=0)
    identity = np.ones(2) if diagonal else np.eye(2)
    np.testing.assert_allclose(unpacked(scatters, diagonal), identity, atol=1e-3)


def test_a_better_prior_keeps_the_number_of_clusters(make):
    search = make()[0]
    rng = np.random.default_rng(1)
    labels = np.where(rng.uniform(size=90) < 0.2, rng.integers(0, 3, 90), LABELS)
    best = search.improve(labels, GaussianPartition(0.0, 1.0, 3), QUICK)
    assert len(np.unique(best.labels)) == 3
    assert best.misfit < search.misfit(labels)
    np.testing.assert_allclose(best.misfit, search.misfit(best.labels))
    one = search.improve(np.zeros(90, int), GaussianPartition(0.0, 1.0, 3), QUICK)
    np.testing.assert_allclose(one.matrix, search.pooled(np.zeros(90, int)))


def test_a_given_prior_is_kept(make):
    given = np.array([400.0, 9.0])
    diagonal = make()[3]
    search = make(prior=given if diagonal else np.diag(given))[0]
    found = search.improve(LABELS, GaussianPartition(0.0, 1.0, 3))
    expected = given if diagonal else np.diag(given)
    np.testing.assert_allclose(search.in_units(found.matrix), expected, rtol=1e-12)


def test_a_constant_column_has_a_prior_too():
    matrix = np.column_stack([np.arange(6.0), np.full(6, 0.1)])
    with Pool(1) as pool:
        arguments = (np.ones(6), 6.0, matrix.mean(axis=0), options(), np.random.RandomState(0))
        search = PriorSearch(matrix, *arguments, pool)
    np.testing.assert_allclose(np.diag(search.pooled(np.zeros(6, int))), [1 + FLOOR, FLOOR])
