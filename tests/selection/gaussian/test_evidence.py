"""Likelihoods of partitions."""

import numpy as np
import pytest

from hardbayes.selection.gaussian.clusters import clusters_of
from hardbayes.selection.gaussian.evidence import (
    PRIOR_ROWS,
    MarginalLikelihood,
    gain_of_two,
    likeliest_prior,
)
from tests.selection.gaussian.samples import SQUARE, blobs, sampled

MATRIX, TRUE = blobs(SQUARE)


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def rows(request):
    with sampled(MATRIX, diagonal=request.param) as sample:
        yield sample.rows, TRUE[sample.ids]


def test_the_true_partition_is_likelier_than_its_neighbours(rows):
    rows, true = rows
    values = {}
    for name, labels in {
        "true": true,
        "two merged": np.minimum(true, 2),
        "one divided": np.where((true == 0) & (np.arange(rows.n) % 2 == 0), 4, true),
        "one": 0 * true,
    }.items():
        values[name] = likeliest_prior(rows, clusters_of(rows, labels, labels.max() + 1))[1]
    assert max(values, key=values.get) == "true"


def test_the_likeliest_of_all_priors(rows):
    rows, true = rows
    clusters = clusters_of(rows, true, 4)
    each = {n: MarginalLikelihood(rows, clusters, n).of_partition(clusters) for n in PRIOR_ROWS}
    prior, value = likeliest_prior(rows, clusters)
    assert value == max(each.values()) and each[prior.prior_rows] == value
    whole = prior.of_each(clusters).sum() + prior.of_shares(4)
    np.testing.assert_allclose(value, whole)
    assert prior.pooled_rows >= rows.least_rows


def test_two_clusters_are_likelier_apart_and_halves_of_one_are_not(rows):
    rows, true = rows
    halves = np.where(true == 0, np.arange(rows.n) % 2, true + 1)
    clusters = clusters_of(rows, halves, 5)
    gains = gain_of_two(rows, clusters, np.array([0, 2]), np.array([1, 3]), (2.0, 32.0))
    assert gains[0] < 0 < gains[1]
