"""Several sweeps in one compiled call, for data so small that the interpreter takes the time.

A sweep over a hundred rows takes microseconds, the calls between two of them a hundred times that.
The kernel is Algorithm 1 as published, row by row; the same exact totals give the same bits as the
passes over tiles. It also spares a first fit on small data the compilation of those passes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import DirectForm, Totals, VisitOrder, no_totals
from hardbayes.dp_means.centres import ClusterList
from hardbayes.dp_means.compiled.sweeping import Trace, sweep
from hardbayes.dp_means.local_rows import LocalRows
from hardbayes.dp_means.objective import Partition
from hardbayes.dp_means.state import PartitionState, Potential
from hardbayes.dp_means.totals import Rounding

# What a sweep may take in one call, in entries of rows compared with centres: about as long as it
# takes to set up the passes over tiles.
MAX_WORK = 3 << 16
MIN_CLUSTERS = 8  # that a fit is expected to have in the end
# The kernel stops when fewer slots than rows are left: every row might open a cluster.
SLOTS_A_ROW = 2
MAX_STEPS = 256  # in one call, so that Ctrl-C is prompt


class Start(NamedTuple):
    """Clusters and labels before the first sweep; clusters are numbered in order of creation."""

    labels: NDArray[np.int32]  # (n,): number of each row's cluster, -1 for none
    clusters: ClusterList
    totals: Totals  # (k, d)
    n_clusters: int  # after the sweep before, -1 for none


class Limits(NamedTuple):
    """What a sweep costs and when sweeps end."""

    penalty: float
    max_clusters: int
    max_changes: int  # sweeps end when no more rows than this change
    max_steps: int


class Sweeps(NamedTuple):
    """What several sweeps did, and the clusters after the last."""

    points: list[Potential]  # after each
    n_changed: list[int]  # rows, in each
    changing: bool  # whether the last one changed the partition
    is_capped: bool  # whether rows would have opened clusters but for max_clusters
    labels: NDArray[np.int32]  # (n,): number of each row's cluster
    clusters: ClusterList
    totals: Totals  # (k, d)


def is_small(state: PartitionState) -> bool:
    """Whether sweeps over these rows are worth doing in one call."""
    rows = state.rows
    work = rows.n_rows * max(state.n_clusters, MIN_CLUSTERS) * (rows.n_columns + 8)
    return work <= MAX_WORK and rows.n_rows <= rows.most_taken


def sweep_small(
    state: PartitionState,
    order: VisitOrder,
    partition: Partition,
    max_changes: int,
    max_steps: int,
    n_clusters: int,
) -> Sweeps:
    """Let a state sweep, with births and refits, until few rows change.

    Costs are squared distances without a prior. ``n_clusters``: after the last sweep, -1 where this
    is the first.
    """
    local, rounding = state.rows.take(), state.rows.rounding
    start = Start(state.numbers(), *state.clusters(), n_clusters)
    limits = Limits(partition.penalty, partition.max_clusters, max_changes, max_steps)
    swept = sweep_rows(local, order.rows(local.n_rows), start, limits, rounding)
    state.start_from(swept.clusters, swept.labels, swept.totals)
    return swept


def sweep_rows(
    local: LocalRows,
    order: NDArray[np.signedinteger],
    start: Start,
    limits: Limits,
    rounding: Rounding,
) -> Sweeps:
    """Sweep until few rows change; fewer times where there come to be many clusters.

    ``order`` (n,): rows as they are visited.
    """
    n, d = local.n_rows, local.n_columns
    k, next_rank = len(start.clusters.ranks), start.clusters.next_rank
    slots = k + SLOTS_A_ROW * n
    exact, ranks = np.zeros((slots, d)), np.full(slots, -1)
    exact[:k], ranks[:k] = start.clusters.centres, start.clusters.ranks
    form = DirectForm(exact, np.einsum("ij,ij->i", exact, exact), True)
    centres = local.centres(form)._replace(rank=ranks)
    totals = no_totals(slots, d)
    for new, old in zip(totals, start.totals, strict=True):
        new[:k] = old[:k]
    before = start.labels.copy()
    labels = np.empty_like(before)
    most = min(limits.max_steps, MAX_STEPS) + 1
    trace = Trace(*np.zeros((2, most), np.int64), *np.zeros((2, most)))
    trace.clusters[0] = start.n_clusters
    n_steps, used, changing, refused = sweep(
        local.rows, local.weights, limits.penalty, local.constants, centres, k, next_rank,
        limits.max_clusters, order, totals, rounding.rows, rounding.weights, before, labels, trace,
        np.empty((2, slots), np.int64), np.empty(slots, np.int64), np.zeros(d),
        limits.max_changes, MAX_WORK,
    )  # fmt: skip
    done, kept = slice(1, n_steps + 1), np.flatnonzero(ranks >= 0)
    numbers = np.full(slots, -1, np.int32)
    numbers[kept] = np.arange(len(kept))
    steps = (trace.clusters[done], trace.potential[done], trace.remainder[done])
    return Sweeps(
        [Potential(*point) for point in zip(*(step.tolist() for step in steps), strict=True)],
        trace.changes[done].tolist(),
        changing,
        refused,
        numbers[labels],
        ClusterList(exact[kept], ranks[kept], next_rank + used - k),
        Totals(*(part[kept] for part in totals)),
    )
