"""The kernel of moves: the state of the queue, and clusters that follow."""

import numpy as np

from hardbayes.graph import compiled
from tests.graph.graphs import literal_costs, random_graph


def started(graph, labels, visits=10**6):
    """The arguments of the kernel, and the arrays it changes by name."""
    n, k = graph.n, int(labels.max()) + 1
    start, clusters = graph.statistics(labels, k), np.zeros((2, n))
    clusters[:, :k] = start.inside, start.volumes
    counts = np.bincount(labels, minlength=n)
    empty = np.flatnonzero(counts == 0)
    free = np.concatenate([empty, np.zeros(n - len(empty), np.int64)])
    state = np.array([0, n, visits, 0, n - len(empty), len(empty)])
    changed = dict(labels=labels.copy(), inside=clusters[0], volumes=clusters[1], counts=counts)
    changed |= dict(free=free, queue=np.arange(n), queued=np.ones(n, np.bool_), links=np.zeros(n))
    changed |= dict(touched=np.empty(n, np.int64), state=state)
    fixed = (*graph.rows, graph.inner, graph.volume, labels, False, 0.3, n, 1e-12)
    return fixed, changed


def test_clusters_follow_the_labels():
    _, graph = random_graph(1)
    fixed, changed = started(graph, np.arange(20) % 4)
    compiled.move_vertices(*fixed, *changed.values(), 10**6)
    labels, state = changed["labels"], changed["state"]
    end = graph.statistics(labels, 20)
    np.testing.assert_allclose(changed["inside"], end.inside, atol=1e-12)
    np.testing.assert_allclose(changed["volumes"], end.volumes, atol=1e-12)
    np.testing.assert_array_equal(changed["counts"], np.bincount(labels, minlength=20))
    assert state[compiled.LENGTH] == 0 and not changed["queued"].any()
    assert state[compiled.MOVES] > 0
    assert state[compiled.CLUSTERS] == len(np.unique(labels)) == 20 - state[compiled.FREE]
    assert (changed["links"] == 0).all()
    empty = changed["free"][: state[compiled.FREE]]
    np.testing.assert_array_equal(np.sort(empty), np.flatnonzero(changed["counts"] == 0))


def test_each_move_lowers_the_objective_by_what_the_definition_says():
    adjacency, graph = random_graph(2)
    fixed, changed = started(graph, np.arange(20))
    values, state = [], changed["state"]
    while state[compiled.LENGTH]:
        state[compiled.VISITS] = 1  # one vertex at a time
        compiled.move_vertices(*fixed, *changed.values(), 10**6)
        labels = changed["labels"]
        costs = literal_costs(adjacency, labels, 20).sum()
        values.append(costs + 0.3 * len(np.unique(labels)))
    assert (np.diff(values) < 1e-12).all() and values[-1] < values[0] - 0.01


def test_work_is_bounded():
    _, graph = random_graph(3)
    fixed, changed = started(graph, np.arange(20))
    compiled.move_vertices(*fixed, *changed.values(), 1)
    assert changed["queue"][0] == 0 and changed["state"][compiled.HEAD] == 1
