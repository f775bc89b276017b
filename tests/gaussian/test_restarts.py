"""Starts of fits with covariances, and samples of rows."""

from dataclasses import replace

import numpy as np
import pytest

from hardbayes.core.centre_free import unlabelled
from hardbayes.core.centre_free_descent import Descent
from hardbayes.core.loop import Status, say_nothing
from hardbayes.core.pool import Pool
from hardbayes.gaussian import search as restarts
from hardbayes.gaussian.clusters import GaussianRows
from hardbayes.gaussian.problem import GaussianPartition, at_points
from hardbayes.gaussian.search import (
    Options,
    descend,
    grow,
    minimise,
    one_cluster,
    sample_rows,
    sampled,
)

PARTITION = GaussianPartition(1.5, 1.0, 99)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [3.0, 3.0]], 25, axis=0)
    with Pool(1) as pool:
        matrix = centres + 0.1 * rng.normal(size=(100, 2))
        yield GaussianRows(matrix, np.ones(100), False, pool, PARTITION)


def options(**changes):
    given = Options(
        penalty=None, prior=None, centres=None, rate=1.0, diagonal=False, max_clusters=99,
        search="split-merge", order="given", n_init=1, max_steps=300,
    )  # fmt: skip
    return given._replace(**changes)


def test_samples_have_weight_and_weigh_as_much_as_all(rows, monkeypatch):
    rows.weights[:50] = 0.0
    rng = np.random.RandomState(0)
    np.testing.assert_array_equal(sample_rows(rows.weights, rng), np.arange(50, 100))
    monkeypatch.setattr(restarts, "MAX_SAMPLE", 20)
    ids = sample_rows(rows.weights, rng)
    assert len(set(ids)) == 20 and ids.min() >= 50 and (np.diff(ids) > 0).all()
    np.testing.assert_allclose(sampled(rows, ids).weights.sum(), rows.weights.sum())


def test_a_fit_ends_with_every_row_at_its_nearest(rows):
    start = at_points(rows.rows[[0, 30, 60, 90]], False)
    end = descend(rows, start, "split-merge", 300, np.random.RandomState(0))
    assert end.status is Status.CONVERGED and end.statistics.k == 4
    labels, distances = rows.assign(end.statistics)
    np.testing.assert_array_equal(end.labels, labels)
    np.testing.assert_allclose(end.fit, distances.sum())
    np.testing.assert_allclose(end.objective, PARTITION.objective(end.statistics), rtol=1e-9)


def test_a_fit_out_of_steps_costs_no_more_than_its_last_step(rows):
    start = at_points(rows.rows[[0, 1, 60, 90]], False)
    end = descend(rows, start, "paper", 1, np.random.RandomState(0))
    assert end.status is Status.OUT_OF_STEPS and len(end.history) == 1
    np.testing.assert_array_equal(end.labels, rows.assign(end.statistics)[0])


def test_clusters_of_a_lower_penalty_are_a_better_start(rows):
    """Four clusters are best here and two are worse than one: no single split pays."""
    rng = np.random.RandomState(0)
    stuck = Descent(unlabelled(rows, one_cluster(rows)), rng, exchanges=0).run("split-merge", 300)
    end = grow(rows, 300, rng)
    assert stuck.statistics.k == 1 and end.statistics.k == 4
    assert end.objective < stuck.objective


def test_the_best_of_several_starts(rows):
    ends = [
        minimise(
            rows, at_points(rows.rows[[0, 1]], False),
            options(n_init=n_init, search="paper"), np.random.RandomState(0), say_nothing,
        ).objective
        for n_init in (1, 8)
    ]  # fmt: skip
    assert ends[1] < ends[0]


@pytest.mark.parametrize("search", ["split-merge", "paper"])
def test_the_cap_is_told(rows, search):
    rows = replace(rows, partition=GaussianPartition(0.01, 1.0, 2))
    end = minimise(
        rows, one_cluster(rows), options(search=search), np.random.RandomState(0),
        say_nothing,
    )  # fmt: skip
    assert end.statistics.k == 2 and end.status is Status.CAPPED


def test_many_rows_start_from_a_sample(rows, monkeypatch):
    monkeypatch.setattr(restarts, "MAX_SAMPLE", 40)
    for start in (one_cluster(rows), at_points(rows.rows[[0, 1, 2]], False)):
        rng = np.random.RandomState(0)
        end = minimise(rows, start, options(), rng, say_nothing)
        assert end.statistics.k == 4 and len(end.labels) == 100
