"""Moves of groups of vertices, as moves of single vertices of a coarser graph.

Groups are clusters at lower penalties. Levels are made from fine to coarse; then vertices of each
level move, from coarse to fine, at the penalty itself.
"""

import numpy as np

from hardbayes.executors.graph.protocol import Graph, Ids

# Passes over the vertices of a level: where they form groups, and where these move.
GROUPING, MOVING = 2, 8
WORTHWHILE = 0.98  # of the vertices: a coarser graph at the last penalty has fewer


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
    within, last = labels, len(penalties) - 1
    rung, shrinks = 0, True
    while rung < last or shrinks:
        groups, _ = graph.move(
            np.arange(graph.n), penalties[rung], graph.n, rng.permutation(graph.n), GROUPING, within
        )
        groups = _renumbered(groups)
        n_groups = int(groups.max()) + 1
        shrinks = n_groups < WORTHWHILE * graph.n
        if n_groups < graph.n:
            levels.append((graph, groups))
            graph = graph.coarser(groups, n_groups)
            if within is not None:
                finer, within = within, np.empty(n_groups, np.int64)
                within[groups] = finer
        rung = min(rung + 1, last)
    found = np.arange(graph.n) if within is None else within
    if within is not None:
        found = _merged(graph, within, penalties[-1], rng)
        levels.append((graph, np.arange(graph.n)))
    for graph, groups in reversed(levels):
        found = found[groups]
        found, _ = graph.move(found, penalties[-1], max_clusters, rng.permutation(graph.n), MOVING)
        found = _renumbered(found)
    return found


def _merged(graph: Graph, labels: Ids, penalty: float, rng: np.random.RandomState) -> Ids:
    """Return labels (n,) after moves of whole clusters."""
    clusters = graph.coarser(labels, int(labels.max()) + 1)
    names, _ = clusters.move(
        np.arange(clusters.n), penalty, clusters.n, rng.permutation(clusters.n), MOVING
    )
    return _renumbered(names)[labels]


def _renumbered(labels: Ids) -> Ids:
    """Return labels (n,) without empty clusters, in the same order."""
    used = np.bincount(labels) > 0
    return (np.cumsum(used) - 1)[labels]
