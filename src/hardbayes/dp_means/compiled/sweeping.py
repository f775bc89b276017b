"""Algorithm 1 as published, row by row and sweep after sweep in one call: where rows are few."""

from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import kernel, part
from hardbayes.core.rows import blend, pick, row_cost
from hardbayes.dp_means.compiled.costs import squared_potential
from hardbayes.dp_means.compiled.totals import move_row


class Trace(NamedTuple):
    """The state after each sweep; index 0 is for the state before the first."""

    clusters: np.ndarray  # (steps + 1,) int64: how many; -1 for none before
    changes: np.ndarray  # (steps + 1,) int64: rows that changed cluster
    potential: np.ndarray  # (steps + 1,)
    remainder: np.ndarray  # (steps + 1,): what float64 cannot hold of it


@kernel
def sweep(
    rows, weights, penalty, constants, centres, used, next_rank, max_clusters, order, totals,
    rounding, weight_rounding, before, labels, trace, partner, slots, zeros, max_changes,
    most_work,
):  # fmt: skip
    """Sweep until at most ``max_changes`` rows change, steps or slots run out, or work is much.

    Squared distances without a prior. A row goes to its cheapest centre, the first of equals, or
    opens a cluster where that costs more than the penalty; means follow after all rows.

    IN/OUT centres: exact, exact_offset and rank of slots in order of creation, the first ``used``
    in use; totals; before (n,) int32: slots of the rows, -1 for none; trace. OUT labels (n,) int32:
    the same as before. SCRATCH partner (2, slots), slots (slots,) int64. IN order (n,): rows as
    they are visited; rounding, weight_rounding: constants of the totals; zeros (d,).

    Returns the number of sweeps, the slots used, whether the last sweep changed the partition, and
    whether rows would have opened clusters but for ``max_clusters``.
    """
    n_rows = order.shape[0]
    d = zeros.shape[0]
    next_rank -= used
    n_clusters = np.int64(0)
    for k in range(used):
        n_clusters += centres.rank[k] >= 0
    changing = True
    refused = False
    step = 0
    while step + 1 < trace.clusters.shape[0] and used + n_rows <= slots.shape[0]:
        step += 1
        known = used
        used, n_clusters, refused = visit(
            rows, weights, penalty, constants, centres, used, next_rank, n_clusters, max_clusters,
            order, labels,
        )  # fmt: skip
        n_changes = 0
        for i in range(n_rows):
            if labels[i] != before[i]:
                n_changes += 1
                move_row(
                    rows, i, pick(weights, i), before[i], labels[i], totals, rounding,
                    weight_rounding, 0, d,
                )  # fmt: skip
        n_clusters = refit(centres, totals, used, slots)
        potential, remainder = squared_potential(totals, 0.0, zeros, slots, n_clusters)
        trace.clusters[step] = n_clusters
        trace.changes[step] = n_changes
        trace.potential[step] = potential
        trace.remainder[step] = remainder
        changing = n_changes > 0
        if used > known and n_clusters == trace.clusters[step - 1]:
            changing = not same_partition(weights, before, labels, partner)
        for i in range(n_rows):
            before[i] = labels[i]
        if not changing or n_changes <= max_changes or n_rows * n_clusters * (d + 8) > most_work:
            break
    return step, used, changing, refused and n_clusters >= max_clusters


@part
def visit(
    rows, weights, penalty, constants, centres, used, next_rank, n_clusters, max_clusters, order,
    labels,
):  # fmt: skip
    """Let every row choose when it is visited; old centres stay where they are."""
    refused = False
    for p in range(order.shape[0]):
        i = np.int64(order[p])
        winner = np.int64(-1)
        best = np.inf
        for k in range(used):
            if centres.rank[k] >= 0:
                cost = row_cost(rows, i, constants, centres, k)
                if cost < best:
                    winner = np.int64(k)
                    best = cost
        if pick(weights, i) * best > penalty:
            if n_clusters < max_clusters:
                winner = np.int64(used)
                blend(rows, i, 0.0, 1.0, centres, winner)
                centres.rank[winner] = next_rank + winner
                used += 1
                n_clusters += 1
            else:
                refused = True
        labels[i] = winner
    return used, n_clusters, refused


@part
def refit(centres, totals, used, slots):
    """Free slots without weight, move the others to their means, list them; return how many."""
    n_taken = np.int64(0)
    for k in range(used):
        if centres.rank[k] < 0:
            continue
        weight = totals.weight_coarse[k] + totals.weight_fine[k]
        if weight == 0.0:
            centres.rank[k] = -1
            continue
        square = 0.0
        for j in range(centres.exact.shape[1]):
            centre = (totals.coarse[k, j] + totals.fine[k, j]) / weight
            centres.exact[k, j] = centre
            square += centre * centre
        centres.exact_offset[k] = square
        slots[n_taken] = k
        n_taken += 1
    return n_taken


@part
def same_partition(weights, before, after, partner):
    """Whether two labellings give rows of positive weight the same partition."""
    for k in range(partner.shape[1]):
        partner[0, k] = partner[1, k] = -1
    for i in range(before.shape[0]):
        if pick(weights, i) == 0.0:
            continue
        old = before[i]
        new = after[i]
        if partner[0, old] < 0:
            partner[0, old] = new
        if partner[1, new] < 0:
            partner[1, new] = old
        if partner[0, old] != new or partner[1, new] != old:
            return False
    return True
