"""Compiled moves of single vertices, and sums over links.

A cluster costs ``-inside / volume``. A vertex i with ``links`` to a cluster adds ``2 links +
inner[i]`` to what is inside and ``volume[i]`` to its volume, so the exact change of a move takes no
more than the links of the vertex: O(degree).
"""

from hardbayes.core.compiling import inlined, kernel

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


@kernel
def sum_inside(indptr, indices, data, inner, volume, labels, inside, volumes, start, stop):
    """IN/OUT inside, volumes (k,): add those of vertices start to stop, each link from both ends.

    A vertex has ``inner`` inside itself.
    """
    for i in range(start, stop):
        c = labels[i]
        total = inner[i]
        for p in range(indptr[i], indptr[i + 1]):
            if labels[indices[p]] == c:
                total += data[p]
        inside[c] += total
        volumes[c] += volume[i]


@kernel
def count_neighbours(indptr, indices, labels, order, starts, marks, counts, first, last):
    """OUT counts (k,): of other clusters that each of clusters first to last has links to.

    IN order (n,): vertices by cluster, those of c from ``starts[c]`` on; marks (k,), -1 at first.
    """
    for c in range(first, last):
        for p in range(starts[c], starts[c + 1]):
            i = order[p]
            for q in range(indptr[i], indptr[i + 1]):
                other = labels[indices[q]]
                if other != c and marks[other] != c:
                    marks[other] = c
                    counts[c] += 1


@kernel
def join_links(
    indptr, indices, data, labels, order, starts, places, coarse, others, weights, first, last
):
    """Sum the links between clusters: the links of a coarser graph.

    IN coarse (k + 1,): where the links of each cluster begin. OUT others, weights: their other ends
    and weights. places (k,): where clusters first to last have their link to each other cluster,
    -1 at first; links of earlier clusters have earlier places.
    """
    for c in range(first, last):
        end = coarse[c]
        for p in range(starts[c], starts[c + 1]):
            i = order[p]
            for q in range(indptr[i], indptr[i + 1]):
                other = labels[indices[q]]
                if other == c:
                    continue
                if places[other] < coarse[c]:
                    places[other] = end
                    others[end] = other
                    weights[end] = data[q]
                    end += 1
                else:
                    weights[places[other]] += data[q]


@kernel
def count_inner_links(indptr, indices, ids, local, counts):
    """OUT counts (m,): links of each vertex ``ids`` (m,) to others of them.

    IN local (n,): -1 for all other vertices.
    """
    for a in range(ids.shape[0]):
        for p in range(indptr[ids[a]], indptr[ids[a] + 1]):
            if local[indices[p]] >= 0:
                counts[a] += 1


@kernel
def take_inner_links(indptr, indices, data, ids, local, others, weights):
    """OUT others, weights: the links among vertices ``ids`` (m,), row by row.

    IN local (n,): their numbers 0 to m-1, -1 for all other vertices.
    """
    end = 0
    for a in range(ids.shape[0]):
        for p in range(indptr[ids[a]], indptr[ids[a] + 1]):
            b = local[indices[p]]
            if b >= 0:
                others[end] = b
                weights[end] = data[p]
                end += 1


@kernel
def sum_earlier(indptr, indices, data, ranks, earlier, start, stop):
    """OUT earlier (n,): at its own rank, the links of each vertex to vertices of lower rank."""
    for i in range(start, stop):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            if ranks[indices[p]] < ranks[i]:
                total += data[p]
        earlier[ranks[i]] = total
