"""`objective` of memberships, of covariances and of topics: what the models minimise."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import BPMeans, DPMeans, GaussianDPMeans, HDPTopics, KFeatures, objective
from hardbayes.core.arrays import Topics
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_bars, make_dice, make_three_gaussians
from hardbayes.topics.problem import make_documents, no_topics
from tests.conftest import quiet_fit
from tests.reference.features import feature_objective
from tests.reference.topics import objective as literal_topic_objective

X = make_three_gaussians(90, random_state=0)[0]


@pytest.mark.parametrize("seed", range(5))
def test_memberships_are_measured_as_by_least_squares(seed):
    rng = np.random.default_rng(seed)
    rows, w = rng.normal(size=(30, 4)) * 10.0**seed, rng.uniform(0.1, 3.0, 30)
    Z = rng.integers(0, 2, (30, 3))
    expected = feature_objective(rows, Z, 2.0, w)
    np.testing.assert_allclose(objective(rows, Z, 2.0, sample_weight=w), expected)
    twice = np.column_stack([Z, Z[:, 0]])  # costs its penalty and explains nothing
    np.testing.assert_allclose(objective(rows, twice, 2.0, sample_weight=w), expected + 2.0)
    empty = np.column_stack([Z, np.zeros(30)])  # no feature at all
    np.testing.assert_allclose(objective(rows, empty, 2.0, sample_weight=w), expected)


@pytest.mark.parametrize("kind", [BPMeans, KFeatures])
def test_features_of_a_model(kind):
    pictures, _ = make_dice(40, random_state=0)
    pictures = pictures + 0.1 * np.random.default_rng(0).normal(size=pictures.shape)
    w = np.random.default_rng(1).integers(0, 3, 40).astype(float)
    model = kind(3.0 if kind is BPMeans else 3, n_init=2, random_state=0)
    model.fit(pictures, sample_weight=w)
    value = objective(pictures, model.membership_, estimator=model, sample_weight=w)
    np.testing.assert_allclose(value, model.objective_)
    repeated = np.repeat(np.arange(40), w.astype(int))
    again = objective(pictures[repeated], model.membership_[repeated], estimator=model)
    np.testing.assert_allclose(again, model.objective_)


@pytest.mark.parametrize("options", [{}, {"covariance_type": "diag", "covariance_penalty": 2.0}])
def test_clusters_with_covariances(options):
    w = np.random.default_rng(0).uniform(0.2, 2.0, len(X))
    model = GaussianDPMeans(4.0, random_state=0, **options).fit(X, sample_weight=w)
    value = objective(X, model.labels_, estimator=model, sample_weight=w)
    np.testing.assert_allclose(value, model.objective_)
    labels = np.arange(len(X)) % 3
    rate, prior = model.covariance_penalty, model.covariance_prior_
    expected = 0.0
    for c in range(3):
        own, weights = X[labels == c], w[labels == c]
        gaps = own - np.average(own, axis=0, weights=weights)
        scatter = (weights[:, np.newaxis] * gaps).T @ gaps
        if prior.ndim == 1:
            scatter, whole = np.diag(np.diag(scatter)), np.diag(prior)
        else:
            whole = prior
        ratio = np.linalg.slogdet(scatter + whole)[1] - np.linalg.slogdet(whole)[1]
        expected += rate * ratio + 4.0
    value = objective(X, labels, estimator=model, sample_weight=w)
    np.testing.assert_allclose(value, expected)


def assignments(model, counts):
    """The topic of each stored count at the end of a fit, -1 for the background."""
    fitted = model._model
    with Pool(1) as pool:
        documents = make_documents(fitted.weights.weigh(counts), fitted.penalty, pool)
        topics = Topics(fitted.topics.costs, fitted.topics.n_free)
        sets = documents.choose(topics, no_topics(counts.shape[0]))
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    costs = topics.costs[counts.indices]
    allowed = np.zeros(costs.shape, bool)
    allowed[:, : topics.n_free] = True
    for d, (own, size) in enumerate(zip(sets.topics, sets.sizes, strict=True)):
        allowed[np.ix_(rows == d, own[:size])] = True
    return np.where(allowed, costs, np.inf).argmin(axis=1) - topics.n_free


@pytest.mark.parametrize("background", [False, True])
def test_topics_of_a_model(background):
    counts = sparse.csr_array(make_bars(60, random_state=0)[0])
    counts.sort_indices()
    model = HDPTopics(2.0, 20.0, background=background, random_state=0)
    quiet_fit(model, counts)
    value = objective(counts, assignments(model, counts), estimator=model)
    # Documents choose once more at the topics of the end, which a converged fit does not lower.
    np.testing.assert_allclose(value, model.objective_, rtol=1e-6)


def test_any_topics_are_measured_as_written_out():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (6, 5))
    stored = sparse.csr_array(counts)
    model = HDPTopics(0.7, 2.0, weighting="counts", prior_weight=3.0, background=False)
    quiet_fit(model, stored)
    labels = rng.integers(0, 4, stored.nnz)
    ends = stored.indptr
    entries = [np.arange(*ends[d : d + 2]) for d in range(6)]
    words = [np.repeat(labels[own], stored.data[own]) for own in entries]
    prior = 3.0 * counts.sum(axis=0) / counts.sum()
    expected = literal_topic_objective(counts, words, np.full(6, 0.7), 2.0, prior)
    np.testing.assert_allclose(objective(stored, labels, estimator=model), expected)
    w = np.array([2.0, 1.0, 0.0, 1.0, 3.0, 1.0])
    quiet_fit(model, stored, w)
    ids = np.repeat(np.arange(6), w.astype(int))
    weighted = objective(stored, labels, estimator=model, sample_weight=w)
    repeated = objective(
        stored[ids], labels[np.concatenate([entries[d] for d in ids])], estimator=model
    )
    np.testing.assert_allclose(weighted, repeated)


def test_what_is_wrong_is_said():
    gaussian = GaussianDPMeans(2.0).fit(X)
    with pytest.raises(ValueError, match="'cluster_penalty' parameter of objective must be a num"):
        objective(X, gaussian.labels_)
    with pytest.raises(ValueError, match="'cluster_penalty' parameter of objective must be None"):
        objective(X, gaussian.labels_, 2.0, estimator=gaussian)
    with pytest.raises(TypeError, match=r"fitted GaussianDPMeans, BPMeans.* Got DPMeans instead"):
        objective(X, gaussian.labels_, estimator=DPMeans(1.0))
    with pytest.raises(ValueError, match=r"memberships of shape \(90, k\)"):
        objective(X, np.full((90, 2), 3), 1.0)
    counts = sparse.csr_array(np.ones((4, 3)))
    topics = HDPTopics(0.1, 0.1, background=False)
    quiet_fit(topics, counts)
    with pytest.raises(ValueError, match="one for each of the 12 stored counts"):
        objective(counts, np.zeros(4, int), estimator=topics)
    with pytest.raises(ValueError, match="-1 is the background, which this model has not"):
        objective(counts, np.full(12, -1), estimator=topics)
