"""Single-row moves: a row leaves its cluster for another, or for one of its own, where that pays.

The objective changes exactly by what the row frees where it leaves and pays where it joins:
Hartigan's rule, and with every row visited in order the collapsed DP-means of Broderick, Kulis &
Jordan 2013, section 4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.moves.partition.priced_rows import walk_priced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardbayes.executors.local import MovingClusters
    from hardbayes.executors.memory import MemoryExecutor
    from hardbayes.matrices import Floats
    from hardbayes.structure.partition import Partition

SPARE = 32  # slots kept ready for clusters that rows open


def relocate_rows(
    executor: MemoryExecutor, partition: Partition, ids: NDArray[np.intp], max_passes: int = 1
) -> int:
    """Let these rows move, one after the other; return the number of moves.

    In several passes, rows may have to wait for the next before they can open a cluster.
    """
    weights, totals = executor.totals()
    centres = partition.centres(weights, totals)
    numbers = executor.cluster_numbers(ids).astype(np.intp)
    members = executor.member_counts()
    walk = _walk_compiled if partition.geometry.squared_distance else walk_priced
    n_moves, opened = walk(executor, partition, ids, numbers, weights, centres, members, max_passes)
    if n_moves:
        executor.open_at(opened)
        executor.reassign(ids, numbers)
    return n_moves


def _walk_compiled(
    executor: MemoryExecutor,
    partition: Partition,
    ids: NDArray[np.intp],
    numbers: NDArray[np.intp],
    weights: Floats,
    centres: Floats,
    members: NDArray[np.int64],
    max_passes: int,
) -> tuple[int, Floats]:
    """Walk through the rows by the compiled rule for squared distances.

    OUT numbers (m,): clusters of the rows. Returns the moves and the centres of clusters opened.
    """
    n_clusters = len(weights)
    clusters = executor.moving(weights, members, centres, partition.prior_weight)
    n_moves = start = 0
    while start < len(ids):
        n_ready = int(np.count_nonzero(clusters.members == 0))
        if n_ready < SPARE:
            clusters = _with_room(executor, partition, clusters)
            n_ready += SPARE
        # A row opens one cluster at most: so many rows are never short of a slot.
        stop = start + n_ready if max_passes == 1 else len(ids)
        part = slice(start, stop)
        n_slots = len(clusters.members)
        local = executor.local(ids[part], np.zeros(len(ids[part]), np.intp), np.array([0, n_slots]))
        local.places[:] = numbers[part]
        room = partition.max_clusters - int(np.count_nonzero(clusters.members))
        n_moves += local.relocate(clusters, partition.penalty, room, max_passes)
        numbers[part] = local.places
        start = stop
    return n_moves, clusters.centres[n_clusters : numbers.max() + 1]


def _with_room(
    executor: MemoryExecutor, partition: Partition, clusters: MovingClusters
) -> MovingClusters:
    """Return the clusters with more slots that hold nothing but the prior."""
    return executor.moving(
        np.append(clusters.sizes - partition.prior_weight, np.zeros(SPARE)),
        np.append(clusters.members, np.zeros(SPARE, np.int64)),
        np.append(clusters.centres, np.tile(partition.prior_mean, (SPARE, 1)), axis=0),
        partition.prior_weight,
    )
