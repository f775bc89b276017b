"""Rows in groups, each with slots of its own, against NumPy and brute force."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.dp_means import trials as groups_file
from hardbayes.dp_means.trials import _cut
from tests.dp_means.partition_states import pose_here, posed
from tests.test_divergences import rows_for

# Three groups with two, one and three slots; a row may be in several, and one has no rows.
FIRST = np.array([0, 2, 3, 3, 6])
IDS = np.array([4, 9, 2, 30, 7, 4, 11, 12, 13, 20, 21, 22, 23, 24, 9])
GROUPS = np.array([0, 0, 0, 0, 0, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3])


def weighted(n=40):
    return np.random.default_rng(9).choice([0.0, 0.5, 1.0, 2.0], n)


@pytest.fixture(params=["squared_euclidean", "poisson", "sparse"])
def local(request):
    name = "poisson" if request.param == "poisson" else "squared_euclidean"
    X = rows_for(name, np.random.default_rng(0), 40, 5, zeros=False)
    container = sparse.csr_array if request.param == "sparse" else np.asarray
    problem = pose_here(container(X), name, weighted())
    partition = problem.partition(1.0, 0.0, None)
    return problem.rows.take(), partition


def choices(local, form, closed=()):
    """The cheapest slot of each position's group, and its cost."""
    costs = local.take(IDS).costs(form)
    costs[:, list(closed)] = np.inf
    slot = np.arange(FIRST[-1])
    outside = (slot < FIRST[GROUPS][:, np.newaxis]) | (slot >= FIRST[GROUPS + 1][:, np.newaxis])
    costs[outside] = np.inf
    return costs.argmin(axis=1), costs.min(axis=1)


@pytest.mark.parametrize("entries", [1, 1 << 20])
def test_rows_choose_within_their_group(local, entries, monkeypatch):
    monkeypatch.setattr(groups_file, "ENTRIES_A_CALL", entries)
    rows, partition = local
    form = partition.direct_form(rows.dense(np.array([0, 1, 2, 3, 4, 5])))
    grouped = rows.group(IDS, GROUPS, FIRST)
    found = grouped.choose(form)
    places, costs = choices(rows, form)
    np.testing.assert_array_equal(grouped.places, places)
    np.testing.assert_array_equal(found, costs)


def test_rows_that_are_not_sorted_by_group_choose_as_well(local):
    rows, partition = local
    form = partition.direct_form(rows.dense(np.arange(6)))
    order = np.random.default_rng(1).permutation(len(IDS))
    grouped = rows.group(IDS[order], GROUPS[order], FIRST)
    grouped.choose(form)
    np.testing.assert_array_equal(grouped.places, choices(rows, form)[0][order])


def test_of_equal_costs_the_first_slot_wins(local):
    rows, partition = local
    grouped = rows.group(IDS, GROUPS, FIRST)
    grouped.choose(partition.direct_form(np.tile(rows.dense(np.array([0])), (6, 1))))
    np.testing.assert_array_equal(grouped.places, FIRST[GROUPS])


def test_no_row_goes_to_a_closed_slot():
    """Where costs are affine; others have no closed slots."""
    X = rows_for("poisson", np.random.default_rng(0), 40, 5, zeros=False)
    problem = pose_here(X, "poisson")
    rows, partition = problem.rows.take(), problem.partition(1.0, 0.0, None)
    form = partition.direct_form(rows.dense(np.arange(6)))
    grouped = rows.group(IDS, GROUPS, FIRST)
    closed = np.array([True, False, False, True, False, False])
    expected = choices(rows, form, np.flatnonzero(closed))[0]
    grouped.choose(form, closed)
    np.testing.assert_array_equal(grouped.places, expected)


@pytest.mark.parametrize("entries", [1, 1 << 20])
def test_plain_totals(local, entries, monkeypatch):
    monkeypatch.setattr(groups_file, "ENTRIES_A_CALL", entries)
    rows, _ = local
    grouped = rows.group(IDS, GROUPS, FIRST)
    grouped.places[:] = FIRST[GROUPS]
    grouped.places[10:] += 2
    weights, totals = grouped.totals()
    member = grouped.places == np.arange(6)[:, np.newaxis]
    own = rows.weights_at(IDS)
    np.testing.assert_allclose(weights, member @ own, rtol=1e-14)
    np.testing.assert_allclose(totals, member @ (own[:, np.newaxis] * rows.dense(IDS)), rtol=1e-13)


def test_one_step_of_power_iteration_on_each_group(local):
    rows, _ = local
    rng = np.random.default_rng(2)
    grouped = rows.group(IDS, GROUPS, FIRST)
    directions, centres = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    directions[1] = 0.0  # stays so
    found = grouped.stretch(directions, centres)
    X, weights = rows.dense(IDS), rows.weights_at(IDS)
    for g in range(4):
        apart = (X - centres[g])[g == GROUPS]
        stretched = apart.T @ (weights[g == GROUPS] * (apart @ directions[g]))
        length = np.linalg.norm(stretched)
        np.testing.assert_allclose(found[g], stretched / (length or 1.0), atol=1e-12)
    along = grouped.along(directions, centres)
    expected = np.einsum("ij,ij->i", X - centres[GROUPS], directions[GROUPS])
    np.testing.assert_allclose(along, expected, atol=1e-12)


# --- single-row moves -----------------------------------------------------------------------------


def cost(X, w, member, penalty, prior_weight, mean):
    """What clusters cost, penalties and prior included."""
    total = 0.0
    for c in np.unique(member[w > 0]):
        own = (member == c) & (w > 0)
        centre = (w[own] @ X[own] + prior_weight * mean) / (w[own].sum() + prior_weight)
        total += penalty + w[own] @ ((X[own] - centre) ** 2).sum(axis=1)
        total += prior_weight * ((mean - centre) ** 2).sum()
    return total


def literal_pass(X, w, member, first, last, penalty, room, prior):
    """Each row in turn goes where the objective is lowest; one slot not yet open is tried."""
    member, moves = member.copy(), 0
    for i in np.flatnonzero(w > 0):
        open_now = [k for k in range(first, last) if (w[member == k] > 0).any()]
        free = [k for k in range(first, last) if k not in open_now]
        targets = [k for k in open_now if k != member[i]]
        if free and room > 0 and np.sum(w[member == member[i]] > 0) > 1:
            targets.append(free[0])

        def value(k, i=i):
            return cost(X, w, np.where(np.arange(len(X)) == i, k, member), penalty, *prior)

        values = [value(k) for k in targets]
        stays = value(member[i])
        if values and min(values) < stays * (1 - 1e-12):
            target = targets[int(np.argmin(values))]
            room -= target in free
            member[i] = target
            room += sum(not (w[member == k] > 0).any() for k in open_now)
            moves += 1
    return member, moves


def moving_rows(seed, prior_weight, container=np.asarray, slots=5, n=30):
    """Rows at random places in one group of slots, of which the last two are not open."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    problem = pose_here(container(X), weights=rng.choice([0.0, 0.5, 1.0, 2.0], n))
    partition = problem.partition(float(rng.choice([0.1, 2.0, 8.0])), prior_weight, None)
    rows = problem.rows.take()
    grouped = rows.group(np.arange(n), np.zeros(n, np.intp), np.array([0, slots]))
    grouped.places[:] = rng.integers(0, slots - 2, n)
    weights, totals = grouped.totals()
    means = np.where(
        weights[:, np.newaxis] > 0,
        partition.centres(np.where(weights > 0, weights, 1.0), totals),
        partition.prior_mean,
    )
    clusters = grouped.moving(partition.direct_form(means), weights, partition.prior_weight)
    return problem, partition, rows, grouped, clusters


def assert_follows(grouped, rows, clusters, partition, ids):
    """Sizes, members and centres of the clusters are those of the places."""
    w, X = rows.weights_at(ids), rows.dense(ids)
    eta = partition.prior_weight
    for c in range(grouped.n_slots):
        own = (grouped.places == c) & (w > 0)
        assert clusters.members[c] == own.sum()
        if own.any():
            size = w[own].sum() + eta
            assert clusters.sizes[c] == pytest.approx(size)
            centre = (w[own] @ X[own] + eta * partition.prior_mean) / size
            np.testing.assert_allclose(clusters.centres[c], centre, atol=1e-12)
            offset = clusters.table.exact_offset[c]
            assert offset == pytest.approx((clusters.centres[c] ** 2).sum())


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("prior_weight", [0.0, 1.5])
@pytest.mark.parametrize("seed", range(8))
def test_a_pass_of_single_row_moves_is_the_literal_one(seed, prior_weight, container):
    room = seed % 3
    _, partition, rows, grouped, clusters = moving_rows(seed, prior_weight, container)
    w, X, before = rows.weights_at(), rows.dense(), grouped.places.copy()
    terms = partition.penalty, partition.prior_weight, partition.prior_mean
    expected, n_moves = literal_pass(X, w, before, 0, 5, partition.penalty, room, terms[1:])
    moved = grouped.move_rows(clusters, partition.penalty, room)
    np.testing.assert_array_equal(grouped.places[w > 0], expected[w > 0])
    np.testing.assert_array_equal(grouped.places[w == 0], before[w == 0])
    assert moved.n_moves == n_moves
    assert_follows(grouped, rows, clusters, partition, np.arange(30))
    change = cost(X, w, grouped.places, *terms) - cost(X, w, before, *terms)
    assert moved.gain == pytest.approx(-change, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("entries", [1, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_passes_go_on_until_no_row_gains_by_moving(seed, entries, monkeypatch):
    monkeypatch.setattr(groups_file, "MAX_ENTRIES_A_CALL", entries)  # also in several calls
    monkeypatch.setattr(groups_file, "_cut", lambda *a: _cut(*a[:2], 64 if entries > 1 else 7))
    _, partition, rows, grouped, clusters = moving_rows(seed, 0.0)
    w, X, before = rows.weights_at(), rows.dense(), grouped.places.copy()
    moved = grouped.move_rows(clusters, partition.penalty, 9, 100)
    terms = partition.penalty, 0.0, partition.prior_mean
    now = cost(X, w, grouped.places, *terms)
    assert moved.gain == pytest.approx(cost(X, w, before, *terms) - now)
    assert_follows(grouped, rows, clusters, partition, np.arange(30))
    _, n_moves = literal_pass(X, w, grouped.places, 0, 5, partition.penalty, 9, terms[1:])
    assert n_moves == 0
    again = grouped.move_rows(clusters, partition.penalty, 9, 100)
    assert again == (0, 0.0)


@pytest.mark.parametrize("entries", [1, 1 << 20])
@pytest.mark.parametrize("name", ["kl", "cosine", "poisson"])
def test_the_rows_of_clusters_that_are_not_fresh_join_only_fresh_ones_at_first(
    name, entries, monkeypatch
):
    monkeypatch.setattr(groups_file, "MAX_ENTRIES_A_CALL", entries)  # also in several calls
    rng = np.random.default_rng(3)
    n, slots = 200, 5
    problem = pose_here(rows_for(name, rng, n, 6), name, rng.choice([0.0, 0.5, 1.0], n))
    partition, rows = problem.partition(1.0, 1.0, None), problem.rows.take()
    start = rng.integers(0, slots, n)
    fresh = np.array([False, True, False, True, False])
    found = []
    for is_fresh in (None, np.ones(slots, bool), fresh):
        for max_passes in (1, 100):
            grouped = rows.group(np.arange(n), np.zeros(n, np.intp), np.array([0, slots]))
            grouped.places[:] = start
            weights, totals = grouped.totals()
            form = partition.moving_form(partition.centres(weights, totals))
            clusters = grouped.moving(form, weights, partition.prior_weight)
            grouped.move_rows(clusters, 0.0, 0, max_passes, fresh=is_fresh)
            assert clusters.table.fresh.all()
            found.append((grouped.places.copy(), clusters))
            assert grouped.move_rows(clusters, 0.0, 0, 100).n_moves == 0 or max_passes == 1
    for one, other in zip(found[:2], found[2:4], strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    moved = found[4][0] != start
    assert moved[~fresh[start]].any() and moved[fresh[start]].any()
    assert fresh[found[4][0]][moved & ~fresh[start]].all()
    assert not fresh[found[0][0]][(found[0][0] != start) & ~fresh[start]].all()


def test_groups_do_not_mix_and_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(groups_file, "ENTRIES_A_CALL", 1)  # groups in units of their own
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(900, 3)), 900
    groups = np.sort(rng.integers(0, 7, n))
    sides = rng.integers(0, 2, n)
    found = []
    for n_threads in (1, 3):
        with posed(X, n_threads=n_threads) as problem:
            rows, partition = problem.rows.take(), problem.partition(1.0, 0.0, None)
            grouped = rows.group(np.arange(n), groups, np.arange(0, 15, 2))
            grouped.places[:] = 2 * groups + sides
            weights, totals = grouped.totals()
            form = partition.direct_form(partition.centres(weights, totals))
            clusters = grouped.moving(form, weights, 0.0)
            moved = grouped.move_rows(clusters, 0.0, 0, 16)
            assert len(grouped._units) > 3
            found.append([grouped.places, clusters.centres, clusters.sizes, moved])
            np.testing.assert_array_equal(grouped.places // 2, groups)
            assert_follows(grouped, rows, clusters, partition, np.arange(n))
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)


def test_members_are_rows_of_positive_weight():
    problem = pose_here(np.arange(12.0)[:, np.newaxis], weights=np.tile([0.0, 1.0, 2.0], 4))
    rows = problem.rows.take()
    grouped = rows.group(np.arange(12), np.zeros(12, np.intp), np.array([0, 2]))
    grouped.places[6:] = 1
    form = problem.partition(1.0, 0.0, None).direct_form(np.zeros((2, 1)))
    clusters = grouped.moving(form, np.array([3.0, 3.0]), 0.5)
    np.testing.assert_array_equal(clusters.members, [4, 4])
    np.testing.assert_array_equal(clusters.sizes, [3.5, 3.5])


# --- tiles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "stop", "size"), [(0, 200, 64), (5, 300, 100), (3, 3, 64), (0, 9, 1)]
)
def test_a_range_is_cut_into_tiles(start, stop, size):
    tiles = _cut(start, stop, size)
    assert [i for tile in tiles for i in range(*tile)] == list(range(start, stop))
    assert all(b - a <= max(64, size) for a, b in tiles)


@pytest.mark.parametrize(
    ("small", "large"), [(1, 1), (1, 1 << 22), (1000, 2000), (1 << 20, 1 << 22)]
)
def test_units_are_whole_groups(small, large, monkeypatch):
    monkeypatch.setattr(groups_file, "ENTRIES_A_CALL", small)
    monkeypatch.setattr(groups_file, "MAX_ENTRIES_A_CALL", large)
    rng = np.random.default_rng(0)
    rows = pose_here(rng.normal(size=(1000, 3))).rows.take()
    groups = np.sort(rng.choice([0, 1, 2, 3, 8], 1000, p=[0.02, 0.4, 0.02, 0.16, 0.4]))
    grouped = rows.group(np.arange(1000), groups, 2 * np.arange(10))
    units = grouped._units
    assert [i for unit in units for tile in unit for i in range(*tile)] == list(range(1000))
    for unit in units:
        inside = groups[unit[0][0] : unit[-1][1]]
        for g in np.unique(inside):
            assert np.sum(inside == g) == np.sum(groups == g)
    assert (len(units) == 1) == (small > 10_000)
