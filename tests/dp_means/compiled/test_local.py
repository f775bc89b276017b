"""Passes over chosen rows, each in the slots of its group.

`tests/local/test_groups.py` has these kernels against brute force; here are their edges.
"""

import numpy as np
import pytest

from hardbayes.core.arrays import no_totals
from hardbayes.dp_means.compiled.sweeping import add_up, choose, mark_border, move_rows, project
from tests.dp_means.compiled.arrays import KINDS, Rows, constants_of

kinds = pytest.mark.parametrize("kind", KINDS)
IDS = np.array([4, 15, 2, 9, 9, 0])
GROUPS = np.array([0, 0, 0, 1, 1, 1])
FIRST = np.array([0, 3, 5])
NO_ROUNDING = (np.zeros(5), np.zeros(5))


@kinds
@pytest.mark.parametrize("squared", [True, False])
def test_the_cheapest_slot_of_the_group(kind, squared):
    rows = Rows(kind)
    points = rows.centres(5)
    places, costs = np.full(6, -9), np.full(6, -9.0)
    centres = rows.direct(points, squared)
    args = rows.rows, constants_of(rows, squared), centres, IDS, GROUPS, FIRST, places, costs
    choose(*args, 1, 5)
    everything = rows.costs(points, squared)[IDS]
    for p in range(1, 5):
        own = everything[p, FIRST[GROUPS[p]] : FIRST[GROUPS[p] + 1]]
        assert places[p] == FIRST[GROUPS[p]] + own.argmin()
        assert costs[p] == pytest.approx(own.min(), rel=1e-12, abs=1e-14)
    assert places[0] == places[5] == -9 and costs[0] == costs[5] == -9


def test_a_row_that_is_infinitely_far_from_all_slots_has_the_first():
    rows = Rows()
    points = np.full((2, 5), np.inf)
    places, costs = np.full(1, -9), np.zeros(1)
    choose(
        rows.rows, np.zeros(1), rows.direct(points), IDS[:1], GROUPS[:1], np.array([0, 2]), places,
        costs, 0, 1,
    )  # fmt: skip
    assert places[0] == 0 and costs[0] == np.inf


@kinds
def test_rows_are_added_to_their_slots(kind):
    rows, totals = Rows(kind), no_totals(3, 5)
    places = np.array([2, 0, 0, 1, 2, 1])
    add_up(rows.rows, rows.weights, IDS, places, totals, NO_ROUNDING, NO_ROUNDING, 0, 5)
    member = (places[:5] == np.arange(3)[:, np.newaxis]).astype(float)
    weights = rows.weights[IDS[:5]]
    np.testing.assert_allclose(totals.weight_coarse, member @ weights)
    expected = member @ (weights[:, np.newaxis] * rows.x[IDS[:5]])
    np.testing.assert_allclose(totals.coarse, expected, rtol=1e-13)
    assert not totals.fine.any() and not totals.weight_fine.any()


@kinds
def test_coordinates_along_directions_and_their_spread(kind):
    rows, totals = Rows(kind), no_totals(2, 5)
    rng = np.random.default_rng(1)
    directions, middles = rng.normal(size=(2, 5)), rng.normal(size=2)
    out = np.full(6, -9.0)
    args = rows.rows, rows.weights, IDS, GROUPS, directions, middles
    project(*args, out, no_totals(0, 5), NO_ROUNDING, 1, 6)
    along = (rows.x[IDS] * directions[GROUPS]).sum(axis=1) - middles[GROUPS]
    np.testing.assert_allclose(out[1:], along[1:], rtol=1e-12)
    assert out[0] == -9
    project(*args, out, totals, NO_ROUNDING, 0, 6)
    np.testing.assert_allclose(out, along, rtol=1e-12)
    beyond = rows.weights[IDS] * along
    for g in range(2):
        own = g == GROUPS
        np.testing.assert_allclose(totals.coarse[g], beyond[own] @ rows.x[IDS][own], atol=1e-12)
        assert totals.weight_coarse[g] == pytest.approx(beyond[own].sum())


@kinds
@pytest.mark.parametrize("squared", [True, False])
def test_rows_that_might_move_are_marked(kind, squared):
    rows = Rows(kind)
    points = rows.centres(4)
    places = np.array([0, 1, 2, 3, 0, 1])
    weights = rows.weights[IDS]
    sizes = np.array([6.0, weights[1] + 0.5, 3.0, 9.0])  # the second position is alone
    factors = sizes / (sizes + 2.0)
    marks = np.zeros(6, bool)
    mark_border(
        rows.rows, rows.weights, constants_of(rows, squared), rows.direct(points, squared), sizes,
        factors, IDS, places, 0.5, 0.8, marks, 0, 6,
    )  # fmt: skip
    costs, at = rows.costs(points, squared)[IDS], np.arange(6)
    left = sizes[places] - weights
    frees = sizes[places] / left * costs[at, places]
    pays = 0.8 * factors * costs
    pays[at, places] = np.inf
    expected = (pays.min(axis=1) <= frees) | (left - 0.5 <= 1e-9 * weights)
    np.testing.assert_array_equal(marks, expected)
    assert marks[1]


def moving(rows, places, slots, prior_weight=0.0):
    """Sizes, members and centres of slots, and scratch memory."""
    member = places == np.arange(slots)[:, np.newaxis]
    sizes = member @ rows.weights + prior_weight
    totals = member @ (rows.weights[:, np.newaxis] * rows.x) + prior_weight * rows.x.mean(axis=0)
    means = totals / np.where(sizes > 0, sizes, 1.0)[:, np.newaxis]
    members = (member & (rows.weights > 0)).sum(axis=1)
    return rows.direct(means), sizes, members


def moved(rows, places, slots, penalty, room, n_passes=1, some=False, near=None, goal=np.nan):
    centres, sizes, members = moving(rows, places, slots)
    tally, gain = np.array([room, 0]), np.zeros(1)
    near = np.ones(rows.n, bool) if near is None else near
    move_rows(
        rows.rows, rows.weights, np.zeros(1), centres, sizes, members, np.arange(rows.n),
        np.zeros(rows.n, np.intp), np.array([0, slots]), places, penalty, 0.0, near,
        np.bool_(some), tally, gain, np.array([goal]), n_passes, 0, rows.n,
    )  # fmt: skip
    return tally, gain[0], near, members


@kinds
def test_room_is_used_up_and_made_free_again(kind):
    rows = Rows(kind)
    places = np.zeros(30, np.int64)
    tally, gain, _, members = moved(rows, places, 6, 1e-3, 2)
    assert tally[0] == 0 and np.count_nonzero(members) == 3 and gain > 0
    places = np.zeros(30, np.int64)
    tally, *_ = moved(rows, places, 6, 1e-3, 0)
    assert tally.tolist() == [0, 0] and not places.any()
    # Clusters of one row each, and a penalty that none is worth.
    places, heavy = np.zeros(30, np.int64), np.flatnonzero(rows.weights)
    places[heavy[:5]] = np.arange(1, 6)
    tally, _, _, members = moved(rows, places, 6, 1e9, 0)
    assert tally[0] == 6 - np.count_nonzero(members) > 0


def test_a_pass_for_rows_near_to_moving_leaves_the_others():
    rows = Rows()
    rng = np.random.default_rng(0)
    places, near = rng.integers(0, 3, 30), np.arange(30) % 2 == 0
    before = places.copy()
    tally, *_ = moved(rows, places, 3, 0.0, 0, some=True, near=near)
    assert tally[1] > 0
    np.testing.assert_array_equal(places[1::2], before[1::2])
    assert not near[rows.weights == 0].any()  # these never move


def test_a_group_that_has_reached_its_goal_or_is_far_from_it_ends_sooner():
    rows, ends = Rows(), {}
    for goal in (np.nan, 0.0, 1e9):
        places, near = np.random.default_rng(1).integers(0, 3, 30), np.zeros(30, bool)
        # No row is near to moving, in the first pass: all the others are left to the second.
        ends[goal], *_ = moved(
            rows, places, 3, 0.0, 0, n_passes=100, some=True, near=near, goal=goal
        )
    assert ends[np.nan][1] > 0
    assert ends[0.0][1] == ends[1e9][1] == 0


def test_more_passes_end_in_a_fixed_point():
    rows = Rows()
    places = np.random.default_rng(0).integers(0, 3, 30)
    once = places.copy()
    tally, *_ = moved(rows, once, 3, 0.0, 0, n_passes=1)
    tally_many, *_ = moved(rows, places, 3, 0.0, 0, n_passes=100)
    assert tally_many[1] >= tally[1] > 0
    again, *_ = moved(rows, places, 3, 0.0, 0, n_passes=100)
    assert again[1] == 0
