"""Rows choose a cluster one by one, where a group pays for each cluster that it begins to use."""

import numpy as np

from hardbayes.kernels.compiling import inlined, kernel
from hardbayes.kernels.partition.rows import pick, row_cost


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
