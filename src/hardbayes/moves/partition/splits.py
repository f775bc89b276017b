"""Splits: a cluster becomes two where that is cheaper.

Every cluster is divided in several ways at once, each from its own start: along its widest
direction, and around pairs of rows drawn by their cost. On large data a seeded sample proposes; all
rows judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.moves.partition.local_search import refine
from hardbayes.moves.partition.merges import WORTHWHILE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition

# Ways in which a cluster is divided, the first along its widest direction: so many, or more while
# clusters are few, and each holds many that might be told apart.
STARTS = 3
STARTS_IN_ALL = 12
STRETCHES = 2  # steps of power iteration towards it
# Rows that propose: as many as this, or so many for each cluster.
SAMPLE = 1 << 13
SAMPLE_A_CLUSTER = 128
# Entries of the centres that are divided together.
LARGEST_BATCH = 1 << 19
# A cluster that gained or lost less than this part of its weight, and moved for less than this part
# of the penalty, is not divided anew.
HARDLY = 0.02


class Divisions(NamedTuple):
    """For every cluster the best way found to make two of it, and how it was at that time."""

    saved: Floats  # (k,): how much lower the objective would be, the penalty aside
    left: Floats  # (k, d): centres of the two parts
    right: Floats  # (k, d)
    names: NDArray[np.int64]  # (k,): never given twice
    weights: Floats  # (k,)
    centres: Floats  # (k, d)

    def pay(self, penalty: float) -> NDArray[np.bool_]:
        """Whether each of them saves more than the penalty of one more cluster."""
        return self.saved > penalty * (1 + WORTHWHILE)


def split_clusters(executor: MemoryExecutor, partition: Partition, divisions: Divisions) -> int:
    """Split clusters where that lowers the objective; return how many were."""
    room = partition.max_clusters - executor.n_clusters
    chosen = np.flatnonzero(divisions.pay(partition.penalty))
    chosen = chosen[np.argsort(-divisions.saved[chosen], kind="stable")][: max(room, 0)]
    if not len(chosen):
        return 0
    old = executor.n_clusters
    _divide(executor, divisions, chosen)
    weights, totals = executor.totals()
    new = np.arange(old, len(weights))
    real = np.flatnonzero((weights[chosen] > 0) & (weights[new] > 0))
    sides = [
        (weights[side], partition.centres(weights[side], totals[side]))
        for side in (chosen[real], new[real])
    ]
    saved = partition.union_costs(*sides[0], *sides[1])
    divisions.saved[chosen] = 0.0  # what all rows say counts from now on, not what a sample hoped
    divisions.saved[chosen[real]] = saved
    stays = np.zeros(len(new), bool)
    stays[real] = saved > partition.penalty * (1 + WORTHWHILE)
    divisions.names[chosen[stays]] = -1  # a part may be most of the cluster, and still be another
    numbers = np.arange(len(weights))
    numbers[new[~stays]] = chosen[~stays]  # back to where they came from
    executor.relabel(numbers)
    executor.recount()
    executor.close(np.append(np.zeros(old, bool), ~stays))
    return int(stays.sum())


def _divide(executor: MemoryExecutor, divisions: Divisions, chosen: NDArray[np.intp]) -> None:
    """Give each row of these clusters to the nearer of the two parts; count the totals."""
    n_before = executor.n_clusters
    executor.open_at(divisions.right[chosen])
    group_of = np.full(executor.n_clusters, -1)
    group_of[chosen] = np.arange(len(chosen))
    first = np.arange(0, 2 * len(chosen) + 1, 2)
    centres = np.stack([divisions.left[chosen], divisions.right[chosen]], axis=1)
    for ids in executor.rows_in(chosen):
        local = executor.local(ids, group_of[executor.cluster_numbers(ids)], first)
        local.choose(centres.reshape(2 * len(chosen), -1))
        goes = local.places % 2 == 1
        executor.reassign(ids[goes], n_before + local.places[goes] // 2)
    executor.recount()


def divide_clusters(
    executor: MemoryExecutor,
    partition: Partition,
    rng: np.random.RandomState,
    known: Divisions | None,
) -> Divisions:
    """Find for every cluster the best of several divisions in two.

    Clusters that have hardly changed keep the division ``known``.
    """
    weights, totals = executor.totals()
    centres = partition.centres(weights, totals)
    k, d = centres.shape
    found = Divisions(
        np.zeros(k), centres.copy(), centres.copy(), executor.cluster_names, weights, centres
    )
    ids, numbers = executor.sample_by_cluster(max(SAMPLE, SAMPLE_A_CLUSTER * k), rng)
    wanted = np.ones(k, bool)
    if known is not None:
        wanted = ~_keep_known(partition, found, known)
    for batch in np.array_split(np.flatnonzero(wanted), -(-k * d // LARGEST_BATCH)):
        position = np.full(k, -1)
        position[batch] = np.arange(len(batch))
        inside = position[numbers] >= 0
        if inside.any():
            found.saved[batch], found.left[batch], found.right[batch] = _best_divisions(
                executor, partition, ids[inside], position[numbers[inside]], weights[batch],
                centres[batch], rng,
            )  # fmt: skip
    return found


def _keep_known(partition: Partition, found: Divisions, known: Divisions) -> NDArray[np.bool_]:
    """Take over what is known of clusters that have hardly changed; return which they are."""
    _, now, then = np.intersect1d(found.names, known.names, return_indices=True)
    moved = found.weights[now] * partition.geometry.divergence(
        found.centres[now], known.centres[then]
    )
    grown = np.abs(found.weights[now] - known.weights[then])
    same = (moved < HARDLY * partition.penalty) & (grown < HARDLY * known.weights[then])
    now, then = now[same], then[same]
    for fresh, old in zip(found[:3], known[:3], strict=True):
        fresh[now] = old[then]
    kept = np.zeros(len(found.names), bool)
    kept[now] = True
    return kept


def _best_divisions(
    executor: MemoryExecutor,
    partition: Partition,
    ids: NDArray[np.intp],
    numbers: NDArray[np.intp],
    weights: Floats,
    centres: Floats,
    rng: np.random.RandomState,
) -> tuple[Floats, Floats, Floats]:
    """Return what the best division of each cluster saves (k,), and its two centres (k, d).

    ``ids`` (m,): rows sorted by the ``numbers`` (m,) of their clusters, which have ``weights`` (k,)
    and ``centres`` (k, d) with rows that may not be among them.
    """
    k = len(centres)
    sides = _start(executor, ids, numbers, centres, rng)
    starts = len(sides)
    groups = np.tile(numbers, starts) + np.repeat(np.arange(starts) * k, len(ids))
    first = np.arange(0, 2 * k * starts + 1, 2)
    local = executor.local(np.tile(ids, starts), groups, first)
    local.places[:] = sides.ravel() + 2 * groups
    part_weights, parts = refine(local, partition, 0.0, 0)
    # The parts as they would be if the sample were the whole, whose prior then weighs less.
    both = (part_weights[0::2] > 0) & (part_weights[1::2] > 0)
    sampled = np.where(both, part_weights[0::2] + part_weights[1::2], 1.0)
    share = np.repeat(np.tile(weights, starts) / sampled, 2)
    part_totals = (part_weights + partition.prior_weight)[:, np.newaxis] * parts
    part_totals -= partition.prior_weight * partition.prior_mean
    part_totals *= share[:, np.newaxis]
    part_weights = share * part_weights
    undivided = np.repeat(~both, 2)  # both parts stand where the cluster does
    part_weights[undivided] = 1.0
    part_totals[undivided] = np.tile(np.repeat(centres, 2, axis=0), (starts, 1))[undivided]
    parts = partition.centres(part_weights, part_totals)
    saved = partition.union_costs(part_weights[0::2], parts[0::2], part_weights[1::2], parts[1::2])
    saved = np.where(both, saved, 0.0).reshape(starts, k)
    best = saved.argmax(axis=0)
    at = 2 * (best * k + np.arange(k))
    return saved[best, np.arange(k)], parts[at], parts[at + 1]


def _start(
    executor: MemoryExecutor,
    ids: NDArray[np.intp],
    numbers: NDArray[np.intp],
    centres: Floats,
    rng: np.random.RandomState,
) -> NDArray[np.bool_]:
    """Return on which side each row (starts, m) begins."""
    k, m = len(centres), len(ids)
    starts = max(STARTS, STARTS_IN_ALL // k)
    whole = executor.local(ids, numbers, np.arange(k + 1))
    row_weights = executor.weights_of(ids)
    costs: Floats = np.broadcast_to(row_weights * whole.choose(centres), (starts, m))
    seeds = _draw(costs, numbers, k, rng)
    rows = executor.dense_rows(ids[seeds.ravel()])
    sides = np.empty((starts, m), bool)

    directions: Floats = rows[:k] - centres
    for _ in range(STRETCHES):
        directions = whole.stretch(directions, centres)
    sides[0] = whole.along(directions, centres) > 0

    pairs = starts - 1
    groups = np.tile(numbers, pairs) + np.repeat(np.arange(pairs) * k, m)
    copies = executor.local(np.tile(ids, pairs), groups, np.arange(pairs * k + 1))
    distances = copies.choose(rows[k:]).reshape(pairs, m)
    rivals = _draw(row_weights * distances, numbers, k, rng)
    rows = executor.dense_rows(ids[rivals.ravel()])
    sides[1:] = copies.choose(rows).reshape(pairs, m) < distances
    return sides


def _draw(
    chances: Floats, numbers: NDArray[np.intp], k: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw a position (draws, k) in each cluster, by chances (draws, m) of rows sorted by it.

    Where nothing has a chance, or the cluster has no rows, any position.
    """
    ends = np.searchsorted(numbers, np.arange(k), side="right")
    starts = np.r_[0, ends[:-1]]
    drawn = np.empty((len(chances), k), np.intp)
    for draw, chance in enumerate(chances):
        heap = np.concatenate([[0.0], np.cumsum(chance)])
        target = heap[starts] + rng.random_sample(k) * (heap[ends] - heap[starts])
        drawn[draw] = np.searchsorted(heap, target, side="right") - 1
    return np.clip(drawn, starts, np.maximum(ends - 1, starts)).clip(0, len(numbers) - 1)
