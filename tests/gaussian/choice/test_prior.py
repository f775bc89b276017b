"""Priors and penalties that keep a partition."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes.gaussian.choice.path import find_path
from hardbayes.gaussian.choice.prior import FACTORS, Keeper, Kept, candidate_priors
from tests.gaussian.choice.samples import SQUARE, blobs, sampled

MATRIX, TRUE = blobs(SQUARE)


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def rows(request):
    with sampled(MATRIX, diagonal=request.param) as sample:
        yield sample.rows, TRUE[sample.ids], find_path(sample.rows)


def objective(rows, labels, prior, penalty):
    clusters = rows.statistics(labels, int(labels.max()) + 1)
    total = 0.0
    for scatter in clusters.scatters:
        if rows.diagonal:
            total += np.log1p(scatter[0] / prior[0]).sum()
        else:
            total += np.linalg.slogdet(np.eye(rows.d) + np.linalg.solve(prior, scatter))[1]
    return total + penalty * clusters.k


def test_within_its_penalties_no_other_partition_is_better(rows):
    rows, true, path = rows
    kept = Keeper(rows, path, 100).keep(path[4].labels, 4)
    assert kept.k == 4 and not kept.is_capped and kept.loss < 0.01
    assert adjusted_rand_score(true, kept.labels) > 0.98
    assert 0 < kept.low < kept.penalty < kept.high < np.inf
    for penalty in (1.001 * kept.low, kept.penalty, 0.999 * kept.high):
        best = objective(rows, kept.labels, kept.prior, penalty)
        for step in path.values():
            assert best <= objective(rows, step.labels, kept.prior, penalty) + 1e-9


def test_one_cluster_is_always_kept(rows):
    rows, _, path = rows
    kept = Keeper(rows, path, 1).keep(path[1].labels, 1)
    assert kept.k == 1 and kept.high == np.inf and kept.penalty == 2 * kept.low > 0


def test_candidates_are_multiples_of_the_pooled_scatter(rows):
    rows, true, _ = rows
    clusters = rows.statistics(true, 4)
    found = candidate_priors(rows, clusters)
    assert len(found) == len(FACTORS)
    for factor, prior in zip(FACTORS, found, strict=True):
        np.testing.assert_allclose(
            prior / factor, clusters.scatters.sum(axis=0), rtol=1e-2, atol=1e-2 * rows.total
        )


def test_a_given_prior_is_the_only_one(rows):
    rows, _, path = rows
    prior = 30.0 * (np.ones((1, 2)) if rows.diagonal else np.eye(2))
    kept = Keeper(rows, path, 100, prior).keep(path[4].labels, 4)
    np.testing.assert_array_equal(kept.prior, prior)


def test_one_inside_the_other_cannot_be_kept_as_two():
    """Rows go where their Mahalanobis distance is least; more pieces lose less."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2 * np.pi, 400)
    ring = 6.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(400, 2))
    matrix = np.vstack([ring, 0.3 * rng.normal(size=(200, 2))])
    with sampled(matrix) as sample:
        path = find_path(sample.rows)
        inside = (sample.ids >= 400).astype(np.int64)
        keeper = Keeper(sample.rows, path, 100)
        kept = keeper.keep(inside, 2)
        near = keeper.near(inside, 2)
        assert kept.k >= 2 and (near is None or kept.loss <= near.loss)
        assert keeper.near(inside, 2, max_loss=-1.0) is None


def test_penalties_between():
    kept = Kept(3, np.zeros(1, np.int64), np.ones((1, 1)), 1.0, 16.0, False, 0.0)
    assert kept.penalty == 8.0
    assert kept._replace(low=0.0).penalty == 8.0
    assert kept._replace(is_capped=True, low=99.0).penalty == 0.8 * 16.0
    assert kept._replace(high=np.inf).penalty == 2.0
    assert kept._replace(low=0.0, high=np.inf).penalty == 1.0
