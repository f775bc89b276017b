from dataclasses import replace

import numpy as np
import pytest

from hardbayes.topics.problem import NEVER, SharedTopics
from tests.topics.estimator_cases import random_counts, structure_of

COUNTS = random_counts(0)


def totals_of(labels, k):
    return np.stack([COUNTS[labels == c].sum(axis=0) for c in range(k)], axis=1)


def test_costs_are_minus_logarithms_of_shares_with_the_prior():
    structure, totals = structure_of(COUNTS), totals_of(np.arange(12) % 3, 3)
    amounts = totals + structure.prior[:, np.newaxis]
    np.testing.assert_allclose(structure.costs(totals), -np.log(amounts / amounts.sum(axis=0)))


def test_without_a_prior_missing_words_cost_never():
    structure = SharedTopics(np.zeros(2), 1.0, False)
    costs = structure.costs(np.array([[2.0, 0.0], [2.0, 3.0]]))
    np.testing.assert_allclose(costs, [[np.log(2), NEVER], [np.log(2), 0.0]])


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
def test_a_topic_costs_its_words_at_its_shares_and_the_divergence_of_its_prior(prior_weight):
    structure, totals = structure_of(COUNTS, prior_weight), totals_of(np.arange(12) % 3, 3)
    costs = structure.costs(totals)
    words = (totals * np.where(totals > 0, costs, 0.0)).sum(axis=0)
    shares = structure.prior / max(structure.prior.sum(), 1e-300)
    prior = np.zeros(3)
    if prior_weight:
        prior = (structure.prior[:, np.newaxis] * (np.log(shares)[:, np.newaxis] + costs)).sum(
            axis=0
        )
    np.testing.assert_allclose(structure.topic_costs(totals), words + prior)


def test_the_objective_adds_both_penalties_and_the_background():
    totals, sizes = totals_of(np.arange(12) % 3, 3), np.arange(12) % 2 + 1
    penalties = np.linspace(1, 2, 12)
    plain = structure_of(COUNTS)
    with_background = replace(plain, has_background=True, background_share=0.5)

    fit = plain.topic_costs(totals).sum()
    local = (penalties * sizes).sum()
    np.testing.assert_allclose(plain.objective(totals, penalties, sizes), fit + local + 3 * 3.0)
    expected = fit + local + 0.5 * penalties.sum() + 2 * 3.0
    np.testing.assert_allclose(with_background.objective(totals, penalties, sizes), expected)
