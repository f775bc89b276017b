"""Single-row moves where a row is compared with clusters that changed, against NumPy."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import xlogy

from hardbayes.dp_means import incremental_totals
from hardbayes.dp_means.compiled.stepping import (
    LARGE,
    SLIGHT,
    find_moves,
    find_slopes,
    make_moves,
    part_from,
    unite_slots,
)
from tests.dp_means.partition_states import pose_here
from tests.test_divergences import rows_for

N, D, K, SLOTS = 40, 6, 4, 8
ALWAYS = np.zeros(2)  # any change of a cluster counts


class Example:
    """A partition at random labels, and the potentials of its clusters from the rows alone."""

    def __init__(self, divergence="kl", prior_weight=2.0, is_sparse=True):
        rng = np.random.default_rng(0)
        X = rows_for(divergence, rng, N, D)
        weights = rng.choice([0.0, 0.5, 1.0, 2.0], N)
        labels = rng.integers(0, K, N).astype(np.int32)
        weights[:K], labels[:K] = 1.0, np.arange(K)
        labels[K:][labels[K:] == K - 1] = 0  # the last cluster has one row
        problem = pose_here(sparse.csr_array(X) if is_sparse else X, divergence, weights)
        self.partition = problem.partition(1.0, prior_weight, None)
        self.eta = self.partition.prior_weight
        self.local = problem.rows.take()
        self.x, self.weights = self.local.dense(), self.local.weights_at()
        self.constants = self.local.constants_at()
        sizes, totals = self.counted(labels)
        centres = self.partition.centres(sizes[:K], totals[:K])
        self.clusters = self.local.incremental(
            self.partition.moving_form(centres), labels, sizes[:K], SLOTS, None
        )._clusters

    def counted(self, labels):
        """Return weights (slots,) and totals (slots, d), without the prior."""
        member = labels == np.arange(SLOTS)[:, np.newaxis]
        return member @ self.weights, (member * self.weights) @ self.x

    def potential(self, members):
        geometry = self.partition.geometry
        size = self.weights[members].sum() + self.eta
        total = self.weights[members] @ self.x[members] + self.eta * self.partition.prior_mean
        return size * geometry.potential(geometry.inside(total / size)) if size > 0 else 0.0

    def find(self, comfort=np.inf):
        """Return where each row should move."""
        winners = np.zeros(N, np.int64)
        for start, stop in ((0, 7), (7, N)):  # in any parts
            find_moves(*self.data, self.clusters, comfort, winners, start, stop)
        return winners

    def make(self, winners, tolerances=ALWAYS):
        """Return how many rows have moved."""
        before, now = self.clusters.labels.copy(), int(self.clusters.clock[0])
        n_moved = make_moves(*self.data, self.clusters, tolerances, winners)
        moved = before != self.clusters.labels
        assert n_moved == np.count_nonzero(moved)
        both = np.append(before[moved], self.clusters.labels[moved])
        np.testing.assert_array_equal(np.flatnonzero(self.clusters.touched > now), np.unique(both))
        return n_moved

    def move_rows(self, max_changes, tolerances=ALWAYS, comfort=np.inf):
        """Make passes until no more than so many rows move."""
        while self.make(self.find(comfort), tolerances) > max_changes:
            pass

    @property
    def data(self):
        return self.local.rows, self.local.weights, self.local.constants

    def gains(self, labels, i):
        """Return what each cluster (k,) gains with row i; None where that is to stay."""
        others = np.arange(N) != i
        if not (others & (labels == labels[i]) & (self.weights > 0)).any():
            return None
        gains = np.full(K, -np.inf)
        for k in range(K):
            members = (labels == k) & others
            gains[k] = self.potential(members | ~others) - self.potential(members)
        return gains

    def literal_finds(self, labels):
        """Return where each row should move, as the labels are."""
        winners = np.full(N, -1)
        for i in np.flatnonzero(self.weights > 0):
            gains = self.gains(labels, i)
            if gains is not None and gains.max() > gains[labels[i]] + 1e-9:
                winners[i] = gains.argmax()
        return winners

    def literal_pass(self, labels):
        """All rows find where to move; then each goes, where it still gains."""
        winners, labels = self.literal_finds(labels), labels.copy()
        for i in np.flatnonzero(winners >= 0):
            gains = self.gains(labels, i)
            if gains is not None and gains[winners[i]] > gains[labels[i]] + 1e-9:
                labels[i] = winners[i]
        return labels

    def check(self):
        """What is kept of the clusters is what the labels say."""
        clusters, totals = self.clusters, self.clusters.totals
        sizes, sums = self.counted(clusters.labels)
        prior = self.eta * self.partition.prior_mean
        np.testing.assert_allclose(clusters.sizes, sizes + self.eta)
        np.testing.assert_allclose(totals.totals.T, sums + prior, atol=1e-12)
        weighted = clusters.labels[self.weights > 0]
        np.testing.assert_array_equal(clusters.members, np.bincount(weighted, minlength=SLOTS))
        expected = [self.potential(clusters.labels == k) for k in range(SLOTS)]
        np.testing.assert_allclose(totals.potentials, expected, rtol=1e-10, atol=1e-10)


@pytest.fixture(
    params=[
        ("kl", 2.0, True), ("poisson", 0.0, False), ("cosine", 0.0, True), ("logistic", 2.0, False)
    ],
    ids=str,
)  # fmt: skip
def example(request):
    return Example(*request.param)


def test_rows_find_what_the_literal_rule_finds_and_none_moves(example):
    before = example.clusters.labels.copy()
    np.testing.assert_array_equal(example.find(), example.literal_finds(before))
    np.testing.assert_array_equal(example.clusters.labels, before)


def test_a_pass_is_that_of_the_literal_rule(example):
    expected = example.literal_pass(example.clusters.labels)
    assert (expected != example.clusters.labels).sum() > 5
    example.move_rows(N)  # one pass, however many move
    np.testing.assert_array_equal(example.clusters.labels, expected)
    example.check()


def test_passes_end_where_no_row_gains(example):
    example.move_rows(0)
    labels = example.clusters.labels.copy()
    np.testing.assert_array_equal(example.literal_pass(labels), labels)
    assert (example.clusters.members[:K] > 0).all()  # the last row of a cluster stays
    example.check()


@pytest.fixture(params=[("kl", 2.0, True), ("poisson", 0.0, False)], ids=str)
def scored(request, monkeypatch):
    """An example with linear scores, which only many rows have."""
    monkeypatch.setattr(incremental_totals, "SMALL_ROWS", 0)
    example = Example(*request.param)
    find_slopes(example.clusters, -1, 0, D)
    return example


def test_slopes_are_those_of_a_usual_entry(scored):
    added = scored.weights[:, None] * scored.x
    usual = (added**2).sum(axis=0) / added.sum(axis=0)
    np.testing.assert_allclose(scored.clusters.scores.usual, usual)
    totals = scored.clusters.totals.totals.T
    rise = xlogy(totals + usual, totals + usual) - xlogy(totals, totals)
    np.testing.assert_allclose(scored.clusters.scores.slopes.T, rise / usual, rtol=1e-5, atol=1e-5)


def test_slopes_of_clusters_that_were_not_touched_stay(scored):
    slopes, touched = scored.clusters.scores.slopes, scored.clusters.touched
    slopes[:], touched[:] = -7.0, 3
    touched[1] = 4
    find_slopes(scored.clusters, 3, 0, D)
    assert (slopes[:, 1] != -7.0).all() and (np.delete(slopes, 1, axis=1) == -7.0).all()


def test_linear_scores_find_most_of_the_moves_and_no_others(scored):
    expected = scored.literal_finds(scored.clusters.labels)
    found = scored.find()
    assert set(np.flatnonzero(found >= 0)) <= set(np.flatnonzero(expected >= 0))
    assert (found == expected).mean() > 0.75
    assert np.isfinite(scored.clusters.scores.shift[expected >= 0]).all()


def test_rows_are_not_compared_with_what_has_not_changed():
    example = Example()
    clusters = example.clusters
    before = clusters.labels.copy()
    clusters.compared[:] = clusters.clock[0] = 7
    clusters.bound[:] = np.inf
    clusters.changed[:] = 7
    example.move_rows(0)
    np.testing.assert_array_equal(clusters.labels, before)
    clusters.changed[:, 1] = 8  # to this one alone rows may go at first
    clusters.clock[0] = 8
    example.move_rows(N, tolerances=np.array([np.inf, np.inf]))
    moved = clusters.labels != before
    assert moved.any() and (clusters.labels[moved] == 1).all()


def test_a_row_whose_own_cluster_got_worse_is_compared_with_all():
    example = Example()
    clusters = example.clusters
    before = clusters.labels.copy()
    clusters.compared[:] = clusters.clock[0] = 7
    clusters.bound[:] = 0.0  # what others cost at least
    example.move_rows(N, tolerances=np.array([np.inf, np.inf]))
    np.testing.assert_array_equal(clusters.labels, example.literal_pass(before))


def test_small_changes_wait_until_they_add_up():
    example = Example()
    clusters = example.clusters
    example.move_rows(N, tolerances=np.array([0.0, np.inf]))
    touched = clusters.pending[LARGE] > 0
    assert touched.any()
    assert (clusters.changed[SLIGHT, touched] > 0).all() and not clusters.changed[LARGE].any()


def test_a_row_at_ease_waits_for_large_changes():
    example = Example()
    clusters = example.clusters
    clusters.compared[:] = clusters.clock[0] = 7
    clusters.bound[:] = 1e6  # others cost much more than its own
    clusters.changed[SLIGHT] = 8
    before = clusters.labels.copy()
    example.move_rows(0, comfort=1.05)
    np.testing.assert_array_equal(clusters.labels, before)
    example.move_rows(0, comfort=np.inf)
    assert (clusters.labels != before).any()


def test_unions_and_divisions_keep_totals(example):
    clusters, local = example.clusters, example.local
    unite_slots(clusters, 1, 2)
    assert not (clusters.labels == 2).any() and clusters.members[2] == 0
    assert (clusters.changed[:, 1] == clusters.clock[0]).all() and clusters.clock[0] == 1
    example.check()
    leaving = np.flatnonzero(clusters.labels == 1)[::2]
    part_from(local.rows, local.weights, clusters, leaving, 1, 5)
    assert (clusters.labels[leaving] == 5).all() and clusters.clock[0] == 2
    assert (clusters.changed[:, [1, 5]] == 2).all()
    example.check()
