"""Moves of single vertices between clusters of a graph, by the exact change of the objective.

A cluster costs ``-inside / volume``. A vertex i with ``links`` to a cluster adds ``2 links +
inner[i]`` to what is inside and ``volume[i]`` to its volume, so the change of a move takes no more
than the links of the vertex: O(degree).
"""

from hardbayes.kernels.compiling import inlined, kernel

# Entries of the state of a queue.
HEAD, LENGTH, VISITS, MOVES, CLUSTERS, FREE = range(6)


@inlined
def add_links(indptr, indices, data, labels, within, restricted, i, links, touched):
    """OUT links (slots,): of vertex i to each cluster; touched: those that have any, returned."""
    n_touched = 0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if restricted and within[j] != within[i]:
            continue
        c = labels[j]
        if links[c] == 0.0:
            touched[n_touched] = c
            n_touched += 1
        links[c] += data[p]
    return n_touched


@kernel
def move_vertices(
    indptr, indices, data, inner, volume, within, restricted, penalty, most, least_gain,
    labels, inside, volumes, counts, free, queue, queued, links, touched, state, work,
):  # fmt: skip
    """Move vertices from a queue until it is empty, or ``work`` links have been read.

    A vertex moves to the adjacent cluster, or to a new one of its own, where the objective falls
    most; its neighbours outside that cluster are queued again. Where ``restricted``, it moves among
    vertices with its own number in ``within`` (n,) only.

    IN/OUT labels (n,), inside, volumes, counts (slots,): the clusters; free (slots,): slots of
    empty clusters, a stack; queue (n,), a ring, and queued (n,) bool; state (6,): see above, VISITS
    is how many vertices may still be visited. links (slots,) is zero before and after; touched
    (slots,) is scratch.
    """
    n = queue.shape[0]
    while state[LENGTH] > 0 and state[VISITS] > 0 and work > 0:
        state[VISITS] -= 1
        i = queue[state[HEAD]]
        state[HEAD] = (state[HEAD] + 1) % n
        state[LENGTH] -= 1
        queued[i] = False
        own = labels[i]
        work -= 1 + indptr[i + 1] - indptr[i]
        n_touched = add_links(indptr, indices, data, labels, within, restricted, i, links, touched)
        ratio = inside[own] / volumes[own]
        alone = counts[own] == 1
        if alone:
            left = ratio - penalty
        else:
            rest = inside[own] - 2.0 * links[own] - inner[i]
            left = ratio - rest / (volumes[own] - volume[i])
        best = -least_gain
        winner = own
        if not alone and state[CLUSTERS] < most:
            change = left + penalty - inner[i] / volume[i]
            if change < best:
                best = change
                winner = -1
        for t in range(n_touched):
            c = touched[t]
            if c != own:
                joined = (inside[c] + 2.0 * links[c] + inner[i]) / (volumes[c] + volume[i])
                change = left + inside[c] / volumes[c] - joined
                if change < best:
                    best = change
                    winner = c
        if winner != own:
            if winner == -1:
                state[FREE] -= 1
                state[CLUSTERS] += 1
                winner = free[state[FREE]]
                inside[winner] = inner[i]
                volumes[winner] = volume[i]
            else:
                inside[winner] += 2.0 * links[winner] + inner[i]
                volumes[winner] += volume[i]
            counts[winner] += 1
            counts[own] -= 1
            if alone:
                inside[own] = 0.0
                volumes[own] = 0.0
                free[state[FREE]] = own
                state[FREE] += 1
                state[CLUSTERS] -= 1
            else:
                inside[own] -= 2.0 * links[own] + inner[i]
                volumes[own] -= volume[i]
            labels[i] = winner
            state[MOVES] += 1
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if queued[j] or labels[j] == winner or (restricted and within[j] != within[i]):
                    continue
                queue[(state[HEAD] + state[LENGTH]) % n] = j
                state[LENGTH] += 1
                queued[j] = True
        for t in range(n_touched):
            links[touched[t]] = 0.0
