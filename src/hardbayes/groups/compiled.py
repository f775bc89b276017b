"""Compiled decisions of rows in groups, whose clusters are shared.

Rows choose a cluster one by one, where a group pays for each cluster that it begins to use.

Or a group does, where centres stand still: a facility location problem for each group. In each
round the one change that saves most is made: to begin to use a cluster, at the local penalty, with
all rows that are cheaper there; or to cease to use one, whose rows go where they are cheapest among
the others.
"""

import numpy as np

from hardbayes.core.compiling import inlined, kernel
from hardbayes.core.rows import pick, row_cost


@inlined
def entry_cost(rows, i, weight, constants, centres, k, used, g, local_penalty):
    """Return what row i pays in slot k: its cost, and the local penalty if its group is new."""
    cost = weight * row_cost(rows, i, constants, centres, k)
    return cost if used[g, k] >= 0 else cost + local_penalty


@kernel
def visit(
    rows, weights, constants, centres, n_old, n_slots, order, nearest, groups, used, local_penalty,
    opening, labels, next_rank, start, stop,
):  # fmt: skip
    """Let rows choose in visiting order: step 4 of Kulis & Jordan's Algorithm 2.

    A row goes where its cost and the local penalty of a cluster new to its group are least, the
    first of equals. Return the position of the first row for which that is more than its
    ``opening`` (n,) or (1,) cost, so that the caller may open a cluster; or ``stop``.

    IN centres: slots 0 to n_slots - 1 in order of creation; those from n_old on were opened in this
    sweep. IN order (n,): rows as they are visited; nearest (n,): the cheapest of the old slots
    where that has been found, else (0,); groups (n,). IN/OUT used (groups, slots) int32: a rank for
    each local cluster, -1 for none; next_rank (1,) int64; labels (n,) int32. Rows without weight
    are passed over.
    """
    for p in range(start, stop):
        i = order[p]
        weight = pick(weights, i)
        if weight == 0.0:
            continue
        g = groups[i]
        winner = np.int64(-1)
        best = np.inf
        first = 0
        if nearest.shape[0] > 0:
            winner = np.int64(nearest[i])
            best = entry_cost(
                rows, i, weight, constants, centres, winner, used, g, local_penalty
            )  # fmt: skip
            first = n_old
            if used[g, winner] < 0:  # what is nearest of all is nearest of those not in use
                for k in range(n_old):
                    if used[g, k] >= 0:
                        cost = weight * row_cost(rows, i, constants, centres, k)
                        if cost < best or (cost == best and k < winner):
                            winner = np.int64(k)
                            best = cost
        for k in range(first, n_slots):
            cost = entry_cost(
                rows, i, weight, constants, centres, k, used, g, local_penalty
            )  # fmt: skip
            if cost < best:
                winner = np.int64(k)
                best = cost
        if best > pick(opening, i):
            return p
        take(i, g, winner, used, next_rank, labels)
    return stop


@kernel
def join(order, groups, used, next_rank, labels, p, slot):
    """Give the row at position p to a slot, as `visit` would."""
    take(order[p], groups[order[p]], slot, used, next_rank, labels)


@inlined
def take(i, g, slot, used, next_rank, labels):
    """Write down that row i of group g goes to a slot."""
    if used[g, slot] < 0:
        used[g, slot] = next_rank[0]
        next_rank[0] += 1
    labels[i] = slot


# A change must gain more than this part of what is compared: rounding alone changes nothing.
RELATIVE_TOLERANCE = 1e-9


@kernel
def regroup(
    rows, weights, constants, centres, ids, starts, labels, local_penalty, used, gains, max_rounds,
    first, last,
):  # fmt: skip
    """For groups ``first`` to ``last``: open and close local clusters while their cost falls.

    IN ids (n,): rows sorted by group; starts (groups + 1,): where each begins. IN/OUT labels (n,):
    slots. SCRATCH used (slots,) bool, gains (slots,).
    """
    for g in range(first, last):
        mark(weights, ids, labels, used, starts[g], starts[g + 1])
        for _ in range(max_rounds):
            gains[:] = 0.0
            total = survey(
                rows, weights, constants, centres, ids, labels, used, gains, starts[g],
                starts[g + 1],
            )  # fmt: skip
            if not change(used, gains, total, local_penalty):
                break


@kernel
def mark(weights, ids, labels, used, start, stop):
    """OUT used (slots,) bool: which slots hold rows of positive weight of this group."""
    used[:] = False
    for p in range(start, stop):
        if pick(weights, ids[p]) > 0.0:
            used[labels[ids[p]]] = True


@kernel
def survey(rows, weights, constants, centres, ids, labels, used, gains, start, stop):
    """Give rows of a group to the cheapest slot in use; return their cost.

    OUT labels (n,). IN/OUT gains (slots,): how much cheaper rows would be with a slot that is not
    in use, and, negative, how much more expensive without one that is.
    """
    total = 0.0
    for p in range(start, stop):
        i = ids[p]
        weight = pick(weights, i)
        if weight == 0.0:
            continue
        winner = np.int64(-1)
        best = np.inf
        second = np.inf
        for k in range(used.shape[0]):
            if used[k]:
                cost = weight * row_cost(rows, i, constants, centres, k)
                if winner < 0 or cost < best:
                    second = best
                    best = cost
                    winner = np.int64(k)
                elif cost < second:
                    second = cost
        labels[i] = winner
        total += best
        gains[winner] -= second - best
        for k in range(used.shape[0]):
            if not used[k]:
                cost = weight * row_cost(rows, i, constants, centres, k)
                if cost < best:
                    gains[k] += best - cost
    return total


@kernel
def change(used, gains, total, local_penalty):
    """Make the change that saves most; return whether there was one. IN/OUT used (slots,) bool."""
    n_used = 0
    for k in range(used.shape[0]):
        n_used += used[k]
    chosen = np.int64(-1)
    most = RELATIVE_TOLERANCE * (total + local_penalty)
    for k in range(used.shape[0]):
        gain = gains[k] + local_penalty if used[k] else gains[k] - local_penalty
        if gain > most and not (used[k] and n_used == 1):
            most = gain
            chosen = np.int64(k)
    if chosen < 0 or n_used == 0:
        return False
    used[chosen] = not used[chosen]
    return True
