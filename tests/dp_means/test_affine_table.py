"""Centres where costs are affine: by how much they change, at the anchor and elsewhere."""

from fractions import Fraction

import numpy as np
import pytest

from tests.dp_means.table_cases import new_table, random_centres, theta_of, totals_at


def new_poisson(k=20, d=3, anchor=None, **options):
    return new_table(random_centres(k, d), "poisson", anchor=anchor, **options)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
def test_a_refit_moves_centres_to_the_means(prior_weight, sparse):
    table = new_poisson(prior_weight=prior_weight, sparse=sparse)
    weights = np.random.default_rng(1).uniform(0.5, 4.0, 20)
    totals = totals_at(table, random_centres(20, 3, seed=1), weights)
    partition = table._partition
    centres = partition.centres(weights, totals.sums(table.slots))
    assert table.refit(totals) == (partition.potential(weights, centres), 0.0)
    theta, offset = partition.geometry.affine(centres)
    view = table.view()
    np.testing.assert_array_equal(view.exact[table.slots], theta)
    np.testing.assert_array_equal(view.exact_offset[table.slots], offset)
    np.testing.assert_array_equal(theta_of(table, view)[table.slots], theta)


def test_without_an_anchor_only_distances_are_kept():
    table = new_poisson()
    table.refit(totals_at(table, random_centres(20, 3, seed=1), np.ones(20)))
    drift = table.take_drift()
    assert (drift.distance[table.slots] > 0).all()
    assert not drift.most.any() and not drift.least.any()


def cost_at(theta, offset, row):
    """The cost of a row in rational numbers, up to its constant."""
    products = (Fraction(t) * Fraction(x) for t, x in zip(theta, row, strict=True))
    return Fraction(offset) - sum(products)


def test_what_costs_at_the_anchor_have_risen_at_most_and_at_least():
    """And nowhere by more or less than that, give or take the distance times the drift."""
    anchor = np.array([0.9, 1.7, 2.2])
    table = new_poisson(anchor=anchor)
    table.take_drift()
    slots = table.slots
    before = table.exact[slots].copy(), table.exact_offset[slots].copy()
    for seed in (1, 2):  # it adds up
        table.refit(totals_at(table, random_centres(20, 3, seed=seed), np.ones(20)))
    after = table.exact[slots], table.exact_offset[slots]
    drift = table.take_drift()
    for c, slot in enumerate(slots):
        rise = cost_at(after[0][c], after[1][c], anchor) - cost_at(
            before[0][c], before[1][c], anchor
        )
        assert Fraction(drift.least[slot]) <= rise <= Fraction(drift.most[slot])
        assert drift.most[slot] - drift.least[slot] < 1e-12
    rows = np.random.default_rng(0).uniform(0, 5, (50, 3))
    change = (after[1] - rows @ after[0].T) - (before[1] - rows @ before[0].T)
    reach = np.linalg.norm(rows - anchor, axis=1)[:, np.newaxis] * drift.distance[slots]
    assert (change <= drift.most[slots] + reach + 1e-12).all()
    assert (change >= drift.least[slots] - reach - 1e-12).all()
    again = table.take_drift()
    assert not again.most.any() and not again.least.any()


def test_new_centres_have_risen_by_nothing():
    table = new_poisson(anchor=np.ones(3))
    first = table.take_drift()
    assert not first.most.any() and not first.least.any()
    table.refit(totals_at(table, random_centres(20, 3, seed=1), np.ones(20)))
    slots, before = table.slots, (table._most.copy(), table._level.copy(), table._doubt.copy())
    born = table.open(random_centres(200, 3, seed=3))
    for name, values in zip(("_most", "_level", "_doubt"), before, strict=True):
        np.testing.assert_array_equal(getattr(table, name)[slots], values[slots])
    drift = table.take_drift()
    assert (drift.most[slots] != 0).all() and (drift.least[slots] != 0).all()
    assert not drift.most[born].any() and not drift.least[born].any()


def test_the_largest_sizes_follow_a_refit():
    table = new_poisson()
    table.view()
    centres = 100.0 * random_centres(20, 3)
    table.refit(totals_at(table, centres, np.ones(20)))
    theta, offset = table._partition.geometry.affine(centres)
    assert table.view().theta_bound == pytest.approx(np.linalg.norm(theta, axis=1).max())
    assert table.view().offset_bound == pytest.approx(np.abs(offset).max())
