"""Starts of graphs."""

from dataclasses import replace

import numpy as np
import pytest

from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool
from hardbayes.graph.search import descend, minimise, within_cap
from tests.graph.graphs import memory_graph, random_graph

PENALTIES = (0.1, 0.2, 0.3)


def penalised(graph, max_clusters=40):
    return replace(graph, penalties=PENALTIES, max_clusters=max_clusters)


def test_the_best_start_is_kept_and_threads_do_not_matter():
    graph = penalised(random_graph(0, n=40, share=0.15)[1])
    starts = (PENALTIES, (0.05, 0.1, 0.15))
    ends = []
    for n_threads in (1, 2):
        with Pool(n_threads) as pool:
            given = [np.zeros(40, np.int64)]
            threaded = replace(graph, pool=pool)
            ends.append(minimise(threaded, starts, given, 100, np.random.RandomState(0)))
    np.testing.assert_array_equal(ends[0].labels, ends[1].labels)
    assert ends[0].objective == ends[1].objective
    assert ends[0].status is Status.CONVERGED
    assert (np.diff(ends[0].history) < 0).all()
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=3)
    one_by_one = []
    for seed, start in zip(seeds, starts, strict=False):
        rng = np.random.RandomState(seed)
        labels = replace(graph, penalties=start).regroup(None, rng)
        one_by_one.append(descend(graph, labels, 100, rng).objective)
    rng = np.random.RandomState(seeds[2])
    one_by_one.append(descend(graph, given[0], 100, rng).objective)
    assert ends[0].objective == min(one_by_one) < max(one_by_one)


@pytest.mark.parametrize("cap", [1, 2, 5, 40])
def test_a_cap_holds_from_the_start(cap):
    _, graph = random_graph(1, n=40, share=0.15)
    end = descend(penalised(graph, cap), np.arange(40), 100, np.random.RandomState(0))
    assert end.labels.max() + 1 <= cap
    assert end.status is (Status.CAPPED if end.labels.max() + 1 == cap else Status.CONVERGED)
    assert (end.status is Status.CAPPED) == (cap < 40)


def test_components_without_links_unite_under_a_cap():
    graph = memory_graph(np.kron(np.eye(4), np.ones((3, 3)) - np.eye(3)))
    labels = within_cap(penalised(graph, 2), np.arange(12))
    assert labels.max() + 1 == 2


def test_steps_are_limited():
    _, graph = random_graph(2, n=40, share=0.15)
    end = descend(penalised(graph), np.arange(40), 1, np.random.RandomState(0))
    assert end.status is Status.OUT_OF_STEPS and len(end.history) == 1
