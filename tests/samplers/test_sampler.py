"""Samplers as estimators: conventions, summaries, the prior, the limit, and `certainty`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardbayes import DPMeans, GaussianDPMeans, certainty, objective
from hardbayes.samplers import DPGaussianGibbs, DPMixtureGibbs, IBPGibbs
from hardbayes.samplers.chains import Chain, streams
from hardbayes.samplers.diagnostics import effective_draws, split_r_hat
from hardbayes.samplers.families import pose
from hardbayes.samplers.partitions import canonical, variations_of

QUICK = dict(n_sweeps=60, n_burn_in=20, random_state=0)
BLOBS = np.repeat(np.eye(3) * 8.0, 15, axis=0) + np.random.default_rng(0).normal(size=(45, 3))


@pytest.mark.parametrize("algorithm", ["collapsed", "means"])
def test_same_bits_for_any_number_of_threads(algorithm):
    one, two = (DPGaussianGibbs(algorithm=algorithm, n_jobs=j, **QUICK).fit(BLOBS) for j in (1, 2))
    np.testing.assert_array_equal(one.draws_, two.draws_)
    np.testing.assert_array_equal(one.noise_variance_draws_, two.noise_variance_draws_)


SHORT = dict(n_sweeps=8, n_burn_in=2, n_chains=2, start="one", n_jobs=1)


@parametrize_with_checks([DPGaussianGibbs(**SHORT), IBPGibbs(**SHORT)])
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_what_a_fit_holds():
    sampler = clone(DPGaussianGibbs(**QUICK)).fit(BLOBS)
    assert sampler.draws_.shape == (4, 60, 45) and sampler.draws_.dtype == np.int16
    assert sampler.concentration_draws_.shape == (4, 60)
    assert sum(sampler.n_clusters_posterior_.values()) == pytest.approx(1)
    assert sampler.n_clusters_ == 3
    np.testing.assert_array_equal(sampler.labels_, np.repeat([0, 1, 2], 15))
    assert sampler.certainty_.min() > 0.8
    shares = sampler.coclustering([0, 1, 20])
    assert shares[0, 1] > 0.8 > 0.2 > shares[0, 2] and (np.diag(shares) == 1).all()
    ball = sampler.credible_ball(0.9)
    distances = variations_of(sampler.labels_[np.newaxis], sampler.draws_.reshape(-1, 45))
    assert (distances <= ball.radius).mean() >= 0.9
    assert ball.upper.max() <= ball.lower.max()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (dict(concentration=-1.0), "concentration"),
        (dict(concentration=(1.0, -1.0)), "concentration"),
        (dict(start="soft"), "start"),
        (dict(start=[0, 1]), "start"),
        (dict(algorithm="slice"), "algorithm"),
        (dict(n_sweeps=0), "n_sweeps"),
    ],
)
def test_errors_name_the_parameter(parameters, words):
    with pytest.raises(ValueError, match=words):
        DPGaussianGibbs(**parameters).fit(BLOBS)


def test_counts_must_be_whole_numbers():
    with pytest.raises(ValueError, match="whole numbers"):
        DPMixtureGibbs("poisson").fit([[0.5, 1.0], [1.0, 2.0]])


def test_draws_of_the_prior_have_its_expected_number_of_clusters():
    alpha, n = 1.7, 30
    sampler = DPGaussianGibbs(
        alpha, noise_variance=1e9, mean_variance=1e-6, start="one", n_chains=2, n_sweeps=8000,
        n_burn_in=100, random_state=0,
    )  # fmt: skip
    drawn = sampler.fit(np.random.default_rng(0).normal(size=(n, 1))).n_clusters_draws_
    assert drawn.mean() == pytest.approx(sum(alpha / (alpha + i) for i in range(n)), rel=0.03)


def test_many_clusters_need_more_places():
    X = np.arange(200.0)[:, np.newaxis] * 100
    fixed = dict(noise_variance=1e-3, mean_variance=1e6, start="one", **QUICK)
    sampler = DPGaussianGibbs(1e3, **fixed).fit(X)
    assert sampler.n_clusters_ == 200


def limit_chain(X, labels, sigma, penalty, rho, means, n_sweeps):
    """A chain with the alpha of Kulis & Jordan, of which only the logarithm is a number."""
    parameters = dict(concentration=1.0, noise_variance=sigma, mean_variance=rho, mean="auto")
    posed = pose(X, "gaussian", means, parameters, labels)
    stream = streams(np.random.RandomState(0), 1)[0]
    chain = Chain(posed, labels, stream, n_sweeps, split_merge=False)
    chain.numbers[0] = 0.5 * X.shape[1] * np.log1p(rho / sigma) - penalty / (2 * sigma)
    return chain


def sweep_of_algorithm_1(X, penalty):
    """The labels after one pass of Kulis & Jordan's Algorithm 1, from one cluster at the mean."""
    centres, labels = [X.mean(axis=0)], []
    for x in X:
        costs = ((np.array(centres) - x) ** 2).sum(axis=1)
        if costs.min() > penalty:
            centres.append(x)
            labels.append(len(centres) - 1)
        else:
            labels.append(int(np.argmin(costs)))
    return np.array(labels)


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_one_sweep_at_a_small_variance_is_one_of_algorithm_1(spread):
    for seed in range(100):
        X = np.random.default_rng(seed).normal(size=(40, 2)) * 3
        X -= X.mean(axis=0)
        chain = limit_chain(X, np.zeros(40, int), 1e-9, 9.0, spread, True, 1)
        for _ in chain.sweeps(1):
            pass
        expected = sweep_of_algorithm_1(X, 9.0)
        np.testing.assert_array_equal(canonical(chain.labels), canonical(expected))


def test_posterior_tends_to_the_objective():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X -= X.mean(axis=0)
    labels = rng.integers(0, 3, 30)
    for sigma in (1e-3, 1e-5, 1e-7):
        chain = limit_chain(X, labels, sigma, 0.7, 1.0, False, 1)
        for _ in chain.sweeps(1):  # the labels of the draw are those that are compared
            pass
        # The first cluster of a restaurant is free: one penalty less than Kulis & Jordan's count.
        found = -2 * sigma * chain.record[0, 1] + 0.7
        gap = abs(found - objective(X, chain.labels, 0.7))
        assert gap < 100 * sigma * np.log(1 / sigma)  # n d = 60 terms of a density, and k of alpha


def test_diagnostics():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4, 500))
    assert split_r_hat(draws) == pytest.approx(1, abs=0.02)
    assert 1000 < effective_draws(draws) < 8000
    assert split_r_hat(draws + np.arange(4)[:, np.newaxis]) > 1.3
    walk = rng.normal(size=(4, 500)).cumsum(axis=1)
    assert effective_draws(walk) < 100
    assert split_r_hat(np.ones((2, 10))) == 1.0


@pytest.mark.parametrize("model", [DPMeans(random_state=0), GaussianDPMeans(random_state=0)])
def test_certainty_of_a_fitted_model(model):
    model.fit(BLOBS)
    found = certainty(model, BLOBS, n_sweeps=100)
    assert max(found.n_clusters_posterior, key=found.n_clusters_posterior.get) == 3
    assert found.certainty.shape == (45,) and found.certainty.mean() > 0.9
    assert "alpha" in str(found)


@pytest.mark.parametrize("divergence", ["kl", "poisson"])
def test_certainty_of_counts(divergence):
    counts = np.random.default_rng(0).poisson(np.repeat([[20, 1, 5], [1, 20, 5]], 20, axis=0))
    model = DPMeans(5.0, divergence=divergence, random_state=0).fit(counts)
    found = certainty(model, counts, n_sweeps=100)
    assert found.certainty.mean() > 0.9


def test_certainty_says_what_it_takes():
    model = DPMeans(5.0, divergence="cosine").fit(np.abs(BLOBS))
    with pytest.raises(ValueError, match="squared_euclidean"):
        certainty(model, np.abs(BLOBS))
    with pytest.raises(TypeError, match="DPMeans"):
        certainty(IBPGibbs(), BLOBS)
    with pytest.raises(ValueError, match="45"):
        certainty(DPMeans(5.0).fit(BLOBS), BLOBS[:10])
