"""Sums over the links of a graph: inside clusters, between clusters, along an order."""

from hardbayes.kernels.compiling import kernel


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
