"""Geweke's joint test: draws of the prior against sweeps between which rows are drawn anew."""

from itertools import product

import numpy as np
import pytest

from hardbayes.samplers.chains import Chain, streams
from hardbayes.samplers.families import FAMILIES, Posed, rows_of
from tests.samplers.test_features import z_scores

N = 8
N_PRIOR = 8_000
N_SWEEPS = 16_000
MEAN = {"multinomial": [0.5, 0.5], "poisson": [2.0], "bernoulli": [0.4, 0.6]}
PRIORS = {
    "gaussian": [[2.0, 2.0], [4.0, 3.0], [4.0, 3.0]],
    "multinomial": [[2.0, 2.0], [0.0, 0.0], [2.0, 1.0]],
    "poisson": [[2.0, 2.0], [0.0, 0.0], [2.0, 1.0]],
    "bernoulli": [[2.0, 2.0], [0.0, 0.0], [2.0, 1.0]],
}


def parameters_of(family, k, numbers, rng):
    """Parameters of k clusters, drawn from the prior."""
    spread = numbers[2]
    mean = np.array(MEAN.get(family, [1.0]))
    if family == "gaussian":
        return rng.normal(0.0, np.sqrt(spread), (k, 1))
    if family == "multinomial":
        return rng.dirichlet(np.maximum(spread * mean, 1e-9), k)
    if family == "poisson":
        return rng.gamma(spread, mean / spread, (k, 1))
    return rng.beta(spread * mean, spread * (1 - mean), (k, 2))


def rows_given(family, labels, parameters, numbers, rng):
    own = parameters[labels]
    if family == "gaussian":
        return own + rng.normal(0.0, np.sqrt(numbers[1]), own.shape)
    if family == "multinomial":
        ones = rng.binomial(3, np.clip(own[:, 0], 0.0, 1.0))
        return np.stack([ones, 3 - ones], axis=1).astype(float)
    if family == "poisson":
        return rng.poisson(own).astype(float)
    return (rng.random(own.shape) < own).astype(float)


def functions(labels, numbers, X):
    k = len(set(labels.tolist()))
    together = float((labels[:, np.newaxis] == labels).sum())
    alpha, noise, spread = numbers
    first = float(labels[0] == labels[1])
    return (
        k,
        k * k,
        alpha,
        np.log(noise),
        np.log(spread),
        together,
        first,
        (X**2).sum() ** 0.5,
        X.var(),
    )


def draw_from_prior(family, rng):
    priors = PRIORS[family]
    alpha = rng.gamma(priors[0][0], 1 / priors[0][1])
    noise, spread = 1.0, rng.gamma(priors[2][0], 1 / priors[2][1])
    if family == "gaussian":
        noise, spread = 3.0 / rng.gamma(4.0, size=2)
    labels = np.zeros(N, int)
    for i in range(1, N):
        weights = np.append(np.bincount(labels[:i]), alpha)
        labels[i] = rng.choice(len(weights), p=weights / weights.sum())
    numbers = (alpha, noise, spread)
    parameters = parameters_of(family, labels.max() + 1, numbers, rng)
    return labels, numbers, rows_given(family, labels, parameters, numbers, rng)


def posed_for(family, X, means):
    """Rows of which every entry is stored, so that they can be overwritten; and the model."""
    mean = np.array(MEAN.get(family, [1.0]))
    rows = rows_of(X + (family != "gaussian"), family == "gaussian", np.zeros(1))
    rows.values[:] = X.ravel() if family != "gaussian" else []
    rows.mass[:] = X.sum(axis=1) if family != "gaussian" else []
    base = {
        "gaussian": np.zeros((2, 1)),
        "multinomial": np.array([mean, 0 * mean]),
        "poisson": np.array([np.ones_like(mean), 1 / mean]),
        "bernoulli": np.array([mean, 1 - mean]),
    }[family]

    def first_numbers(_):
        return np.array([0.0, 1.0, 1.0, 0.0])

    number = FAMILIES.index(family)
    return Posed(number, rows, means, base, np.array(PRIORS[family]), X.shape[1], first_numbers)


@pytest.mark.parametrize(("family", "means"), product(PRIORS, (False, True)))
def test_sweeps_leave_the_joint_distribution_as_it_is(family, means):
    rng = np.random.default_rng(5)
    prior = np.array([functions(*draw_from_prior(family, rng)) for _ in range(N_PRIOR)])
    labels, _, X = draw_from_prior(family, rng)
    posed = posed_for(family, X, means)
    stream = streams(np.random.RandomState(1), 1)[0]
    chain = Chain(posed, labels, stream, N_SWEEPS, split_merge=True)
    successive = []
    for _ in range(N_SWEEPS):
        for _ in chain.sweeps(1):
            pass
        numbers = (np.exp(chain.numbers[0]), chain.numbers[1], chain.numbers[2])
        slots, own = np.unique(chain.labels, return_inverse=True)
        if means:
            parameters = drawn_parameters(family, chain.clusters, slots)
        else:
            parameters = parameters_of(family, len(slots), numbers, rng)
        X = rows_given(family, own, parameters, numbers, rng)
        if family == "gaussian":
            posed.rows.dense[:] = X
        else:
            posed.rows.values[:] = X.ravel()
            posed.rows.mass[:] = X.sum(axis=1)
        successive.append(functions(own, numbers, X))
    changing = prior.std(axis=0) > 0
    scores = z_scores(prior[:, changing], np.array(successive)[:, changing])
    assert np.abs(scores).max() < 4, scores


def drawn_parameters(family, clusters, slots):
    theta = clusters.theta[slots]
    if family == "gaussian":
        return theta
    return 1 / (1 + np.exp(-theta)) if family == "bernoulli" else np.exp(theta)
