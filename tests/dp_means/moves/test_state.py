"""The state of a fit: rows with labels, clusters with centres, and the calls that change them."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.arrays import GIVEN_ORDER
from hardbayes.dp_means import small
from hardbayes.dp_means.memory import MemoryRows
from hardbayes.dp_means.moves import PartitionProposal
from hardbayes.dp_means.small import is_small, sweep_small
from hardbayes.dp_means.state import Potential
from tests.dp_means.moves.cases import heaps_for
from tests.dp_means.partition_states import pose_here, random_order, state_at
from tests.test_divergences import rows_for

NEVER = np.array([np.inf])


def example(divergence="squared_euclidean", container=np.asarray, seed=0, prior_weight=0.0):
    """A state at labels (60,) in five clusters, some rows without weight."""
    X, weights, labels = heaps_for(divergence, seed)
    problem = pose_here(container(X), divergence, weights)
    partition = problem.partition(0.5, prior_weight, None)
    return problem, state_at(problem, partition, labels), labels


@pytest.fixture(
    params=[
        ("squared_euclidean", np.asarray),
        ("squared_euclidean", sparse.csr_array),
        ("poisson", np.asarray),
        ("kl", sparse.csr_array),
    ],
    ids=lambda case: f"{case[0]}-{case[1].__name__}",
)
def case(request):
    return example(*request.param)


def assert_at(state, labels, k=None):
    """Numbers, weights, totals, members and centres are those of the labels."""
    k = int(labels.max()) + 1 if k is None else k
    rows, weights = state.rows.take().dense(), np.broadcast_to(state.rows.weights, len(labels))
    assert state.n_clusters == k
    np.testing.assert_array_equal(state.numbers(), labels)
    member = labels == np.arange(k)[:, np.newaxis]
    sizes, sums = member @ weights, member @ (weights[:, np.newaxis] * rows)
    found = state.totals()
    np.testing.assert_allclose(found[0], sizes, rtol=1e-14)
    np.testing.assert_allclose(found[1], sums, atol=1e-13)
    np.testing.assert_array_equal(state.weights(), found[0])
    np.testing.assert_array_equal(state.member_counts(), (member & (weights > 0)).sum(axis=1))
    eta, mean = state.partition.prior_weight, state.partition.prior_mean
    centres = state.centres()
    np.testing.assert_array_equal(centres[0], found[0])
    expected = (sums + eta * mean) / (sizes + eta)[:, np.newaxis]
    np.testing.assert_allclose(centres[1], expected, atol=1e-13)


# --- what moves read ------------------------------------------------------------------------------


def test_everything_follows_from_the_labels(case):
    _, state, labels = case
    assert_at(state, labels)
    np.testing.assert_array_equal(state.names, np.arange(5))
    ids = np.array([7, 3, 50])
    np.testing.assert_array_equal(state.numbers(ids), labels[ids])
    np.testing.assert_array_equal(state.numbers(slice(4, 9)), labels[4:9])
    state.refit()
    assert_at(state, labels)


def test_one_weight_for_all_rows():
    X, _, labels = heaps_for("squared_euclidean", 0)
    problem = pose_here(X)
    state = state_at(problem, problem.partition(1.0, 0.0, None), labels)
    assert_at(state, labels)
    np.testing.assert_array_equal(state.member_counts(), np.bincount(labels))


@pytest.mark.parametrize("chunk", [16, 1 << 21])
def test_rows_of_some_clusters(case, chunk, monkeypatch):
    _, state, labels = case
    monkeypatch.setattr("hardbayes.core.arrays.CHUNK_BYTES", chunk)  # also two rows at a time
    for clusters in ([0], [3, 1], [], list(range(5))):
        found = state.rows_in(np.array(clusters, np.intp))
        np.testing.assert_array_equal(found, np.flatnonzero(np.isin(labels, clusters)))
    np.testing.assert_array_equal(
        state.member_counts(), np.bincount(labels[state.rows.weights > 0])
    )


def test_a_sample_is_sorted_by_cluster():
    _, state, labels = example()
    ids, numbers = state.sample_by_cluster(60, np.random.RandomState(0))
    np.testing.assert_array_equal(ids, np.argsort(labels, kind="stable"))
    np.testing.assert_array_equal(numbers, np.sort(labels))
    rng = np.random.RandomState(0)
    ids, numbers = state.sample_by_cluster(30, rng)
    expected = np.unique(np.random.RandomState(0).randint(60, size=30))
    np.testing.assert_array_equal(np.sort(ids), expected)
    np.testing.assert_array_equal(numbers, labels[ids])
    assert (np.diff(numbers) >= 0).all()


def without_a_cluster():
    """Row 4 has no weight, and the only cluster that it was in is closed."""
    X = np.array([[0.0], [1.0], [5.0], [6.0], [99.0]])
    problem = pose_here(X, weights=np.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    partition = problem.partition(0.5, 0.0, None)
    return state_at(problem, partition, np.array([0, 0, 1, 1, 2]))


def test_rows_whose_cluster_was_closed_have_no_number():
    state = without_a_cluster()
    labels = np.array([0, 0, 1, 1, -1])
    assert_at(state, labels, 2)
    np.testing.assert_array_equal(state.rows_in(np.array([0, 1])), np.arange(4))
    ids, numbers = state.sample_by_cluster(9, np.random.RandomState(0))
    np.testing.assert_array_equal(ids, np.arange(4))
    np.testing.assert_array_equal(numbers, labels[:4])
    state.refit()
    assert_at(state, labels, 2)
    np.testing.assert_array_equal(state.choose_nearest(), [True, True])
    np.testing.assert_array_equal(state.numbers(), [0, 0, 1, 1, 1])


def own_costs(state):
    """Return the cost of each row at its own centre, whose weighted sum is the fit term."""
    costs = state.rows.costs(state._table.direct())
    assert state.fit_term() == pytest.approx(float((state.rows.weights * costs).sum()))
    return costs


def test_costs_at_the_own_centre_and_at_any(case):
    problem, state, labels = case
    geometry, rows = problem.geometry, problem.rows.take().dense()
    state.refit()
    centres = state.centres()[1]
    expected = geometry.divergence(rows, centres[labels])
    np.testing.assert_allclose(own_costs(state), expected, rtol=1e-9, atol=1e-13)
    others = rows[[0, 1, 2]] * 0.5 + 0.5 * rows.mean(axis=0)
    some = np.random.default_rng(0).integers(0, 3, 60).astype(np.int32)
    found = state.costs_at(others, some)
    expected = geometry.divergence(rows, others[some])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)
    fit = float((problem.rows.weights * expected).sum())
    assert state.fit_term_at(others, some) == pytest.approx(fit)
    assert_at(state, labels)


def test_costs_before_scores_are_laid_out(case):
    problem, state, _ = case
    rows = problem.rows
    state.start(rows.take(np.arange(4)).dense())
    if problem.geometry.distance_costs:
        sweep_small(state, GIVEN_ORDER, problem.partition(1e9, 0.0, None), 0, 100, -1)
        assert not state._table._has_scores
        centres = state.clusters()[0].centres
    else:
        state.choose_nearest()
        state.refit()
        centres = state.centres()[1]
    dense, numbers = rows.take().dense(), state.numbers()
    expected = problem.geometry.divergence(dense, centres[numbers])
    np.testing.assert_allclose(own_costs(state), expected, rtol=1e-9, atol=1e-13)


def test_parts_of_divided_clusters_add_up(case):
    problem, state, labels = case
    before = state.totals()
    halves = problem.rows.take(np.arange(4)).dense() * 0.9 + 0.1 * problem.mean
    clusters = np.array([3, 1])
    form = state.partition.direct_form(halves)
    division, left = state.divide(clusters, form)
    rows, weights = problem.rows.take().dense(), problem.rows.weights
    costs = problem.geometry.divergence(rows[:, np.newaxis], halves)
    second = [
        (labels == c) & (costs[:, 2 * j + 1] < costs[:, 2 * j]) for j, c in enumerate(clusters)
    ]
    np.testing.assert_array_equal(division.counts, [part.sum() for part in second])
    for j, c in enumerate(clusters):
        first = (labels == c) & ~second[j]
        for totals, part in ((division.totals, second[j]), (left, first)):
            np.testing.assert_allclose(
                totals.sums(np.array([j]))[0], weights[part] @ rows[part], atol=1e-13
            )
            assert totals.weights(np.array([j]))[0] == pytest.approx(weights[part].sum())
    for mine, same in zip(state.totals(), before, strict=True):
        np.testing.assert_array_equal(mine, same)
    assert_at(state, labels)


def test_candidates_are_asked_of_the_rows_with_the_sizes_of_the_clusters(monkeypatch):
    problem, state, _ = example(prior_weight=2.0)
    state.refit()
    seen = []
    monkeypatch.setattr(
        problem.rows, "candidates", lambda *arguments: seen.append(arguments) or np.arange(3)
    )
    np.testing.assert_array_equal(state.candidates(0.7), [0, 1, 2])
    centres, sizes, prior_weight, slack, part = seen[0]
    assert part is None
    eta = state.partition.prior_weight
    np.testing.assert_array_equal(sizes[state._table.slots], state.weights() + eta)
    assert (sizes > 0).all() and len(sizes) == centres.room
    assert (prior_weight, slack) == (eta, 0.7)


def test_how_much_higher_the_objective_is():
    high, low = Potential(3, 10.0, 1e-20), Potential(2, 12.5, 3e-20)
    assert high.above(low) == 2.5 + 2e-20
    assert Potential(1, 5.0, 2e-20).above(Potential(1, 5.0, 5e-20)) == pytest.approx(3e-20)


# --- changes --------------------------------------------------------------------------------------


def test_a_start_forgets_everything(case):
    problem, state, _ = case
    centres = problem.rows.take(np.arange(3)).dense()
    state.start(centres)
    assert state.n_clusters == 3
    np.testing.assert_array_equal(state.names, [0, 1, 2])
    np.testing.assert_array_equal(state.numbers(), np.full(60, -1))
    np.testing.assert_array_equal(state.weights(), np.zeros(3))


def test_rows_go_to_other_clusters_and_to_new_ones(case):
    problem, state, labels = case
    ids, numbers = np.array([9, 20, 3, 41]), np.array([5, 0, 6, 5])
    opened = problem.rows.take(np.array([9, 3])).dense()
    state.rows.weights[ids] = problem.weight_unit  # so that new clusters have weight
    state = state_at(problem, state.partition, labels)
    state.apply(PartitionProposal(0.0, ids, numbers, opened))
    labels = labels.copy()
    labels[ids] = numbers
    assert_at(state, labels)
    np.testing.assert_array_equal(state.names, np.arange(7))
    table = state._table
    np.testing.assert_allclose(
        table.exact[table.slots[5:]], state.partition.affine_form(opened).exact
    )


def test_clusters_unite(case):
    _, state, labels = case
    state.apply(PartitionProposal(0.0, united=np.array([0, 1, 0, 3, 1])))
    assert_at(state, np.array([0, 1, 0, 2, 1])[labels])
    np.testing.assert_array_equal(state.names, [0, 1, 3])  # names are never given twice
    state.refit()
    assert_at(state, np.array([0, 1, 0, 2, 1])[labels])


def test_unions_and_single_rows_in_one_proposal(case):
    _, state, labels = case
    united, ids = np.array([0, 1, 0, 3, 4]), np.flatnonzero(labels == 2)[:2]
    state.apply(PartitionProposal(0.0, ids, np.array([4, 4]), united=united))
    expected = united[labels]
    expected[ids] = 4
    assert_at(state, np.array([0, 1, -1, 2, 3])[expected])


def test_clusters_without_weight_are_closed(case):
    _, state, labels = case
    ids = np.flatnonzero(labels == 1)
    state.apply(PartitionProposal(0.0, ids, np.full(len(ids), 3)))
    expected = np.where(labels == 1, 3, labels)
    assert_at(state, np.array([0, -1, 1, 2, 3])[expected])
    np.testing.assert_array_equal(state.names, [0, 2, 3, 4])


def test_a_cluster_that_opens_for_rows_without_weight_is_closed():
    problem, state, _ = example()
    light = np.flatnonzero(problem.rows.weights == 0)[:1]
    opened = problem.rows.take(light).dense()
    state.apply(PartitionProposal(0.0, light, np.array([5]), opened))
    assert state.n_clusters == 5 and state.numbers(light) == -1


def test_named_clusters_are_closed(case):
    _, state, labels = case
    state.close(np.array([False, True, False, False, True]))
    np.testing.assert_array_equal(state.names, [0, 2, 3])
    np.testing.assert_array_equal(state.numbers(), np.array([0, -1, 1, 2, -1])[labels])


def test_a_refit_moves_centres_to_the_best_places(case):
    _, state, _ = case
    potential = state.refit()
    weights, centres = state.centres()
    table = state._table
    exact = state.partition.affine_form(centres).exact
    np.testing.assert_allclose(table.exact[table.slots], exact, rtol=1e-13)
    assert potential.n_clusters == 5
    expected = state.partition.potential(weights, centres)
    assert potential.value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson", "cosine"])
def test_potentials_tell_differences_of_the_objective(divergence, prior_weight):
    problem, state, labels = example(divergence, prior_weight=prior_weight)
    points = []
    for numbers in (labels, labels // 2, np.where(labels == 1, 3, labels)):
        names = np.unique(numbers, return_inverse=True)[1]
        state = state_at(problem, state.partition, names)
        point = state.refit()
        centres = state.centres()[1]
        fit = state.fit_term()
        points.append((point, fit + state.partition.prior_costs(centres).sum()))
    for (one, value), (other, less) in pairwise(points):
        assert one.above(other) == pytest.approx(value - less, rel=1e-8, abs=1e-12)


def test_every_row_goes_to_its_cheapest_centre(case):
    problem, state, _ = case
    centres = problem.rows.take(np.array([0, 1, 2, 2])).dense()
    state.start(centres)
    used = state.choose_nearest()
    costs = problem.rows.take().costs(state.partition.direct_form(centres))
    np.testing.assert_array_equal(state.numbers(), costs.argmin(axis=1))
    np.testing.assert_array_equal(used, np.bincount(costs.argmin(axis=1), minlength=4) > 0)
    assert not used[3]  # the older of two equal centres


def test_how_many_rows_are_above_their_opening_cost(case):
    problem, state, _ = case
    centres = problem.rows.take(np.array([0, 1])).dense()
    least = problem.rows.take().costs(state.partition.direct_form(centres)).min(axis=1)
    costs = problem.rows.weights * least
    for share in (0.0, 0.5, 1.0):
        opening = np.quantile(costs, [share])
        assert state.rows_above(centres, opening) == np.sum(costs > opening)


# --- sweeps in one call ---------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(6))
def test_several_sweeps_in_one_call_are_sweeps_one_by_one(seed, container):
    """The same bits: labels, potentials, names, numbers of changes."""
    rng = np.random.default_rng(seed)
    X = np.rint(rng.normal(size=(60, 2)) * 2) if seed % 2 else rng.normal(size=(60, 2))
    weights = rng.choice([0.0, 1.0, 2.0], 60) if seed % 3 else None
    order = random_order(rng)
    states = []
    for _ in range(2):
        problem = pose_here(container(X), weights=weights)
        states.append(problem.state(problem.partition(1.0, 0.0, int(rng.choice([4, 60])))))
    few, many = states
    partition = problem.partition(float(rng.choice([0.5, 2.0])), 0.0, int(rng.choice([4, 60])))
    opening = problem.opening_costs(partition)
    for start in (None, "moved"):
        if start is None:
            centres = problem.rows.take(np.array([0])).dense()
            for state in states:
                state.start(centres)
            n_clusters = -1
        else:  # from labels that a move left
            proposal = PartitionProposal(0.0, np.arange(5), rng.integers(0, few.n_clusters, 5))
            for state in states:
                state.apply(proposal)
                n_clusters = state.refit().n_clusters
        swept = sweep_small(few, order, partition, 0, 300, n_clusters)
        for point, n_changed in zip(swept.points, swept.n_changed, strict=True):
            summary = many.sweep(opening, order, partition.max_clusters)
            assert summary.n_changed == n_changed
            assert many.refit() == point
        changed = summary.n_changed > 0
        renamed = summary.same_partition and len(swept.points) > 1
        assert swept.changing == (changed and not renamed)
        above = summary.n_above > summary.n_opened
        assert swept.is_capped == (above and many.n_clusters >= partition.max_clusters)
        np.testing.assert_array_equal(few.numbers(), many.numbers())
        np.testing.assert_array_equal(few.names, many.names)
        for mine, theirs in zip(few.totals(), many.totals(), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_small_data():
    problem = pose_here(np.zeros((60, 2)))
    state = problem.state(problem.partition(1.0, 0.0, None))
    state.start(np.zeros((1, 2)))
    assert is_small(state)
    problem.rows.most_taken = 59
    assert not is_small(state)
    problem.rows.most_taken = 60
    state.start(np.zeros((small.MAX_WORK // 600 + 1, 2)))
    assert not is_small(state)


# --- slots ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
def test_a_new_layout_changes_no_number(divergence, as_if_many):
    """Clusters that were opened beyond the room of the table, and few that are left."""
    rng = np.random.default_rng(0)
    X = rows_for(divergence, rng, 300, 3, zeros=False)
    problem = pose_here(X, divergence)
    partition, rows = problem.partition(0.5, 0.0, None), problem.rows
    state = state_at(problem, partition, np.zeros(300, int))
    table, room = state._table, state._table.n_slots
    ids = np.arange(100)
    state.apply(PartitionProposal(0.0, ids, ids + 1, rows.take(ids).dense()))
    labels = np.r_[np.arange(1, 101), np.zeros(200, int)]
    assert_at(state, labels)
    assert state._table is table and table.is_crowded and table.n_slots > room
    names = state.names
    potential = state.refit()
    assert state._table is not table and not state._table.is_crowded
    assert_at(state, labels)
    np.testing.assert_array_equal(state.names, names)
    assert state._table.next_rank == table.next_rank
    again = state.refit()
    assert again.value == pytest.approx(potential.value, rel=1e-14)
    state.choose_nearest()
    costs = rows.take().costs(partition.direct_form(state.centres()[1]))
    table = state._table
    united = np.zeros(101, np.intp)
    state.apply(PartitionProposal(0.0, united=united))
    state.refit()
    assert state._table is not table and state.n_clusters == 1
    np.testing.assert_array_equal(state.numbers(), np.zeros(300))
    assert costs.shape == (300, 101)


def test_clusters_and_labels_are_taken_over(case):
    """As they were, in slots of another table."""
    problem, state, _ = case
    if not problem.geometry.distance_costs:
        return
    numbers, (weights, totals), names = state.numbers(), state.totals(), state.names
    other = problem.state(state.partition)
    clusters, exact = state.clusters()
    other.start_from(clusters, numbers.copy(), exact)
    np.testing.assert_array_equal(other.numbers(), numbers)
    np.testing.assert_array_equal(other.names, names)
    np.testing.assert_array_equal(other.weights(), weights)
    np.testing.assert_array_equal(other.totals()[1], totals)


def test_a_finer_type_of_scores_needs_a_new_layout():
    problem, state, labels = example()
    assert state.rows.layout.dtype == np.float32
    state.refit()
    table = state._table
    problem.rows.layout = problem.rows.layout._replace(dtype=np.dtype(np.float64))
    state.refit()
    assert state._table is not table
    assert state._table.view().theta.dtype == np.float64
    assert_at(state, labels)


def test_only_changes_of_labels_touch_the_rows(monkeypatch):
    """What moves read leaves the rows as they are."""
    _, state, labels = example()
    state.refit()
    for name in ("start", "set_labels", "relabel", "assign"):
        monkeypatch.setattr(
            MemoryRows, name, lambda *_, name=name: pytest.fail(f"{name} was called")
        )
    state.numbers()
    state.totals()
    state.centres()
    state.member_counts()
    state.rows_in(np.array([0, 1]))
    state.sample_by_cluster(20, np.random.RandomState(0))
    state.candidates(0.8)
    state.divide(np.array([0]), state.partition.direct_form(state.centres()[1][:2]))
    state.fit_term()
    state.costs_at(state.centres()[1], labels.astype(np.int32))
