"""Centres where costs are squared distances: means of their members, scores when needed."""

import numpy as np
import pytest

from hardbayes.core.pool import Pool
from hardbayes.dp_means.totals import potential
from tests.dp_means.table_cases import new_table, random_centres, theta_of, totals_at

WEIGHTS = np.random.default_rng(5).uniform(0.5, 4.0, 30)


def assert_at(table, centres):
    view = table.view()
    np.testing.assert_array_equal(view.exact[table.slots], centres)
    np.testing.assert_allclose(view.exact_offset[table.slots], (centres**2).sum(axis=1))
    np.testing.assert_array_equal(
        theta_of(table, view)[table.slots], (2 * centres).astype(table.layout.dtype)
    )
    norms = 2 * np.linalg.norm(centres, axis=1)
    np.testing.assert_allclose(table.theta_norm[table.slots], norms)
    assert view.theta_bound == pytest.approx(norms.max())
    assert view.offset_bound == pytest.approx((centres**2).sum(axis=1).max())


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
def test_a_refit_moves_centres_to_the_means(prior_weight, dtype, sparse, lazy):
    options = dict(dtype=dtype, sparse=sparse, prior_weight=prior_weight, lazy=lazy)
    table = new_table(random_centres(30, 3), **options)
    table.close(table.slots[[4, 7]])
    totals = totals_at(table, random_centres(28, 3, seed=1), WEIGHTS[:28])
    partition = table._partition
    expected = partition.centres(totals.weights(table.slots), totals.sums(table.slots))
    value = table.refit(totals)
    assert value == potential(totals, table.slots, prior_weight, partition.prior_mean)
    terms = (WEIGHTS[:28] + prior_weight) * (expected**2).sum(axis=1)
    terms -= prior_weight * (partition.prior_mean**2).sum()
    assert value[0] == pytest.approx(terms.sum())
    assert_at(table, expected)


def test_clusters_whose_members_have_not_changed_stay():
    """Their share of the potential is remembered."""
    table = new_table(random_centres(20, 3))
    means = random_centres(20, 3, seed=1)
    totals = totals_at(table, means, np.ones(20))
    table.refit(totals)
    table.take_drift()
    assert not totals.touched[table.slots].any()
    before = potential(totals, table.slots, 0.0, np.zeros(3))
    misled = totals._replace(coarse=totals.coarse + 1.0)
    assert table.refit(misled) == before
    assert_at(table, means)
    assert not table.take_drift().distance.any()
    misled.touched[table.slots[3]] = True
    table.refit(misled)
    moved = means.copy()
    moved[3] += 1.0
    assert_at(table, moved)
    drift = table.take_drift().distance
    assert drift[table.slots[3]] == pytest.approx(np.sqrt(3)) and np.count_nonzero(drift) == 1


def test_a_refit_after_births_and_growth_remembers_the_potentials():
    table = new_table(random_centres(20, 3))
    table.refit(totals_at(table, random_centres(20, 3), np.ones(20)))
    table.open(random_centres(200, 3, seed=2))
    means = np.vstack([random_centres(20, 3), random_centres(200, 3, seed=2)])
    totals = totals_at(table, means, np.ones(220))
    totals.touched[table.slots[:20]] = False
    assert table.refit(totals) == potential(totals, table.slots, 0.0, np.zeros(3))


def test_scores_are_laid_out_for_the_first_view():
    centres = random_centres(20, 3)
    table = new_table(centres, lazy=True)
    assert not table.offset.size
    direct = table.direct()
    np.testing.assert_array_equal(direct.exact[table.slots], centres)
    assert not table._has_scores and len(direct.rank) == table.n_slots
    table.refit(totals_at(table, random_centres(20, 3, seed=1), np.ones(20)))
    assert not table._has_scores
    assert_at(table, random_centres(20, 3, seed=1))
    assert table._has_scores
    assert not table.take_drift().distance.any()  # nothing has been scored before
    table.refit(totals_at(table, centres, np.ones(20)))
    assert (table.take_drift().distance[table.slots] > 0).all()


def test_sparse_rows_read_offsets_also_directly():
    centres = random_centres(20, 3)
    table = new_table(centres, sparse=True, lazy=True)
    found = table.direct().exact_offset[table.slots]
    np.testing.assert_allclose(found, (centres**2).sum(axis=1))


def test_the_direct_view_is_the_view_where_scores_are_laid_out():
    table = new_table(random_centres(20, 3))
    for found, expected in zip(table.direct(), table.view(), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("prior_weight", [0.0, 1.0])
def test_threads_refit_the_same(prior_weight, monkeypatch):
    monkeypatch.setattr("hardbayes.dp_means.centres.CHUNK_BYTES", 1)
    with Pool(3) as pool:
        options = [dict(prior_weight=prior_weight, pool=pool) for pool in (Pool(1), pool)]
        tables = [new_table(random_centres(100, 5), **option) for option in options]
        totals = [totals_at(t, random_centres(100, 5, seed=1), np.ones(100)) for t in tables]
        values = [t.refit(total) for t, total in zip(tables, totals, strict=True)]
    assert values[0] == values[1]
    np.testing.assert_array_equal(tables[0].exact, tables[1].exact)
    np.testing.assert_array_equal(*(t.take_drift().distance for t in tables))
