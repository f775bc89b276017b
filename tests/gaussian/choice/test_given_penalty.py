"""Priors for a given penalty."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes.gaussian.choice.prior import choose_prior
from tests.gaussian.choice.samples import SQUARE, blobs, sampled
from tests.gaussian.test_restarts import options

MATRIX, TRUE = blobs(SQUARE)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(("penalty", "most"), [(0.0, 4), (0.3, 64)])
def test_the_prior_leads_to_the_clusters(diagonal, penalty, most):
    with sampled(MATRIX, diagonal=diagonal) as sample:
        given = options(diagonal=diagonal, max_clusters=most)
        prior, labels = choose_prior(sample.rows, penalty, given)
        assert prior.shape == (1 if diagonal else 2, 2)
        assert adjusted_rand_score(TRUE[sample.ids], labels) > 0.98


def test_a_high_penalty_leaves_one_cluster():
    with sampled(MATRIX) as sample:
        labels = choose_prior(sample.rows, 50.0, options())[1]
        assert not labels.any()


def test_more_clusters_at_a_lower_penalty():
    with sampled(MATRIX) as sample:
        numbers = [len(np.unique(choose_prior(sample.rows, p, options())[1])) for p in (1.0, 0.01)]
        assert numbers[0] < numbers[1]
