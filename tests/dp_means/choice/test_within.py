"""The metric in which clusters are round."""

import numpy as np
import pytest

from hardbayes.dp_means.choice.held_out import REGULARISATION, Within


def costs(rows, weights, labels, k, new):
    theta, offset = Within(rows, weights).affine(np.asarray(labels, np.int32), k)
    assert theta.shape == (k, rows.shape[1]) and offset.shape == (k,)
    return offset - new @ theta.T


@pytest.fixture(name="case")
def long_clusters():
    """(rows, weights, labels, new rows): three clusters of correlated columns."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 90)
    shape = rng.standard_normal((4, 4))
    centres = 3.0 * rng.standard_normal((3, 4))
    rows = centres[labels] + rng.standard_normal((90, 4)) @ shape
    return rows, rng.uniform(0.5, 2.0, 90), labels, rng.standard_normal((20, 4))


def test_costs_are_distances_by_the_covariance_within_clusters(case):
    rows, weights, labels, new = case
    k, (n, d) = 3, rows.shape
    centres = np.array(
        [np.average(rows[labels == c], axis=0, weights=weights[labels == c]) for c in range(k)]
    )
    residuals = rows - centres[labels]
    within = (residuals * weights[:, np.newaxis]).T @ residuals / weights.sum()
    total = np.average((rows - np.average(rows, axis=0, weights=weights)) ** 2, 0, weights)
    metric = within * n / (n + d)
    np.fill_diagonal(metric, np.diag(within) + REGULARISATION * total)
    gaps = new[:, np.newaxis] - centres
    expected = np.einsum("nki,ij,nkj->nk", gaps, np.linalg.inv(metric), gaps) / 2
    found = costs(rows, weights, labels, k, new)
    np.testing.assert_allclose(
        found - found[:, :1], expected - expected[:, :1], rtol=1e-7, atol=1e-9
    )


def test_units_and_offsets_of_columns_do_not_matter(case):
    rows, weights, labels, new = case
    scale, shift = np.array([1e-4, 1.0, 300.0, 7.0]), np.array([0.0, -50.0, 9.0, 1.0])
    plain = costs(rows, weights, labels, 3, new)
    scaled = costs(rows * scale + shift, weights, labels, 3, new * scale + shift)
    np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-6)


def test_constant_columns_do_not_matter(case):
    rows, weights, labels, new = case
    plain = costs(rows, weights, labels, 3, new)
    wider, more = (np.column_stack([some, np.full(len(some), 5.0)]) for some in (rows, new))
    found = costs(wider, weights, labels, 3, more)
    more[:, -1] = 1e3
    np.testing.assert_array_equal(costs(wider, weights, labels, 3, more), found)
    # One column more has the covariances count a little less.
    np.testing.assert_array_equal(found.argmin(axis=1), plain.argmin(axis=1))


def test_copies_of_a_few_rows():
    labels = np.repeat([0, 1, 2], 10)
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 4.0]])[labels]
    found = costs(rows, np.ones(30), labels, 3, rows)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found.argmin(axis=1), labels)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    labels = np.arange(20) % 2
    rows = 3.0 * labels[:, np.newaxis] + rng.standard_normal((20, 60))
    new = 3.0 * labels[:, np.newaxis] + rng.standard_normal((20, 60))
    found = costs(rows, np.ones(20), labels, 2, new)
    np.testing.assert_array_equal(found.argmin(axis=1), labels)
