import numpy as np
import pytest
from scipy import sparse

from hardbayes.geometry import GEOMETRIES, Mahalanobis, geometry_for


@pytest.fixture(params=[*sorted(GEOMETRIES), Mahalanobis(np.eye(6) + 0.3)])
def geometry(request):
    return geometry_for(request.param)


@pytest.fixture
def rows():
    X = np.random.default_rng(0).uniform(0.1, 2.0, (30, 6))
    return X / X.sum(axis=1, keepdims=True)


def test_affine_form_is_the_divergence(geometry, rows):
    x, c = rows[:10], rows[10:14]
    theta, offset = geometry.affine(c)
    affine = geometry.potential(x)[:, None] + offset - x @ theta.T
    direct = np.array([[geometry.divergence(row, centre) for centre in c] for row in x])
    np.testing.assert_allclose(affine, direct, atol=1e-12)


def test_divergence_is_zero_at_the_row_alone(geometry, rows):
    rows = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))  # equal directions are equal rows
    np.testing.assert_allclose(geometry.divergence(rows, rows), 0, atol=1e-15)
    assert (geometry.divergence(rows[1:], rows[:-1]) > 0).all()


def test_the_mean_minimises(geometry, rows):
    mean = rows.mean(axis=0)
    best = geometry.divergence(rows, mean).sum()
    rng = np.random.default_rng(1)
    for _ in range(50):
        step = rng.normal(size=6) * 1e-3
        assert geometry.divergence(rows, mean + step).sum() > best


def test_bregman_identity(geometry, rows):
    """Sum of divergences to the mean from totals alone, as the objective's trace takes it."""
    mean = rows.mean(axis=0)
    identity = geometry.potential(rows).sum() - len(rows) * geometry.potential(mean)
    np.testing.assert_allclose(identity, geometry.divergence(rows, mean).sum(), rtol=1e-10)


def test_phi_of_zero_is_zero_where_zero_is_allowed(geometry):
    if geometry.takes_zeros:
        assert geometry.potential(np.zeros((1, 6)))[0] == 0
        assert np.isfinite(geometry.affine(np.zeros((1, 6)))[0]).all()


def test_opening_costs_of_sparse_rows(geometry, rows):
    if not geometry.takes_zeros:
        return
    rows = np.where(rows < 0.15, 0.0, rows)
    weights, eta, mean = np.linspace(0.5, 2.0, 30), 3.0, rows.mean(axis=0)
    centres = (weights[:, None] * rows + eta * mean) / (weights + eta)[:, None]
    direct = weights * geometry.divergence(rows, centres)
    direct += eta * geometry.divergence(mean, centres)
    found = geometry.opening_costs(sparse.csr_array(rows), weights, eta, mean)
    np.testing.assert_allclose(found, direct, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(
        geometry.sparse_potential(sparse.csr_array(rows)), geometry.potential(rows), rtol=1e-12
    )
