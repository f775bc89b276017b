"""Moves of groups of vertices, as moves of single vertices of a coarser graph.

Groups are clusters at lower penalties. Levels are made from fine to coarse; then vertices of each
level move, from coarse to fine, at the penalty itself.
"""

import numpy as np

from hardbayes.executors.graph.protocol import Graph, Ids

# Passes over the vertices of a level: where they form groups, and where these move.
GROUPING, MOVING = 2, 8


def regroup(
    graph: Graph,
    penalties: tuple[float, ...],
    max_clusters: int,
    rng: np.random.RandomState,
    labels: Ids | None = None,
) -> Ids:
    """Return labels (n,) after moves of groups, or found from single vertices where None are given.

    penalties : rising; all but the last are for groups, the last is for clusters.
    """
    levels: list[tuple[Graph, Ids]] = []
    within = labels
    rung = 0
    while True:
        singles = np.arange(graph.n)
        groups, n_moves = graph.move(
            singles, penalties[rung], graph.n, rng.permutation(graph.n), GROUPING, within
        )
        if n_moves:
            names, groups = np.unique(groups, return_inverse=True)
            levels.append((graph, groups))
            graph = graph.coarser(groups, len(names))
            if within is not None:
                finer, within = within, np.empty(len(names), np.int64)
                within[groups] = finer
        elif rung == len(penalties) - 1:
            break
        rung = min(rung + 1, len(penalties) - 1)
    found = np.arange(graph.n) if within is None else within
    if within is not None:
        found = _merged(graph, within, penalties[-1], rng)
        levels.append((graph, singles))
    for graph, groups in reversed(levels):
        found = found[groups]
        found, _ = graph.move(found, penalties[-1], max_clusters, rng.permutation(graph.n), MOVING)
        found = np.unique(found, return_inverse=True)[1]
    return found


def _merged(graph: Graph, labels: Ids, penalty: float, rng: np.random.RandomState) -> Ids:
    """Return labels (n,) after moves of whole clusters."""
    clusters = graph.coarser(labels, int(labels.max()) + 1)
    names, _ = clusters.move(np.arange(clusters.n), penalty, clusters.n, rng.permutation(clusters.n), MOVING)
    return np.unique(names, return_inverse=True)[1][labels]
