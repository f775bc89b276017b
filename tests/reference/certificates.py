"""What a converged fit must satisfy, whatever path it took."""

import numpy as np
from scipy import sparse

from tests.reference.dp_means import (
    birth,
    divergence_matrix,
    divergence_to,
    labelling_objective,
    overall_mean,
    prepared_rows,
    shown_centers,
    shrunk_mean,
    weights_or_ones,
)


def dense_rows(X):
    """X as a float64 array."""
    if sparse.issparse(X):
        X = X.toarray()
    return np.array(X, dtype=np.float64)


def assert_history(model):
    history = model.objective_history_
    assert isinstance(history, np.ndarray) and history.dtype == np.float64 and history.ndim == 1
    assert len(history) == model.n_iter_
    assert np.isfinite(history).all()
    assert (np.diff(history) <= 0).all(), np.diff(history).max()
    assert history[-1] == model.objective_


def assert_labels(model, n):
    labels = model.labels_
    assert labels.dtype == np.int32 and labels.shape == (n,)
    np.testing.assert_array_equal(np.unique(labels), np.arange(model.n_clusters_))
    assert model.cluster_centers_.shape == (model.n_clusters_, model.n_features_in_)
    assert model.cluster_weights_.shape == (model.n_clusters_,)


def assert_certificate(model, X, sample_weight=None, *, rtol=1e-9):
    """Check a fitted model against the rows alone.

    ``rtol`` is for ties: costs are compared within ``rtol`` times the largest squared distance
    (squared Euclidean) or one nat (KL).
    """
    rows = prepared_rows(dense_rows(X), model.divergence)
    n = len(rows)
    w = weights_or_ones(sample_weight, n)
    eta, penalty = model.prior_weight_, model.cluster_penalty_
    assert np.isfinite(penalty) and np.isfinite(eta) and penalty >= 0 and eta >= 0

    assert_labels(model, n)
    assert_history(model)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(
        model.cluster_weights_, np.bincount(model.labels_, weights=w), rtol=1e-6
    )
    assert model.converged_
    assert (model.cluster_weights_ > 0).all()

    # Work about the mean: an offset must not blur what is checked.
    shift = overall_mean(rows, w) if model.divergence == "squared_euclidean" else 0.0
    rows = rows - shift
    m = overall_mean(rows, w)
    means = np.array(
        [
            shrunk_mean(rows[model.labels_ == k], w[model.labels_ == k], m, eta)
            for k in range(model.n_clusters_)
        ]
    )
    eps = np.finfo(model.cluster_centers_.dtype).eps
    size = max(np.abs(rows).max(), np.abs(shift).max() if np.ndim(shift) else 0.0)
    np.testing.assert_allclose(
        model.cluster_centers_.astype(np.float64),
        shown_centers(means, model.divergence) + shift,
        rtol=8 * eps,
        atol=8 * eps * size,
    )

    costs = divergence_matrix(rows, means, model.divergence)
    own = costs[np.arange(n), model.labels_]
    scale = (rows**2).sum(axis=1).max() if model.divergence == "squared_euclidean" else 1.0
    tie = rtol * scale
    assert (own <= costs.min(axis=1) + tie).all(), "a row is not at its cheapest centre"

    capped = model.max_clusters is not None and model.n_clusters_ >= model.max_clusters
    if not capped:
        prices = np.array(
            [birth(rows[i], w[i], penalty, m, eta, model.divergence)[1] for i in range(n)]
        )
        paying = w > 0
        assert (w[paying] * own[paying] <= prices[paying] * (1 + rtol) + w[paying] * tie).all(), (
            "a row is dearer than a cluster of its own"
        )

    fit = (w[w > 0] * own[w > 0]).sum()
    paid = penalty * model.n_clusters_
    if eta > 0:
        paid += eta * sum(divergence_to(m, mu, model.divergence)[0] for mu in means)
    slack = 1e-7 if eps > 1e-10 else 1e-9
    floor = 1e-13 * w.sum() * scale
    np.testing.assert_allclose(model.inertia_, fit, rtol=slack, atol=floor)
    np.testing.assert_allclose(model.objective_, fit + paid, rtol=slack, atol=floor)
    alone = labelling_objective(
        rows,
        model.labels_,
        penalty,
        divergence=model.divergence,
        prior_weight=eta,
        weights=w,
    )
    np.testing.assert_allclose(model.objective_, alone, rtol=slack, atol=floor)
