"""The library against Kulis & Jordan's Algorithm 2 written out row by row."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import HDPMeans
from hardbayes.core.arrays import VisitOrder
from hardbayes.groups import state
from tests.conftest import pairwise_sq, quiet_fit
from tests.random_inputs import between, put_zeros, random_cap, random_rows, random_weights
from tests.reference.dp_means import divergence_matrix, prepared_rows
from tests.reference.hdp import literal_hdp

PRIORS = {"kl": 5.0, "poisson": 5.0, "logistic": 5.0}


def random_groups(rng, n):
    return rng.integers(0, int(rng.choice([1, 2, 3, 6, n])), n)


def assert_equals_literal(model, literal):
    weighted = literal.labels >= 0
    np.testing.assert_array_equal(model.labels_[weighted], literal.labels[weighted])
    np.testing.assert_array_equal(model.local_labels_[weighted], literal.local_labels[weighted])
    assert model.converged_ == literal.converged
    assert abs(len(model.objective_history_) - len(literal.history)) <= 1
    shared = min(len(model.objective_history_), len(literal.history))
    np.testing.assert_allclose(
        model.objective_history_[:shared], literal.history[:shared], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(model.objective_, literal.history[-1], rtol=1e-9, atol=1e-12)


def fit_both(X, groups, penalties, weights, seed, container=np.asarray, **options):
    n = len(X)
    given = seed % 2 == 0
    order = None if given else VisitOrder.draw("random", np.random.RandomState(seed)).rows(n)
    options.setdefault("prior_weight", 0.0)
    model = HDPMeans(
        *penalties, search="paper", order="given" if given else "random", random_state=seed,
        **options,
    )  # fmt: skip
    model = quiet_fit(model, container(X), weights, groups=groups)
    literal = literal_hdp(X, groups, *penalties, weights=weights, order=order, **options)
    return model, literal


@pytest.mark.parametrize("seed", range(80))
def test_squared_euclidean(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([1, 2, 3, 8, 20, 60])), int(rng.choice([1, 2, 3, 8]))
    X, weights = random_rows(rng, n, d), random_weights(rng, n)
    groups = random_groups(rng, n)
    spread = pairwise_sq(X)
    penalties = between(rng, spread) / 3, between(rng, spread)
    if seed % 3 == 0:  # with the nearest centres found by a parallel pass
        monkeypatch.setattr(state, "SMALL_COSTS", 0)
    model, literal = fit_both(
        X, groups, penalties, weights, seed, max_clusters=random_cap(rng)
    )  # fmt: skip
    assert_equals_literal(model, literal)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "divergence", ["kl", "poisson", "itakura_saito", "logistic", "cosine", "squared_euclidean"]
)
@pytest.mark.parametrize("seed", range(4))
def test_divergences(divergence, container, seed):
    if divergence == "itakura_saito" and container is not np.asarray:
        pytest.skip("needs entries above zero")
    rng = np.random.default_rng([seed, len(divergence)])
    n, d = int(rng.choice([8, 20, 40])), int(rng.choice([3, 6]))
    X = rng.gamma(0.7, size=(n, d)) + 0.01
    if divergence == "logistic":
        X = rng.random((n, d))
    if container is not np.asarray:
        put_zeros(rng, X, 0.4)
        X = np.minimum(X, 1.0) if divergence == "logistic" else X
    groups, weights = random_groups(rng, n), random_weights(rng, n)
    spread = divergence_matrix(prepared_rows(X, divergence), prepared_rows(X + 0.01, divergence)
        if divergence != "logistic" else 0.98 * X + 0.01, divergence)  # fmt: skip
    penalties = between(rng, spread) / 3, between(rng, spread)
    zeros = container is not np.asarray
    eta = PRIORS.get(divergence, 0.0) if zeros or seed % 2 else 0.0
    model, literal = fit_both(
        X, groups, penalties, weights, seed, container, divergence=divergence, prior_weight=eta
    )
    assert_equals_literal(model, literal)


def test_each_sweep_may_have_an_order_of_its_own():
    rng = np.random.default_rng(0)
    X, groups = 3 * rng.normal(size=(120, 2)), rng.integers(0, 4, 120)
    how = {"search": "paper", "random_state": 0}
    one = HDPMeans(1.0, 8.0, order="random", **how).fit(X, groups=groups)
    each = HDPMeans(1.0, 8.0, order="random-each-sweep", **how).fit(X, groups=groups)
    assert (np.diff(each.objective_history_) <= 1e-9).all()
    assert (one.labels_ != each.labels_).any()
