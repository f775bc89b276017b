"""What a partition pays, where its centres are, and what whole clusters explain."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.geometry import GEOMETRIES, Mahalanobis, geometry_for
from hardbayes.dp_means.objective import UNSEEN, Partition

EVERY = [*sorted(GEOMETRIES), Mahalanobis(np.diag([1.0, 4.0, 0.1, 2.0]) + 0.05)]
every_geometry = pytest.mark.parametrize(
    "divergence", EVERY, ids=lambda d: d if isinstance(d, str) else "mahalanobis"
)
priors = pytest.mark.parametrize("eta", [0.0, 0.5, 10.0])


def rows_and_partition(divergence, eta, n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 1.0, (n, 4))
    X /= X.sum(axis=1, keepdims=True)
    return X, Partition(geometry_for(divergence), 0.3, eta, X.mean(axis=0), 100)


def cluster_cost(partition, rows, weights):
    """What a cluster of these rows costs at its own centre, without its penalty."""
    eta, mean, geometry = partition.prior_weight, partition.prior_mean, partition.geometry
    centre = (weights @ rows + eta * mean) / (weights.sum() + eta)
    cost = weights @ geometry.divergence(rows, centre)
    return centre, cost + eta * geometry.divergence(mean, centre)


# --- what is paid ---------------------------------------------------------------------------------


def test_every_cluster_pays_the_penalty():
    _, partition = rows_and_partition("kl", 0.0)
    assert partition.total_penalty(7) == 7 * 0.3
    assert partition.total_penalty(0) == 0.0


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@priors
def test_the_opening_centre_is_the_cheapest(divergence, eta):
    """No other centre makes a one-row cluster cheaper, and the opening cost is what it costs."""
    rng = np.random.default_rng(0)
    X, partition = rows_and_partition(divergence, eta)
    geometry, mean = partition.geometry, partition.prior_mean
    weights = rng.uniform(0.5, 2.0, 20)
    opening = np.broadcast_to(partition.opening_costs(X, weights, 0.0), 20)

    def cost(row, weight, centre):
        return (
            0.3
            + weight * geometry.divergence(row, centre)
            + eta * geometry.divergence(mean, centre)
        )

    centres = partition.opening_centres(X, weights)
    for row, weight, paid, centre in zip(X, weights, opening, centres, strict=True):
        assert paid == pytest.approx(cost(row, weight, centre), rel=1e-9)
        for _ in range(10):
            other = np.abs(centre + rng.normal(size=4) * 1e-3)
            assert cost(row, weight, other) >= paid * (1 - 1e-12)


def test_without_a_prior_all_rows_pay_the_penalty():
    X, partition = rows_and_partition("kl", 0.0)
    np.testing.assert_array_equal(partition.opening_costs(X, np.ones(20), 1e9), [0.3])


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl", "poisson", "logistic", "cosine"])
def test_sparse_rows_pay_as_dense_ones_do(divergence):
    X, partition = rows_and_partition(divergence, 2.0)
    X[X < 0.2] = 0.0
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 20)
    dense = partition.opening_costs(X, weights, 0.0)
    assert dense.shape == (20,) and (dense > 0.3).all()
    thin = partition.opening_costs(sparse.csr_array(X), weights, 0.0)
    np.testing.assert_allclose(thin, dense, rtol=1e-9)


def test_with_a_prior_no_row_pays_less_than_rounding():
    X, partition = rows_and_partition("squared_euclidean", 2.0)
    weights = np.linspace(0.5, 2.0, 20)
    plain = partition.opening_costs(X, weights, 0.0)
    rounding = np.linspace(0.0, 1.0, 20)
    found = partition.opening_costs(X, weights, rounding)
    np.testing.assert_array_equal(found, np.maximum(plain, weights * rounding))
    assert (found > plain).any() and (found == plain).any()
    np.testing.assert_array_equal(partition.opening_costs(X, weights, 3.0), 3.0 * weights)


@every_geometry
@priors
def test_what_the_prior_costs_in_each_cluster(divergence, eta):
    X, partition = rows_and_partition(divergence, eta)
    expected = [eta * partition.geometry.divergence(partition.prior_mean, x) for x in X]
    np.testing.assert_allclose(partition.prior_costs(X), expected)


# --- centres --------------------------------------------------------------------------------------


@priors
def test_centres_are_means_with_the_prior(eta):
    X, partition = rows_and_partition("kl", eta)
    weights = np.array([2.0, 0.5])
    totals = np.array([X[0] + X[1], 0.5 * X[2]])
    expected = (totals + eta * partition.prior_mean) / (weights + eta)[:, np.newaxis]
    np.testing.assert_allclose(partition.centres(weights, totals), expected)
    assert (partition.opening_centres(X, np.ones(20)) is X) == (eta == 0)


def test_means_that_rounding_carried_out_of_the_domain_come_back():
    partition = Partition(geometry_for("logistic"), 1.0, 0.0, np.full(2, 0.5), 9)
    centres = partition.centres(np.array([1.0]), np.array([[1.0 + 1e-16, -1e-20]]))
    assert (centres <= 1.0).all() and (centres >= 0.0).all()


@every_geometry
def test_the_affine_form_is_that_of_the_geometry(divergence):
    X, partition = rows_and_partition(divergence, 1.0)
    form = partition.affine_form(X)
    exact, offset = partition.geometry.exact_form(X)
    np.testing.assert_array_equal(form.exact, exact)
    np.testing.assert_array_equal(form.theta, exact)
    np.testing.assert_array_equal(form.offset, offset)
    direct = partition.direct_form(X)
    np.testing.assert_array_equal(direct.exact, exact)
    np.testing.assert_array_equal(direct.offset, offset)
    assert direct.squared == (divergence == "squared_euclidean")
    assert not np.shares_memory(direct.exact, X)


@pytest.mark.parametrize("divergence", ["kl", "poisson"])
def test_columns_that_were_empty_score_nothing_and_cost_much(divergence):
    X, partition = rows_and_partition(divergence, 1.0)
    X[:, 2] = 0.0
    partition = Partition(partition.geometry, 0.3, 1.0, X.mean(axis=0), 100)
    form, plain = partition.affine_form(X), partition.geometry.exact_form(X)[0]
    np.testing.assert_array_equal(form.theta[:, 2], np.zeros(20))
    np.testing.assert_array_equal(form.exact[:, 2], np.full(20, -UNSEEN))
    others = [0, 1, 3]
    np.testing.assert_array_equal(form.theta[:, others], plain[:, others])
    np.testing.assert_array_equal(form.exact[:, others], plain[:, others])
    np.testing.assert_array_equal(partition.direct_form(X).exact, form.exact)


def test_columns_without_mass_are_columns_like_any_other_where_entries_may_be_negative():
    X, partition = rows_and_partition("squared_euclidean", 1.0)
    partition = Partition(partition.geometry, 0.3, 1.0, np.array([1.0, 0.0, -1.0, 0.0]), 100)
    np.testing.assert_array_equal(partition.affine_form(X).theta, X)


# --- what whole clusters explain ------------------------------------------------------------------


@every_geometry
@priors
def test_costs_and_potentials_of_any_partition_add_up_to_the_same(divergence, eta):
    X, partition = rows_and_partition(divergence, eta)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2.0, 20)
    by_potential, by_explained = [], []
    origin = X.mean(axis=0) * 1.1
    for k in (1, 3, 6):
        labels = np.r_[np.arange(k), rng.integers(0, k, 20 - k)]
        sizes = np.bincount(labels, weights)
        found = [cluster_cost(partition, X[labels == c], weights[labels == c]) for c in range(k)]
        centres, costs = np.array([c for c, _ in found]), sum(cost for _, cost in found)
        by_potential.append(costs + partition.potential(sizes, centres))
        by_explained.append(costs + partition.explained(sizes, centres, origin).sum())
    np.testing.assert_allclose(by_potential, by_potential[0], rtol=1e-10)
    np.testing.assert_allclose(by_explained, by_explained[0], rtol=1e-10)


@every_geometry
@priors
def test_unions_cost_what_the_objective_rises(divergence, eta):
    X, partition = rows_and_partition(divergence, eta, n=60)
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.5, 2.0, 60)
    sides, rises = ([], []), []
    for pair in range(5):
        labels = np.r_[0, 1, rng.integers(0, 2, 10)]
        own = slice(12 * pair, 12 * pair + 12)
        rows, w = X[own], weights[own]
        parts = [cluster_cost(partition, rows[labels == s], w[labels == s]) for s in (0, 1)]
        for side, (centre, _) in zip((0, 1), parts, strict=True):
            sides[side].append((w[labels == side].sum(), centre))
        rises.append(cluster_cost(partition, rows, w)[1] - parts[0][1] - parts[1][1])
    w0, w1 = (np.array([weight for weight, _ in side]) for side in sides)
    c0, c1 = (np.array([centre for _, centre in side]) for side in sides)
    np.testing.assert_allclose(partition.union_costs(w0, c0, w1, c1), rises, rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(partition.union_costs(w1, c1, w0, c0), rises, rtol=1e-8, atol=1e-13)


def test_a_union_at_the_border_of_the_domain_has_a_cost():
    """Rounding may carry the united mean past one, where the divergence is infinite."""
    rng = np.random.default_rng(0)
    geometry = geometry_for("logistic")
    mean = np.array([0.4, 1.0])
    partition = Partition(geometry, 1.0, 0.3, mean, 100)
    weights, others = rng.uniform(0.1, 3.0, (2, 2000))
    shares = rng.uniform(0.1, 0.9, (2, 2000))
    centres = [
        partition.centres(w, np.stack([w * share, w], axis=1))
        for w, share in zip((weights, others), shares, strict=True)
    ]
    costs = partition.union_costs(weights, centres[0], others, centres[1])
    assert np.isfinite(costs).all()
    assert all((c <= 1.0).all() for c in centres)
