"""Single-row moves, and local search within trial divisions.

A row leaves its cluster for another, or for one of its own. The objective changes exactly by what
the row frees where it leaves and pays where it joins: Hartigan's rule, and with every row visited
in order the collapsed DP-means of Broderick, Kulis & Jordan 2013, section 4.1. Rows are visited by
compiled functions, or with costs from NumPy for any divergence (`dp_means.moves.potentials`).

Within trial divisions rows choose among the few clusters of their group: one by one where moves are
compiled, else by turns. `dp_means.passes` picks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from hardbayes.dp_means.moves import NO_ROWS, PartitionProposal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.core.arrays import Floats
    from hardbayes.dp_means.local_rows import LocalRows
    from hardbayes.dp_means.objective import Partition
    from hardbayes.dp_means.state import PartitionState
    from hardbayes.dp_means.trials import GroupedRows, MovingClusters

    Ids = NDArray[np.intp]


SPARE = 32  # slots kept ready for clusters that rows open


class LocalPenalties(NamedTuple):
    """What a group pays for each cluster that it uses, where rows are in groups."""

    penalty: float
    groups: Ids  # (m,): the group of each row
    pairs: NDArray[np.int32]  # (groups, k): rows of positive weight of a group in a cluster


class Clusters(NamedTuple):
    """Clusters before rows move."""

    weights: Floats  # (k,)
    centres: Floats  # (k, d)
    members: NDArray[np.int64]  # (k,): rows of positive weight
    local_penalties: LocalPenalties | None = None


class RowMoves(NamedTuple):
    """What single-row moves did."""

    n_moves: int
    gain: float  # by how much the objective fell
    opened: Floats  # (m, d): centres of clusters that rows opened


class MoveRows(Protocol):
    """Single-row moves."""

    def __call__(
        self,
        local: LocalRows,
        partition: Partition,
        numbers: Ids,
        clusters: Clusters,
        max_passes: int,
    ) -> RowMoves:
        """Visit rows one after the other; each goes to where the objective is lowest.

        IN/OUT numbers (m,): clusters of the rows.
        """


def propose_row_moves(
    state: PartitionState,
    partition: Partition,
    move_rows: MoveRows,
    ids: Ids,
    max_passes: int = 1,
    local_penalties: LocalPenalties | None = None,
) -> PartitionProposal | None:
    """Propose to move some of these rows, visited one after the other.

    In several passes, rows may have to wait for the next before they can open a cluster.
    """
    if not len(ids):
        return None
    weights, centres = state.centres()
    clusters = Clusters(weights, centres, state.member_counts(), local_penalties)
    numbers = state.numbers(ids).astype(np.intp)
    moves = move_rows(state.rows.take(ids), partition, numbers, clusters, max_passes)
    if not moves.n_moves:
        return None
    return PartitionProposal(-moves.gain, ids, numbers, moves.opened)


def propose_all_row_moves(
    state: PartitionState, partition: Partition, rng: np.random.RandomState
) -> PartitionProposal | None:
    """Propose to move rows one after the other, of all rows in memory; no cluster opens.

    Each row is compared with all clusters first, then with those that have changed since. For
    clusters whose potentials have a formula.
    """
    weights, centres = state.centres()
    before = np.maximum(state.numbers(), 0)  # rows of no weight may have no cluster; they stay
    moving = state.rows.take().incremental(
        partition.moving_form(centres), before, weights, len(weights), rng
    )
    fit = moving.fit()
    moving.move_rows(0)
    ids = np.flatnonzero(moving.labels != before)
    if not len(ids):
        return None
    return PartitionProposal(moving.fit() - fit, ids, moving.labels[ids].astype(np.intp))


def border_rows(
    state: PartitionState, partition: Partition, slack: float, part: slice | None = None
) -> Ids:
    """Return the rows for which moving alone might pay, as clusters are now; and lone rows.

    Of all rows, or of a part.

    To join a cluster of size N costs ``N / (N + w)`` times the cost there or more, w being the
    largest weight; to leave one frees ``N / (N - w)`` times it. The first may exceed the second by
    a factor ``1 / slack``, because a row may pay once its neighbours have moved. An executor
    proposes rows, and this test, by the direct formula, decides: so all executors give the same.
    """
    weights, centres = state.centres()
    form, eta = partition.direct_form(centres), partition.prior_weight
    found = [NO_ROWS]
    for each in state.parts() if part is None else [part]:
        ids = state.candidates(slack, each)
        if not len(ids):
            continue
        numbers = state.numbers(ids).astype(np.intp)
        local = state.rows.take(ids)
        near = local.near_border(form, numbers, weights + eta, eta, state.rows.heaviest, slack)
        found.append(ids[near])
    return np.concatenate(found)


def move_rows_compiled(
    local: LocalRows, partition: Partition, numbers: Ids, clusters: Clusters, max_passes: int
) -> RowMoves:
    """Visit rows by the compiled rule."""
    if clusters.local_penalties is not None:
        return _move_with_local_penalties(local, partition, numbers, clusters, max_passes)
    weights, centres, members, _ = clusters
    k, n_rows = len(weights), local.n_rows
    eta = partition.prior_weight
    moving = local.moving(partition.moving_form(centres), weights, members, eta)
    n_moves, gain, start = 0, 0.0, 0
    while start < n_rows:
        n_ready = int(np.count_nonzero(moving.members == 0))
        if n_ready < SPARE:
            moving = _with_room(local, partition, moving)
            n_ready += SPARE
        # A row opens one cluster at most: so many rows are never short of a slot.
        stop = min(start + n_ready if max_passes == 1 else n_rows, n_rows)
        positions = np.arange(start, stop)
        n_slots = len(moving.members)
        grouped = local.group(positions, np.zeros(len(positions), np.intp), np.array([0, n_slots]))
        grouped.places[:] = numbers[start:stop]
        room = partition.max_clusters - int(np.count_nonzero(moving.members))
        moved = grouped.move_rows(moving, partition.penalty, room, max_passes)
        n_moves, gain = n_moves + moved.n_moves, gain + moved.gain
        numbers[start:stop] = grouped.places
        start = stop
    return RowMoves(n_moves, gain, moving.centres[k : numbers.max() + 1])


def _move_with_local_penalties(
    local: LocalRows, partition: Partition, numbers: Ids, clusters: Clusters, max_passes: int
) -> RowMoves:
    """Visit rows in groups, which pay for the clusters they use; a few may open clusters."""
    weights, centres, members, paid = clusters
    assert paid is not None
    k = len(weights)
    moving = local.moving(partition.direct_form(centres), weights, members, partition.prior_weight)
    moving = _with_room(local, partition, moving)
    pairs = np.append(paid.pairs, np.zeros((len(paid.pairs), SPARE), np.int32), axis=1)
    places = numbers.astype(np.int64)
    room = partition.max_clusters - int(np.count_nonzero(moving.members))
    moved = local.move_rows_with_local_penalties(
        moving, paid.groups, pairs, places, (paid.penalty, partition.penalty), room, max_passes
    )
    numbers[:] = places
    return RowMoves(moved.n_moves, moved.gain, moving.centres[k : numbers.max() + 1])


def _with_room(local: LocalRows, partition: Partition, moving: MovingClusters) -> MovingClusters:
    """Return the clusters with more slots that hold nothing but the prior."""
    prior = np.tile(partition.prior_mean, (SPARE, 1))
    return local.moving(
        partition.moving_form(np.append(moving.centres, prior, axis=0)),
        np.append(moving.sizes - partition.prior_weight, np.zeros(SPARE)),
        np.append(moving.members, np.zeros(SPARE, np.int64)),
        partition.prior_weight,
    )


MAX_PASSES = 16  # of a local search, patience: it ends before if no row moves


class Refine(Protocol):
    """Local search."""

    def __call__(
        self,
        grouped: GroupedRows,
        partition: Partition,
        penalty: float,
        room: int,
        before: Floats | None = None,
        fresh: NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats]:
        """Improve ``grouped.places``; return weights (slots,) and centres (slots, d).

        ``penalty``: what an opened cluster costs; ``room``: how many may be opened; ``before``
        (g,): the potential, less penalties, that each group should exceed, if that is all that
        matters; ``fresh`` (slots,): clusters that are not as they were when no row could gain.
        """


def refine_by_rows(
    grouped: GroupedRows,
    partition: Partition,
    penalty: float,
    room: int,
    before: Floats | None = None,
    fresh: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats]:
    """Move rows one by one, by exact changes of the objective, where these are compiled."""
    weights, centres = _clusters(grouped, partition)
    clusters = grouped.moving(partition.moving_form(centres), weights, partition.prior_weight)
    goals, worth = None, clusters.worth(penalty)
    if before is not None and worth is not None:
        goals = before - np.add.reduceat(worth, grouped.first[:-1])
    grouped.move_rows(clusters, penalty, room, MAX_PASSES, goals, fresh)
    weights = np.where(clusters.members > 0, clusters.sizes - partition.prior_weight, 0.0)
    return weights, clusters.centres


def refine_by_turns(
    grouped: GroupedRows,
    partition: Partition,
    penalty: float,
    room: int,
    before: Floats | None = None,
    fresh: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats]:
    """All rows choose, then the centres follow: for any divergence. No cluster is opened."""
    weights, centres = _clusters(grouped, partition)
    for _ in range(MAX_PASSES):
        places = grouped.places.copy()
        grouped.choose(partition.direct_form(centres), closed=weights == 0)
        if np.array_equal(places, grouped.places):
            break
        weights, centres = _clusters(grouped, partition)
    return weights, centres


def _clusters(grouped: GroupedRows, partition: Partition) -> tuple[Floats, Floats]:
    """Return weights (slots,) and centres (slots, d); empty slots are at the prior's mean."""
    weights, totals = grouped.totals()
    empty = weights == 0
    if empty.any():
        totals[empty] = partition.prior_mean
        return weights, partition.centres(np.where(empty, 1.0, weights), totals)
    return weights, partition.centres(weights, totals)
