"""The tests of the samplers notice the mistakes that are easily made."""

from collections import Counter

import numpy as np
import pytest

from tests.samplers import literal
from tests.samplers.exact import distance, log_marginal, posterior
from tests.samplers.literal import Literal
from tests.samplers.test_features import X as ROWS
from tests.samplers.test_features import classes

X = np.array([[0.0], [0.4], [1.0], [2.1], [2.5], [-0.9]])
N_SWEEPS = 6_000


def distance_of(mistake, split_merge=False):
    sampler = Literal(X, 1.2, 0.6, 1.5, mistake=mistake, split_merge=split_merge)
    draws = np.empty((N_SWEEPS, 6), int)
    for sweep in range(N_SWEEPS):
        sampler.sweep()
        _, first, inverse = np.unique(sampler.z, return_index=True, return_inverse=True)
        draws[sweep] = np.argsort(np.argsort(first))[inverse]
    exact = posterior(lambda part: log_marginal("gaussian", part, 0.6, 1.5), X, 1.2)
    return distance(draws, *exact)


def test_literal_sampler_has_the_exact_distribution():
    assert distance_of(None) < 0.06
    assert distance_of(None, split_merge=True) < 0.06


def test_counting_the_row_itself_is_noticed():
    assert distance_of(literal.OWN_COUNT) > 0.1


def test_a_missing_hastings_ratio_is_noticed():
    assert distance_of(literal.NO_HASTINGS, split_merge=True) > 0.1


@pytest.mark.parametrize(("mistake", "is_right"), [(None, True), (literal.ODDS_WITHOUT_N, False)])
def test_concentration(mistake, is_right):
    """Without information in the rows, alpha has its prior, whatever k."""
    sampler = Literal(np.zeros((6, 1)), 1.0, 1e6, 1e-6, mistake=mistake, prior=(2.0, 2.0))
    drawn = []
    for _ in range(5_000):
        sampler.sweep()
        drawn.append(sampler.alpha)
    assert (abs(np.mean(drawn) - 1.0) < 0.08) == is_right


def buffet(alpha_of, n_sweeps):
    """The buffet to the letter, by columns as numbers; ``alpha_of(n)``: mean of new features."""
    rng = np.random.default_rng(0)
    n, known = len(ROWS), {}

    def likelihood(columns):
        key = tuple(sorted(columns))
        if key not in known:
            Z = np.array([[c >> i & 1 for c in key] for i in range(n)]).reshape(n, len(key))
            C = 0.4 * np.eye(n) + 1.1 * Z @ Z.T
            square = np.trace(ROWS.T @ np.linalg.solve(C, ROWS))
            known[key] = -0.5 * (ROWS.shape[1] * np.linalg.slogdet(C)[1] + square)
        return known[key]

    columns, drawn = [2**n - 1], Counter()
    for _ in range(n_sweeps):
        for i in range(n):
            bit = 1 << i
            alone = [c for c in columns if c == bit]
            others = [c for c in columns if c != bit]
            rng.shuffle(others)
            for k, column in enumerate(others):
                m = (column & ~bit).bit_count()
                on = [*others[:k], column | bit, *others[k + 1 :]]
                off = [*others[:k], column & ~bit, *others[k + 1 :]]
                odds = likelihood(on + alone) - likelihood(off + alone) + np.log(m / (n - m))
                others = [int(c) for c in (on if rng.random() < 1 / (1 + np.exp(-odds)) else off)]
            proposed = [bit] * rng.poisson(alpha_of(n))
            gain = likelihood(others + proposed) - likelihood(others + alone)
            columns = others + (proposed if np.log(rng.random()) < gain else alone)
        drawn[tuple(sorted(columns))] += 1
    exact = classes(ROWS, 0.8, 0.4, 1.1)
    mass = sum(exact.values())
    gaps = (abs(drawn.get(key, 0) / n_sweeps - value / mass) for key, value in exact.items())
    return 0.5 * sum(gaps)


def test_new_features_at_alpha_instead_of_alpha_over_n_are_noticed():
    assert buffet(lambda n: 0.8 / n, 6_000) < 0.09
    assert buffet(lambda n: 0.8, 3_000) > 0.2
