"""Costs and refits of coded rows against literal versions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hardbayes.mixed.clusters import Prior, costs, first_clusters, prior_cost, refit
from hardbayes.mixed.search import descend, pose
from tests.mixed.tables import drawn_rows
from tests.reference import mixed

SHAPES = [(3, (2, 4)), (0, (2, 4, 3)), (4, ()), (1, (2,))]


def listed(rows, log_shares):
    """The shares of one cluster as a list for each category."""
    ends = np.cumsum(rows.sizes)
    return [list(each) for each in np.split(log_shares, ends[:-1])] if len(ends) else []


def with_holes(rows):
    return np.where(rows.seen[rows.pattern], rows.numbers, np.nan)


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize(("p", "sizes"), SHAPES)
@pytest.mark.parametrize("own", [False, True])
def test_costs_are_those_of_the_literal_version(p, sizes, holes, own):
    rows, labels = drawn_rows(1, n=30, p=p, sizes=sizes, holes=holes)
    prior = Prior(1.0, np.eye(p) if own else None)
    clusters = first_clusters(rows, labels, 3, prior, np.eye(p) + np.diag(rows.floors))
    clusters = refit(rows, labels, clusters, prior)
    found = costs(rows, clusters).whole
    shares = clusters.weights / clusters.weights.sum()
    numbers = with_holes(rows)
    for k in range(3):
        covariance = clusters.covariances[k if own else 0]
        log_shares = listed(rows, clusters.log_shares[k])
        expected = [
            mixed.row_cost(numbers[i], rows.levels[i], rows.floors, shares[k], clusters.means[k],
                           covariance, log_shares)
            for i in range(rows.n)
        ]  # fmt: skip
        assert_allclose(found[:, k], expected, rtol=1e-10)


@pytest.mark.parametrize(("p", "sizes"), SHAPES)
@pytest.mark.parametrize("prior_rows", [0.0, 1.0, 2.5])
def test_the_objective_of_labels_is_that_of_the_literal_version(p, sizes, prior_rows):
    weights = np.random.default_rng(2).integers(1, 4, 40).astype(float)
    rows, labels = drawn_rows(2, n=40, p=p, sizes=sizes, weights=weights)
    prior = Prior(prior_rows)
    clusters = first_clusters(rows, labels, 3, prior, np.eye(p))
    table = costs(rows, clusters).whole
    value = weights @ table[np.arange(40), labels] + prior_cost(rows, clusters, prior)
    expected = mixed.from_labels(
        rows.numbers, rows.levels, weights, rows.floors, rows.sizes, labels, prior_rows, 0.0
    )
    assert_allclose(value, expected, rtol=1e-10)


def perturbed(clusters, rng):
    """Other parameters, near these: means, shares and covariances that remain possible."""
    scale = 1.0 + 0.05 * rng.random()
    shares = np.exp(clusters.log_shares + 0.05 * rng.standard_normal(clusters.log_shares.shape))
    return clusters._replace(
        means=clusters.means + 0.05 * rng.standard_normal(clusters.means.shape),
        covariances=clusters.covariances * scale,
        log_shares=np.log(shares),
    )


@pytest.mark.parametrize("own", [False, True])
def test_no_other_parameters_are_better_for_the_same_labels(own):
    rows, labels = drawn_rows(3, n=50, p=3, sizes=())  # shares need a sum of one
    prior = Prior(1.0, 0.5 * np.eye(3) if own else None)
    clusters = first_clusters(rows, labels, 3, prior, np.eye(3))

    def value(these):
        return costs(rows, these).whole[np.arange(50), labels].sum() + prior_cost(
            rows, these, prior
        )

    rng = np.random.default_rng(0)
    best = value(clusters)
    assert all(value(perturbed(clusters, rng)) > best for _ in range(50))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("holes", [0.0, 0.25])
@pytest.mark.parametrize("own", [False, True])
def test_descents_never_rise(seed, holes, own):
    weights = np.random.default_rng(seed).exponential(size=80)
    rows, _ = drawn_rows(seed, n=80, p=3, sizes=(2, 5), holes=holes, weights=weights)
    prior = Prior(1.0, np.eye(3) if own else None)
    labels = np.random.default_rng(seed).integers(0, 5, 80)
    clusters = first_clusters(rows, labels, 5, prior, np.eye(3) + np.diag(rows.floors))
    found = descend(rows, labels, clusters, prior, 200)
    history = np.array(found.history)
    assert len(history) > 2
    assert (np.diff(history) <= 1e-9 * np.abs(history[0])).all()
    assert found.converged
    assert_array_equal(found.labels, costs(rows, found.clusters).whole.argmin(axis=1))


def test_a_step_too_few_still_ends_with_labels_that_are_predicted():
    rows, _ = drawn_rows(4, n=80)
    labels = np.random.default_rng(0).integers(0, 3, 80)
    prior = Prior(1.0)
    clusters = first_clusters(rows, labels, 3, prior, np.eye(3))
    found = descend(rows, labels, clusters, prior, 1)
    assert not found.converged
    table = costs(rows, found.clusters).whole
    assert_array_equal(found.labels, table.argmin(axis=1))
    assert found.fit == pytest.approx(table.min(axis=1).sum())


def test_a_row_with_nothing_goes_to_the_largest_cluster():
    rows, labels = drawn_rows(5, n=40, k=2)
    numbers, levels = rows.numbers.copy(), rows.levels.copy()
    numbers[7], levels[7] = np.nan, -1
    rows = type(rows)(numbers, levels, rows.weights, rows.floors, rows.sizes)
    problem = pose(rows, Prior(1.0))
    first = first_clusters(rows, labels, 2, Prior(1.0), problem.common)
    parts = costs(rows, first)
    assert_array_equal(parts.divergences[7], [0.0, 0.0])
    assert parts.whole[7].argmin() == first.weights.argmax()


def test_take_keeps_cells():
    rows, _ = drawn_rows(6, n=30, holes=0.3)
    ids = np.array([3, 3, 11, 29])
    taken = rows.take(ids)
    assert_array_equal(with_holes(taken), with_holes(rows)[ids])
    assert_array_equal(taken.levels, rows.levels[ids])
