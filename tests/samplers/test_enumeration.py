"""Draws against the posterior of all 203 partitions of six rows."""

from itertools import product

import numpy as np
import pytest

from hardbayes.samplers import DPMixtureGibbs
from hardbayes.samplers.chains import Chain, streams
from hardbayes.samplers.families import pose
from tests.samplers.exact import distance, log_marginal, log_wishart, posterior

ROWS = {
    "gaussian": np.array(
        [[0.0, 0.2], [0.4, -0.5], [1.0, 1.3], [2.1, 1.5], [2.5, 2.6], [-0.9, 0.4]]
    ),
    "multinomial": np.array([[3, 0, 1], [2, 1, 0], [0, 12, 1], [1, 2, 2], [0, 0, 4], [1, 1, 1]]),
    "poisson": np.array([[3, 0], [2, 1], [0, 6], [1, 2], [0, 12], [4, 1]]),
    "bernoulli": np.array(
        [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    ),
}
FIXED = {
    "gaussian": dict(noise_variance=0.6, mean_variance=1.5, mean=[0.3, 0.5]),
    "multinomial": dict(prior_strength=2.0, mean=[0.5, 0.2, 0.3]),
    "poisson": dict(prior_strength=1.3, mean=[1.5, 2.5]),
    "bernoulli": dict(prior_strength=0.8, mean=[0.4, 0.5, 0.6, 0.5]),
}
LITERAL = {"noise_variance": "sigma", "mean_variance": "rho", "prior_strength": "strength"}
STARTS = ("hard", "one", "random", [0, 1, 2, 3, 4, 5])
N_DRAWS = 60_000
EXACT = {}


def exact(family):
    if family not in EXACT:
        given = {LITERAL.get(name, name): value for name, value in FIXED[family].items()}
        given["mean"] = np.array(given["mean"])
        EXACT[family] = posterior(
            lambda part: log_marginal(family, part, **given), ROWS[family].astype(float), 1.2
        )
    return EXACT[family]


@pytest.mark.parametrize(
    ("family", "algorithm", "split_merge", "start"),
    product(ROWS, ("collapsed", "means"), (False, True), STARTS),
)
def test_draws_have_the_exact_distribution(family, algorithm, split_merge, start):
    sampler = DPMixtureGibbs(
        family, 1.2, algorithm=algorithm, split_merge=split_merge, start=start, random_state=0,
        n_chains=2, n_sweeps=N_DRAWS // 2, n_burn_in=20, n_jobs=1, **FIXED[family],
    )  # fmt: skip
    draws = sampler.fit(ROWS[family]).draws_.reshape(-1, 6)
    assert distance(draws, *exact(family)) < 0.02


@pytest.mark.parametrize("split_merge", [False, True])
def test_covariances_are_integrated_out(split_merge):
    X = ROWS["gaussian"]
    parameters = dict(concentration=1.2, mean="auto")
    posed = pose(X, "full-gaussian", False, parameters, np.array([0, 0, 0, 1, 1, 0]))
    chain = Chain(
        posed, np.zeros(6, int), streams(np.random.RandomState(0), 1)[0], 100_000, split_merge
    )
    draws = np.concatenate([drawn.copy() for _, drawn in chain.sweeps(100_000)])
    psi = np.zeros((2, 2))
    psi[np.tril_indices(2)] = posed.base[0, 2:]
    psi = psi + np.tril(psi, -1).T
    kappa = chain.numbers[2]
    found = posterior(lambda part: log_wishart(part, psi, kappa, 4.0, X.mean(axis=0)), X, 1.2)
    assert distance(draws, *found) < 0.02
