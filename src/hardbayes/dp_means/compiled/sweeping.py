"""Rows visited one by one: all of a small data set in one call, or chosen ones among a few slots.

`sweep` is Algorithm 1 as published, row by row and sweep after sweep.

The other passes serve splits, which are tried inside every cluster at once, and exchanges, which
are tried inside a neighbourhood. Position p of ``ids`` is a row; group g has slots ``first[g]`` to
``first[g + 1]``, and its rows may be in these only. Sums are plain float64, in the order of
``ids``: they propose, exact totals decide.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.compiling import kernel, part
from hardbayes.core.rows import blend, pick, product, row_cost
from hardbayes.dp_means.compiled.single_row import (
    cheapest_other,
    end_first_pass,
    is_worth_it,
    leaving,
    near_factor,
    opening,
    transfer,
)
from hardbayes.dp_means.compiled.sums import add_row, move_row, squared_potential


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


# Where rows near to moving have gained less than this part of a goal, others will not make it.
HOPE = 0.8


@kernel
def choose(rows, constants, centres, ids, groups, first, places, costs, start, stop):
    """Give rows to the cheapest slot of their group, the first of equals.

    IN groups (m,), first (g + 1,); OUT places (m,) int64, costs (m,).
    """
    for p in range(start, stop):
        i = ids[p]
        winner = np.int64(-1)
        best = np.inf
        for k in range(first[groups[p]], first[groups[p] + 1]):
            cost = row_cost(rows, i, constants, centres, k)
            if winner < 0 or cost < best:
                winner = np.int64(k)
                best = cost
        places[p] = winner
        costs[p] = best


@kernel
def add_up(rows, weights, ids, places, totals, rounding, weight_rounding, start, stop):
    """IN/OUT totals: add each row to its slot; IN rounding constants: zeros for plain sums."""
    d = totals.coarse.shape[1]
    for p in range(start, stop):
        i = ids[p]
        move_row(rows, i, pick(weights, i), -1, places[p], totals, rounding, weight_rounding, 0, d)


@kernel
def project(
    rows, weights, ids, groups, directions, middles, out, totals, rounding, start, stop
):  # fmt: skip
    """Find where rows lie along their group's direction; one step of power iteration from there.

    IN directions (g, d), middles (g,): the centre's coordinate along the direction; OUT out (m,):
    each row's coordinate, from the middle; IN/OUT totals: rows times that, unless it has no slots.
    """
    d = directions.shape[1]
    for p in range(start, stop):
        i = ids[p]
        g = groups[p]
        out[p] = product(rows, i, directions, g) - middles[g]
        if totals.coarse.shape[0] > 0:
            beyond = pick(weights, i) * out[p]
            add_row(rows, i, beyond, g, totals, rounding, 0, d)
            totals.weight_coarse[g] += beyond


@kernel
def mark_border(
    rows, weights, constants, centres, sizes, factors, ids, places, prior_weight, slack, marks,
    start, stop,
):  # fmt: skip
    """OUT marks (m,) bool: rows for which moving alone might pay; and those alone in their slot.

    IN sizes (slots,): weights with the prior's; factors (slots,): what joining a slot costs, over
    the cost there; places (m,): slots of rows ``ids`` (m,).
    """
    for p in range(start, stop):
        i = ids[p]
        own = places[p]
        weight = pick(weights, i)
        left = sizes[own] - weight
        marks[p] = left - prior_weight <= 1e-9 * weight
        if marks[p]:
            continue
        frees = sizes[own] / left * row_cost(rows, i, constants, centres, own)
        for k in range(sizes.shape[0]):
            if k != own:
                pays = factors[k] * row_cost(rows, i, constants, centres, k) * slack
                if pays <= frees:
                    marks[p] = True
                    break


@kernel
def move_rows(
    rows, weights, constants, clusters, sizes, members, ids, groups, first, places, penalty,
    prior_weight, near, some, tally, gain, goals, n_passes, start, stop,
):  # fmt: skip
    """Move rows one by one, each by the exact change of the objective.

    Group by group: all rows, then those near to moving until none of them moves, then all rows
    again; until none of all moves, or ``n_passes`` are made. A group that has reached its goal when
    no row near to moving moves, or is far from it, ends there. The last row to leave a cluster
    frees the penalty too. A slot without members is a cluster not yet opened: it holds the prior
    alone.

    Where clusters are given by totals, some may be as they were when no row could gain. Their rows
    are compared only with the others, the fresh ones, in the first pass.

    IN some: the first pass is for rows near to moving only; goals (g,): what each group should
    gain, NaN for none; IN/OUT clusters: Centres with squared distances, or ClusterTotals, which
    follow every move; sizes (slots,): weights with the prior's; members (slots,) int64: rows of
    positive weight; places (m,) int64; near (m,) bool; tally (2,) int64: how many clusters may
    still be opened, and the number of moves; gain (1,): by how much the objective has fallen.
    """
    end = start
    while end < stop:
        begin = end
        while end < stop and groups[end] == groups[begin]:
            end += 1
        only_near = some
        goal = goals[groups[begin]]
        gained = gain[0]
        for _ in range(n_passes):
            moves = tally[1]
            visit_once(
                rows, weights, constants, clusters, sizes, members, ids, first[groups[begin]],
                first[groups[begin] + 1], places, penalty, prior_weight, near, tally, gain,
                only_near, begin, end,
            )  # fmt: skip
            if n_passes > 1:  # else this may be a part of the pass only
                end_first_pass(clusters, first[groups[begin]], first[groups[begin] + 1])
            unmoved = moves == tally[1]
            so_far = gain[0] - gained
            if unmoved and (not only_near or so_far >= goal or so_far <= HOPE * goal):
                break
            only_near = not unmoved


@part
def visit_once(
    rows, weights, constants, clusters, sizes, members, ids, first, last_slot, places, penalty,
    prior_weight, near, tally, gain, only_near, begin, end,
):  # fmt: skip
    """One pass of `move_rows` over the rows of one group, with slots from ``first`` on."""
    for p in range(begin, end):
        if only_near and not near[p]:
            continue
        i = ids[p]
        weight = pick(weights, i)
        if weight == 0.0:
            near[p] = False
            continue
        own = places[p]
        last = members[own] == 1
        left = prior_weight if last else sizes[own] - weight
        frees = penalty if last else 0.0
        if left > 0.0:
            frees += leaving(rows, i, weight, weight, constants, clusters, sizes, own, left)
        least, winner, unopened = cheapest_other(
            rows, i, weight, constants, clusters, sizes, members, own, first, last_slot
        )
        if unopened >= 0 and not last and tally[0] > 0:
            pays = penalty + opening(rows, i, weight, constants, clusters, prior_weight, unopened)
            if pays < least:
                least = pays
                winner = unopened
        near[p] = least < near_factor(clusters) * frees
        if not is_worth_it(least, frees, weight):
            continue
        tally[0] += np.int64(last) - np.int64(members[winner] == 0)
        tally[1] += 1
        gain[0] += frees - least
        transfer(rows, i, weight, own, winner, left, clusters, sizes, members)
        places[p] = winner
