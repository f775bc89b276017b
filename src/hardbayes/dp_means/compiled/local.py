"""Passes over chosen rows, each of which may be in a few slots only: those of its group.

Splits are tried inside every cluster at once, exchanges inside a neighbourhood: here are the steps
of both. Position p of ``ids`` is a row; group g has slots ``first[g]`` to ``first[g + 1]``. Sums
are plain float64, in the order of ``ids``: they propose, exact totals decide.
"""

import numpy as np

from hardbayes.core.compiling import kernel, part
from hardbayes.core.rows import pick, product, row_cost
from hardbayes.dp_means.compiled.single_row import (
    cheapest_other,
    end_first_pass,
    is_worth_it,
    leaving,
    near_factor,
    opening,
    transfer,
)
from hardbayes.dp_means.compiled.totals import add_row, move_row

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
def relocate(
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
            walk(
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
def walk(
    rows, weights, constants, clusters, sizes, members, ids, first, last_slot, places, penalty,
    prior_weight, near, tally, gain, only_near, begin, end,
):  # fmt: skip
    """One pass of `relocate` over the rows of one group, with slots from ``first`` on."""
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
