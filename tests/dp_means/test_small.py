"""Several sweeps in one call: however many calls it takes, the same fit."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes import DPMeans
from hardbayes.core.arrays import no_totals
from hardbayes.dp_means import small
from hardbayes.dp_means.centres import ClusterList
from hardbayes.dp_means.memory import MemoryRows
from hardbayes.dp_means.small import Limits, Start, is_small, sweep_rows
from tests.conftest import assert_same_bits, make_blobs, quiet_fit
from tests.dp_means.partition_states import posed


@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("MAX_STEPS", 1), ("MAX_STEPS", 3), ("SLOTS_A_ROW", 1), ("MAX_WORK", 8000)],
)
def test_calls_cut_short_give_the_same_bits(name, value, search, monkeypatch):
    X, _ = make_blobs(120, 3, 9, spread=0.3)
    model = DPMeans(0.5, search=search, random_state=0)
    whole = model.fit(X)
    monkeypatch.setattr(small, name, value)
    assert_same_bits(DPMeans(0.5, search=search, random_state=0).fit(X), whole)


def test_any_number_of_sweeps_may_be_allowed():
    X, _ = make_blobs(120, 3, 9, spread=0.3)
    model = DPMeans(0.5, search="paper", max_iter=10**15, random_state=0).fit(X)
    assert model.converged_


def test_small_data_never_meet_the_passes_for_many(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a pass over tiles")

    monkeypatch.setattr(MemoryRows, "assign", refuse)
    X, _ = make_blobs(120, 3, 9, spread=0.3)
    for search in ("paper", "split-merge"):
        DPMeans(0.5, search=search, random_state=0).fit(X)
    with pytest.raises(AssertionError):
        DPMeans(0.5, search="paper").fit(np.tile(X, (20, 1)))


def test_orphans_of_weightless_clusters_are_labelled_in_the_end():
    X = np.array([[0.0], [0.0], [1.0], [10.0]])
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    init = np.array([[0.3], [10.0]])
    model = DPMeans(100.0, search="paper", init=init).fit(X, sample_weight=weights)
    assert model.labels_.tolist() == [0, 0, 0, 0]
    assert model.n_clusters_ == 1


@pytest.mark.usefixtures("both_sweeps")
@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("search", ["paper", "split-merge"])
def test_rows_without_weight_whose_cluster_goes_read_nothing_unwritten(
    search, container, monkeypatch
):
    """New memory is filled with NaN, as it may well be."""
    empty = np.empty

    def no_numbers(*arguments, **options):
        fresh = empty(*arguments, **options)
        if fresh.dtype.kind == "f":
            fresh.fill(np.nan)
        return fresh

    monkeypatch.setattr(np, "empty", no_numbers)
    rng = np.random.default_rng(0)
    for seed in range(40):
        X = rng.integers(-2, 3, (int(rng.integers(3, 12)), 4)).astype(float)
        weights = rng.integers(0, 2, len(X)).astype(float)
        weights[0] = 1.0
        init = X[rng.integers(0, len(X), 7)]
        model = DPMeans(
            float(rng.choice([0.0, 2.0, 100.0])), init=init, search=search, random_state=seed
        )
        quiet_fit(model, container(X), weights)
        distances = ((X[:, np.newaxis] - model.cluster_centers_) ** 2).sum(axis=2)
        cheapest = distances[np.arange(len(X)), model.labels_] <= distances.min(axis=1) + 1e-9
        assert cheapest[weights == 0].all()
        assert np.isfinite(model.objective_history_).all()
        assert model.converged_


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_clusters"),
    [(1365, 10, 8), (1366, 10, 8), (1365, 10, 1), (600, 10, 18), (600, 10, 19)],
)
def test_how_many_rows_are_few(n_rows, n_columns, n_clusters):
    work = n_rows * max(n_clusters, 8) * (n_columns + 8)
    rows = SimpleNamespace(n_rows=n_rows, n_columns=n_columns, most_taken=n_rows)
    state = SimpleNamespace(rows=rows, n_clusters=n_clusters)
    assert is_small(state) == (work <= 3 << 16)
    rows.most_taken -= 1
    assert not is_small(state)


def literal_sweep(X, weights, centres, penalty, cap, order):
    """Algorithm 1 for one sweep: labels and centres, those that were opened at the end."""
    centres, labels, refused = list(centres), np.empty(len(X), int), False
    for i in order:
        costs = [((X[i] - c) ** 2).sum() for c in centres]
        labels[i] = int(np.argmin(costs))
        if weights[i] * min(costs) > penalty:
            if len(centres) < cap:
                labels[i] = len(centres)
                centres.append(X[i])
            else:
                refused = True
    return labels, refused


ORDER = np.arange(40, dtype=np.int32)


def first_start(local, centres):
    """No row in a cluster, and clusters at these centres."""
    k, d = centres.shape
    clusters = ClusterList(centres, np.arange(k) + 5, 5 + k)
    return Start(np.full(local.n_rows, -1, np.int32), clusters, no_totals(k, d), -1)


@pytest.mark.parametrize("seed", range(12))
def test_one_sweep_is_the_published_one(seed):
    """Labels, ranks, exact totals, potential, changes: all follow from the rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (40, 2)) * 1.0 if seed % 2 else rng.normal(size=(40, 2))
    weights = rng.choice([0.0, 1.0, 2.0], 40) if seed % 3 else None
    container = csr_array if seed % 4 == 3 else np.asarray
    with posed(container(X), weights=weights) as problem:
        rows, unit = problem.rows, problem.unit
        local = rows.take()
        centres, order = local.dense()[rng.choice(40, 3, replace=False)], rng.permutation(ORDER)
        limits = Limits(3.0 * unit, int(rng.choice([3, 5, 100])), 0, 1)
        swept = sweep_rows(local, order, first_start(local, centres), limits, rows.rounding)
        full = np.broadcast_to(rows.weights, 40)
        labels, refused = literal_sweep(
            local.dense(), full, centres, limits.penalty, limits.max_clusters, order
        )
        slots = np.flatnonzero(np.bincount(labels, full, labels.max() + 1))
        numbers = np.full(labels.max() + 1, -1)  # of clusters without weight
        numbers[slots] = np.arange(len(slots))
        np.testing.assert_array_equal(swept.labels, numbers[labels])
        assert swept.n_changed == [40] and swept.changing
        np.testing.assert_array_equal(swept.clusters.ranks, 5 + slots)
        assert swept.clusters.next_rank == 5 + max(3, labels.max() + 1)
        expected = rows.totals(labels.max() + 1, labels.astype(np.int32))
        for found, part in zip(swept.totals[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(found, part[slots])
        sizes, sums = expected.weights(slots), expected.sums(slots)
        np.testing.assert_array_equal(swept.clusters.centres, sums / sizes[:, np.newaxis])
        value = (sums**2).sum(axis=1) / sizes
        point = swept.points[0]
        assert point.n_clusters == len(slots)
        assert point.value + point.remainder == pytest.approx(value.sum())
        assert swept.is_capped == (refused and len(slots) >= limits.max_clusters)


def test_sweeps_end_when_few_rows_change_or_steps_run_out():
    X, _ = make_blobs(120, 3, 9, spread=0.3)
    with posed(X) as problem:
        local, rounding = problem.rows.take(), problem.rows.rounding
        start, order = first_start(local, local.dense()[:9]), np.arange(120, dtype=np.int32)
        penalty = 1e9
        whole = sweep_rows(local, order, start, Limits(penalty, 100, 0, 300), rounding)
        changes = whole.n_changed
        assert changes[-1] == 0 and not whole.changing and len(changes) > 4
        assert (start.labels == -1).all()  # what was given is not written into
        some = sweep_rows(local, order, start, Limits(penalty, 100, changes[2], 300), rounding)
        assert some.n_changed == changes[:3] and some.changing
        two = sweep_rows(local, order, start, Limits(penalty, 100, 0, 2), rounding)
        assert two.n_changed == changes[:2] and two.points == whole.points[:2]


def test_a_sweep_that_only_gives_clusters_other_slots_changes_nothing():
    """Rows 0 and 2 swap the names of their clusters: an opened one takes the place of the old."""
    with posed(np.array([[0.0], [0.1], [9.0]])) as problem:
        rows, unit = problem.rows, problem.unit
        local = rows.take()
        labels = np.array([0, 0, 1], np.int32)
        totals = rows.totals(2, labels)
        centres = local.dense()[[0, 0]]  # the second one is far from its only row now
        start = Start(labels, ClusterList(centres, np.arange(2), 2), totals, 2)
        swept = sweep_rows(local, ORDER[:3], start, Limits(1.0 * unit, 9, 0, 1), rows.rounding)
        assert swept.labels.tolist() == [0, 0, 1] and swept.n_changed == [1]
        assert not swept.changing and swept.clusters.ranks.tolist() == [0, 2]
        other = sweep_rows(
            local, ORDER[:3], start._replace(n_clusters=3), Limits(unit, 9, 0, 1), rows.rounding
        )
        assert other.changing  # there were more clusters before
