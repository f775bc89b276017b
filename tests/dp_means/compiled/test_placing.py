"""Centres into their slots."""

import numpy as np
import pytest

from hardbayes.core.arrays import no_totals
from hardbayes.dp_means.compiled.centres import gaps, place, place_means
from tests.dp_means.table_cases import new_table, random_centres, theta_of

layouts = pytest.mark.parametrize("sparse", [False, True])
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@layouts
@dtypes
@pytest.mark.parametrize("d", [3, 70])
@pytest.mark.parametrize("squared", [True, False])
def test_centres_are_written_into_slots(squared, d, dtype, sparse):
    name = "squared_euclidean" if squared else "poisson"
    table = new_table(random_centres(20, d), name, dtype, sparse)
    before = table.exact.copy()
    slots, centres = np.array([7, 0, 19]), random_centres(3, d, seed=1)
    form = table._partition.affine_form(centres)
    drift = np.empty(3)
    view = table._view(table.n_slots // table.block)
    args = form.exact, form.theta, form.offset, view, table.theta_norm, drift, np.zeros(d)
    place(slots, *args)
    theta, offset = table._partition.geometry.affine(centres)
    np.testing.assert_array_equal(table.exact[slots], form.exact)
    np.testing.assert_allclose(table.exact_offset[slots], offset, rtol=1e-13)
    np.testing.assert_allclose(table.offset[slots], (1 - view.lowered) * offset, rtol=1e-6)
    np.testing.assert_array_equal(theta_of(table)[slots], theta.astype(dtype))
    np.testing.assert_allclose(table.theta_norm[slots], np.linalg.norm(theta, axis=1))
    np.testing.assert_allclose(drift, np.linalg.norm(form.exact - before[slots], axis=1))
    others = np.setdiff1d(np.arange(20), slots)
    np.testing.assert_array_equal(table.exact[others], before[others])


@layouts
@dtypes
@pytest.mark.parametrize("d", [3, 70])
@pytest.mark.parametrize("prior_weight", [0.0, 1.5])
def test_touched_centres_go_to_their_means(prior_weight, d, dtype, sparse):
    rng = np.random.default_rng(0)
    table = new_table(random_centres(20, d), dtype=dtype, sparse=sparse)
    before, norms = table.exact.copy(), table.theta_norm.copy()
    totals = no_totals(table.n_slots, d)
    totals.coarse[:20], totals.fine[:20] = rng.normal(size=(20, d)), 1e-9 * rng.normal(size=(20, d))
    totals.weight_coarse[:20], totals.weight_fine[:20] = rng.uniform(1, 2, 20), 1e-9
    touched = np.array([2, 5, 11])
    totals.touched[touched] = True
    slots, prior = np.arange(20)[::-1].copy(), prior_weight * rng.normal(size=d)
    explained = rng.uniform(size=(table.n_slots, 2))
    kept = explained.copy()
    drift = np.full(20, -9.0)
    view = table._view(table.n_slots // table.block)
    value, rest, largest = place_means(
        slots, totals, prior_weight, prior, np.zeros(d), view, table.theta_norm, drift, explained,
        np.empty((1, d)),
    )  # fmt: skip
    weights = totals.weight_coarse + totals.weight_fine + prior_weight
    sums = totals.coarse + totals.fine + prior
    means = before.copy()
    means[touched] = sums[touched] / weights[touched, np.newaxis]
    np.testing.assert_array_equal(table.exact, means)
    assert not totals.touched[:20].any()
    moved = np.linalg.norm(means - before, axis=1)[slots]
    np.testing.assert_allclose(drift, moved, atol=1e-15)
    np.testing.assert_array_equal(theta_of(table)[touched], (2 * means[touched]).astype(dtype))
    norms[touched] = 2 * np.linalg.norm(means[touched], axis=1)
    np.testing.assert_allclose(table.theta_norm, norms)
    kept[touched, 0] = (sums[touched] ** 2).sum(axis=1) / weights[touched]
    np.testing.assert_allclose(explained[:, 0], kept[:, 0], rtol=1e-12)
    untouched = np.setdiff1d(np.arange(20), touched)
    np.testing.assert_array_equal(explained[untouched], kept[untouched])
    assert value + rest == pytest.approx(explained[:20].sum())
    assert largest == pytest.approx((means[:20] ** 2).sum(axis=1).max())


def test_the_distance_to_the_next_centre():
    table = new_table(random_centres(20, 4))
    slots = np.array([3, 17, 0, 9, 4])
    nearest = np.empty(5)
    gaps(slots, table.view(), np.zeros(4), nearest)
    points = table.exact[slots]
    apart = ((points[:, np.newaxis] - points) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    np.testing.assert_allclose(nearest, apart.min(axis=1), rtol=1e-13)
    gaps(slots[:1], table.view(), np.zeros(4), nearest[:1])
    assert nearest[0] == np.inf
