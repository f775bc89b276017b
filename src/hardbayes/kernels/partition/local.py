"""Passes over chosen rows, each of which may live in a few slots only: those of its group.

Splits are tried inside every cluster at once, exchanges inside a neighbourhood: here are the steps
that both are made of. Position p of ``ids`` names a row; group g owns slots ``first[g]`` to
``first[g + 1]``. Sums are plain float64, in the order of ``ids``: they propose, exact totals judge.
"""

import numpy as np

from hardbayes.kernels.compiling import kernel, part
from hardbayes.kernels.partition.rows import blend, pick, product, row_cost
from hardbayes.kernels.partition.totals import add_row

# A row moves only where that gains more than rounding could feign.
NOISE = 1e-12
FLOOR = 1e-15
# Between two passes over all rows only those move whose best other cluster costs them at most so
# many times their own.
NEAR = 1.2


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
def add_up(rows, weights, ids, places, totals, snaps, start, stop):
    """IN/OUT totals: add each row to its slot; IN snaps: zeros, for sums as they come."""
    d = totals.coarse.shape[1]
    for p in range(start, stop):
        i = ids[p]
        weight = pick(weights, i)
        add_row(rows, i, weight, places[p], totals, snaps, 0, d)
        totals.weight_coarse[places[p]] += weight


@kernel
def spread(rows, weights, ids, groups, directions, middles, totals, snaps, start, stop):
    """One step of power iteration on every group's scatter.

    IN directions (g, d), middles (g,): the centre's coordinate along the direction; IN/OUT totals:
    rows times their coordinate beyond the middle.
    """
    d = directions.shape[1]
    for p in range(start, stop):
        i = ids[p]
        g = groups[p]
        beyond = pick(weights, i) * (product(rows, i, directions, g) - middles[g])
        add_row(rows, i, beyond, g, totals, snaps, 0, d)
        totals.weight_coarse[g] += beyond


@kernel
def project(rows, ids, groups, directions, middles, out, start, stop):
    """OUT out (m,): each row's coordinate along its group's direction, from the middle."""
    for p in range(start, stop):
        g = groups[p]
        out[p] = product(rows, ids[p], directions, g) - middles[g]


@kernel
def relocate(
    rows, weights, constants, centres, sizes, members, ids, groups, first, places, penalty,
    prior_weight, near, some, tally, n_passes, start, stop,
):  # fmt: skip
    """Let rows move one by one, each judged by the exact change of the objective.

    Group by group, again and again: all rows, then those that came near to moving until none of
    them moves, then all rows; until none of all moves, or ``n_passes`` are made.

    With squared distances a row of weight w pays ``w N / (N + w) d^2`` to join a cluster of weight
    N, and frees ``w N / (N - w) d^2`` where it leaves one; the last to leave frees the penalty
    too. A slot without members is a cluster not yet opened: it holds the prior alone.

    IN some: the first pass is for those near to moving only; IN/OUT centres: exact and
    exact_offset follow every move; sizes (slots,): weights with the prior's; members (slots,)
    int64: rows of any weight; places (m,) int64; near (m,) bool; tally (2,) int64: how many
    clusters may still be opened, and the number of moves.
    """
    end = start
    while end < stop:
        begin = end
        while end < stop and groups[end] == groups[begin]:
            end += 1
        only_near = some
        for _ in range(n_passes):
            moves = tally[1]
            walk(
                rows, weights, constants, centres, sizes, members, ids, first[groups[begin]],
                first[groups[begin] + 1], places, penalty, prior_weight, near, tally, only_near,
                begin, end,
            )  # fmt: skip
            still = moves == tally[1]
            if still and not only_near:
                break
            only_near = not still


@part
def walk(
    rows, weights, constants, centres, sizes, members, ids, first, last_slot, places, penalty,
    prior_weight, near, tally, only_near, begin, end,
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
        freed = penalty if last else 0.0
        if left > 0.0:
            freed += weight * sizes[own] / left * row_cost(rows, i, constants, centres, own)
        least = np.inf
        winner = np.int64(-1)
        fresh = np.int64(-1)
        for k in range(first, last_slot):
            if members[k] == 0:
                if fresh < 0:
                    fresh = np.int64(k)
            elif k != own:
                price = weight * sizes[k] * row_cost(rows, i, constants, centres, k)
                if price < least * (sizes[k] + weight):  # a division for the best alone
                    least = price / (sizes[k] + weight)
                    winner = np.int64(k)
        if fresh >= 0 and not last and tally[0] > 0:
            price = penalty
            if prior_weight > 0.0:
                factor = weight * prior_weight / (prior_weight + weight)
                price += factor * row_cost(rows, i, constants, centres, fresh)
            if price < least:
                least = price
                winner = fresh
        near[p] = least < NEAR * freed
        if not least < freed - NOISE * freed - FLOOR * np.sqrt(weight * freed):
            continue
        if left > 0.0:
            blend(rows, i, sizes[own] / left, -weight / left, centres, own)
        share = weight / (sizes[winner] + weight)
        blend(rows, i, 1.0 - share, share, centres, winner)
        sizes[own] = left
        sizes[winner] += weight
        tally[0] += np.int64(last) - np.int64(members[winner] == 0)
        tally[1] += 1
        members[own] -= 1
        members[winner] += 1
        places[p] = winner
