"""The partition's decision: each row goes to its cheapest centre.

Scores in their own type propose, and decide where their error bound leaves no doubt; elsewhere the
direct formula in float64 does, ties going to the centre created first. Bounds carried from sweep to
sweep prove for most rows that nothing can have changed: ``upper`` bounds what the row's own centre
costs it, ``lower[g]`` all other centres of group ``g`` (Hamerly 2010 with one group, Ding et al.
2015 with many). Rows that the bounds leave undecided are scored in batches.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from hardbayes.core.compiling import INLINE, inlined, kernel, part
from hardbayes.core.rows import (
    RUN,
    DenseRows,
    pick,
    read_row,
    row_cost,
    score_blocks,
    score_error,
    score_range,
)
from hardbayes.dp_means.compiled.centres import (
    NARROW32,
    above,
    carries,
    cost_slack,
    from_above,
    from_below,
)
from hardbayes.dp_means.compiled.sums import move_row


@inlined
def beats(cost, k, best, winner, rank):
    """Whether slot ``k`` is cheaper than the winner so far, or as cheap and older."""
    return winner < 0 or cost < best or (cost == best and rank[k] < rank[winner])


@inlined
def cheapest(rows, i, constants, centres, first, last, own, winner, best, next_best):
    """Return the winner so far, its cost and the next, or those of slots ``first`` to ``last``.

    By the direct formula. The ``own`` slot is left out, and so are free ones.
    """
    for k in range(first, last):
        if k != own and centres.rank[k] >= 0:
            cost = row_cost(rows, i, constants, centres, k)
            if beats(cost, k, best, winner, centres.rank):
                next_best = best
                best = cost
                winner = np.int64(k)
            else:
                next_best = min(next_best, cost)
    return winner, best, next_best


# By how much scores in float64 err less than those in float32.
FINER = 2.0**-29


class Cells(NamedTuple):
    """Runs of blocks of which only the two least scores are kept."""

    slots: int  # in each
    number: int
    in_group: int


# Marks of rows in a sweep, zero for most: every centre costs more than the opening cost; a cluster
# that was opened costs no more; and the row has opened one itself.
ABOVE = np.uint8(1)
COVERED = np.uint8(2)
OPENER = np.uint8(3)


@kernel
def assign(
    rows, weights, opening, constants, centres, bounds, labels, marks, totals, rounding,
    weight_rounding, batch, start, stop,
):  # fmt: skip
    """Give rows ``start`` to ``stop`` to their cheapest centres, and let the totals follow.

    IN weights, opening, constants (n,) or (1,); IN/OUT bounds, labels (n,) int32; OUT marks (n,)
    uint8: ABOVE where even the cheapest centre costs more than the row's opening cost; IN/OUT
    totals: all other rows move there, unless it has no slots; IN rounding, weight_rounding: its
    constants; SCRATCH batch. Returns the number of rows above, of those whose label changed, of
    those whose scores left two centres undecided that finer ones would tell apart, and how many
    groups of centres were scored in all.
    """
    n_above = np.int64(0)
    n_changed = np.int64(0)
    n_doubtful = np.int64(0)
    n_scored = np.int64(0)
    size = np.int64(0)
    for first in range(start, stop, RUN):
        last = min(first + RUN, stop)
        n_open = last - first
        if carries(bounds):
            n_open, n_near = rule_out(
                weights, opening, constants, centres, bounds, labels, batch, first, last
            )
            n_open, n_found = check_own_centre(
                rows, weights, opening, constants, centres, bounds, labels, marks, batch, n_open,
                n_near,
            )  # fmt: skip
            n_above += n_found
        else:
            for i in range(first, last):
                batch.open_ids[i - first] = i
                batch.open_costs[i - first] = np.inf
        for p in range(n_open + (last == stop)):
            if p < n_open:
                i = batch.open_ids[p]
                cost = batch.open_costs[p]
                m, squares = read_row(rows, i, batch, size)
                base = squares if centres.squared else pick(constants, i)
                error = score_error(m, squares, base, centres)
                batch.cost[size] = cost
                if carries(bounds):
                    batch.reach[size] = bounds.upper[i]
                batch.base[size] = base
                batch.error[size] = error
                batch.limit[size] = cost - base + error
                size += 1
            if size == batch.x.shape[0] or (p == n_open and size > 0):
                n_found, n_left, n_close, n_groups = decide_batch(
                    rows, weights, opening, constants, centres, bounds, labels, marks, totals,
                    rounding, weight_rounding, batch, np.int64(size),
                )  # fmt: skip
                n_above += n_found
                n_changed += n_left
                n_doubtful += n_close
                n_scored += n_groups
                size = np.int64(0)
    return n_above, n_changed, n_doubtful, n_scored


@part
def rule_out(weights, opening, constants, centres, bounds, labels, batch, first, last):
    """Carry the bounds of rows over to centres that have moved, and list undecided rows.

    A branch could not be predicted here, so lists grow by zero or one instead.

    IN/OUT bounds; OUT batch.open_ids, open_costs: rows that must be scored; batch.near_ids: rows
    for which the exact cost at their own centre may suffice. Returns how many there are of either.
    """
    upper, lower = bounds.upper, bounds.lower
    n_groups = bounds.group_drift.shape[0]
    n_open = np.int64(0)
    n_near = np.int64(0)
    for i in range(first, last):
        own = np.int64(labels[i])
        decided = False
        near = False
        reach = np.float32(np.inf)
        if own >= 0 and centres.rank[own] >= 0:
            n_left = 0  # groups that may hold a cheaper centre
            if centres.squared:
                helps = True  # the exact cost may rule a group out
                reach = above(np.float64(upper[i]) + bounds.drift[own])
                for g in range(n_groups):
                    low = lower[i, g] * NARROW32 - bounds.group_drift[g]
                    lower[i, g] = low
                    n_left += low <= reach
                most = np.float64(reach) * reach
            else:
                helps = False
                radius = np.float64(bounds.radius[i])
                slack = cost_slack(pick(constants, i), radius, centres, bounds)
                rise = bounds.shift[own] + radius * bounds.drift[own]
                reach = from_above(np.float64(upper[i]) + rise, slack, False)
                for g in range(n_groups):
                    fall = bounds.group_shift[g] - radius * bounds.group_drift[g]
                    low = from_below(np.float64(lower[i, g]) + fall, False)
                    lower[i, g] = low
                    n_left += low <= reach
                    helps |= low > 0
                most = np.float64(reach)
            # Nearer to its centre than halfway to any other, no other can be nearer.
            decided = (n_left == 0) | (reach < bounds.half[own])
            decided &= pick(weights, i) * most <= pick(opening, i)
            near = helps & ((n_left < n_groups) | (n_groups == 1))  # else it hardly helps
        upper[i] = reach
        batch.near_ids[n_near] = i
        n_near += near & (not decided)
        batch.open_ids[n_open] = i
        batch.open_costs[n_open] = np.inf
        n_open += (not near) & (not decided)
    return n_open, n_near


@part
def check_own_centre(
    rows, weights, opening, constants, centres, bounds, labels, marks, batch, n_open, n_near
):
    """Compute the exact cost at the row's own centre; list the rows that this leaves undecided.

    IN batch.near_ids; IN/OUT batch.open_ids, open_costs, of which there are ``n_open``; OUT marks.
    Returns how many there are now, and the number of rows above among the decided.
    """
    upper, lower = bounds.upper, bounds.lower
    n_groups = bounds.group_drift.shape[0]
    n_above = np.int64(0)
    for p in range(n_near):
        i = batch.near_ids[p]
        own = np.int64(labels[i])
        cost = row_cost(rows, i, constants, centres, own)
        slack = cost_slack(pick(constants, i), np.float64(pick(bounds.radius, i)), centres, bounds)
        reach = from_above(cost, slack, centres.squared)
        upper[i] = reach
        n_left = 0
        for g in range(n_groups):
            n_left += lower[i, g] <= reach
        decided = (n_left == 0) | (reach < bounds.half[own])
        batch.open_ids[n_open] = i
        batch.open_costs[n_open] = cost
        n_open += not decided
        if decided & (pick(weights, i) * cost > pick(opening, i)):
            marks[i] = ABOVE
            n_above += 1
    return n_open, n_above


@inlined
def is_scored(bounds, batch, r, g):
    """Whether the bound of row r of the batch leaves group g open, so that it must be scored."""
    return not carries(bounds) or bounds.lower[batch.ids[r], g] <= batch.reach[r]


def score_open_groups(rows, centres, bounds, batch, size):
    """Score each row of the batch against the groups that its bounds do not rule out.

    Return how many groups that were, over all rows.
    """


@overload(score_open_groups, jit_options=INLINE)
def _score_open_groups(rows, centres, bounds, batch, size):
    if rows.instance_class is DenseRows:

        def score(rows, centres, bounds, batch, size):
            n_blocks = centres.rank.shape[0] // centres.block
            n_scored = np.int64(0)
            for r in range(size):
                for c in range(batch.smallest.shape[1]):
                    batch.smallest[r, c] = np.inf
            for g in range(bounds.group_drift.shape[0]):
                first = g * bounds.span
                last = min(first + bounds.span, n_blocks)
                n_members = 0
                for r in range(size):
                    batch.members[n_members] = r  # without a branch, as in `rule_out`
                    n_members += is_scored(bounds, batch, r, g)
                if n_members > 0:
                    score_blocks(rows, batch, n_members, centres, first, last, bounds.cell)
                n_scored += n_members
            return n_scored

    else:

        def score(rows, centres, bounds, batch, size):
            n_blocks = np.int64(centres.rank.shape[0] // centres.block)
            n_groups = bounds.group_drift.shape[0]
            first = np.int64(0)  # of the open groups side by side, which are scored together
            n_scored = np.int64(0)
            for g in range(n_groups + 1):
                here = np.int64(min(g * bounds.span, n_blocks))
                if g < n_groups and is_scored(bounds, batch, 0, g):
                    n_scored += 1
                    continue
                if first < here:
                    score_blocks(rows, batch, 1, centres, first, here, 1)
                first = np.int64(min(here + bounds.span, n_blocks))
                for b in range(here, first):
                    batch.smallest[0, b] = np.inf
            return n_scored

    return score


@part
def decide_batch(
    rows, weights, opening, constants, centres, bounds, labels, marks, totals, rounding,
    weight_rounding, batch, size,
):  # fmt: skip
    """Score the rows of the batch and decide for them.

    Returns how many of them are above their opening cost, how many leave the cluster they had, how
    many have two best scores that differ by less than their error, but costs that finer scores
    would tell apart, and how many groups were scored.
    """
    n_scored = score_open_groups(rows, centres, bounds, batch, size)
    counted = totals.coarse.shape[0] > 0
    cell = bounds.cell * centres.block
    cells = Cells(cell, (centres.rank.shape[0] + cell - 1) // cell, bounds.span // bounds.cell)
    n_above = 0
    n_left = 0
    n_close = 0
    for r in range(size):
        i = batch.ids[r]
        own = np.int64(labels[i]) if batch.cost[r] < np.inf else np.int64(-1)
        limit_cost = pick(opening, i)
        weight = pick(weights, i)
        own_scored = own >= 0 and is_scored(bounds, batch, r, own // cell // cells.in_group)
        winner, least, runner_up = least_scores(cells, batch, r, own, own_scored)
        doubt = 2.0 * batch.error[r]
        if winner >= 0 and (winner != own or own_scored):
            doubt = score_range(batch, r, centres, winner)
        best = batch.base[r] + least + doubt  # an upper bound, as good as the cost below
        close = not runner_up > least + doubt
        if close or winner < 0 or not weight * best <= limit_cost:
            limit = min(batch.limit[r], least + doubt)
            if not least < np.inf:  # scores beyond the range of their type: look at every centre
                limit = np.inf
            winner, best, next_best = least_costs(
                rows, i, constants, centres, cells, batch, r, own, limit
            )
            # Finer scores would not break ties.
            n_close += close and (doubt == np.inf or next_best - best > FINER * doubt)
            if weight * best > limit_cost:
                marks[i] = ABOVE
                n_above += 1
        if winner != labels[i]:
            n_left += 1
            if counted and marks[i] != ABOVE:
                move_row(
                    rows, i, weight, labels[i], winner, totals, rounding, weight_rounding, 0,
                    rounding[0].shape[0],
                )  # fmt: skip
            labels[i] = winner
        if carries(bounds):
            renew_bounds(constants, centres, bounds, cells, batch, r, own, own_scored, winner, best)
    return n_above, n_left, n_close, n_scored


@inlined
def least_scores(cells, batch, r, own, own_scored):
    """Find the slot with the least score of a row, that score and the next.

    What the own centre costs by the direct formula counts as a score where it has none; less its
    error, as the others.
    """
    least = np.inf
    runner_up = np.inf
    winner = np.int64(-1)
    for c in range(cells.number):
        low = np.float64(batch.smallest[r, c])
        if low < least:
            runner_up = min(least, np.float64(batch.second[r, c]))
            least = low
            winner = c * cells.slots + batch.place[r, c]
        else:
            runner_up = min(runner_up, low)
    if own >= 0 and not own_scored:
        own_score = batch.cost[r] - batch.base[r] - batch.error[r]
        if own_score < least:
            runner_up = least
            least = own_score
            winner = own
        else:
            runner_up = min(runner_up, own_score)
    return winner, least, runner_up


@part
def least_costs(rows, i, constants, centres, cells, batch, r, own, limit):
    """Find the slot with the least cost by the direct formula, that cost and the next.

    Among the own centre and those that score no more than ``limit``.
    """
    winner = own
    best = batch.cost[r]
    next_best = np.inf
    for c in range(cells.number):
        if batch.smallest[r, c] > limit:
            continue
        first = c * cells.slots
        last = min(first + cells.slots, centres.rank.shape[0])
        if batch.second[r, c] > limit:  # one of the cell alone can win
            first += batch.place[r, c]
            last = first + 1
        winner, best, next_best = cheapest(
            rows, i, constants, centres, first, last, own, winner, best, next_best
        )
    return winner, best, next_best


@part
def renew_bounds(constants, centres, bounds, cells, batch, r, own, own_scored, winner, best):
    """Take the bounds of a row from its scores, now that it is with the winner."""
    i = batch.ids[r]
    slack = cost_slack(pick(constants, i), np.float64(pick(bounds.radius, i)), centres, bounds)
    bounds.upper[i] = from_above(best, slack, centres.squared)
    for g in range(bounds.group_drift.shape[0]):
        if not is_scored(bounds, batch, r, g):
            continue
        low = np.inf  # over the group without the winner
        for c in range(g * cells.in_group, min((g + 1) * cells.in_group, cells.number)):
            is_winner = c * cells.slots + batch.place[r, c] == winner
            low = min(low, np.float64(batch.second[r, c] if is_winner else batch.smallest[r, c]))
        low = batch.base[r] + low - batch.error[r]
        bounds.lower[i, g] = from_below(low, centres.squared)
    if own >= 0 and winner != own and not own_scored:
        g = own // cells.slots // cells.in_group
        left = from_below(batch.cost[r] - slack, centres.squared)
        bounds.lower[i, g] = min(bounds.lower[i, g], left)
