"""The automatic penalty of graphs."""

import numpy as np
import pytest

from hardbayes.core.pool import Pool
from hardbayes.datasets import make_planted_partition
from hardbayes.graph import choice as graph_penalty
from hardbayes.graph import search as graph_fitting
from hardbayes.graph.choice import Candidate, choose_penalty, well_described
from hardbayes.graph.problem import make_problem
from hardbayes.graph.search import best_fit


def candidate(excess, k):
    return Candidate(excess, -0.1 * k, np.arange(k), k)


def test_the_fewest_clusters_with_about_the_shortest_description():
    many = [candidate(0.0, 1), candidate(-96.0, 3), candidate(-100.0, 5), candidate(-90.0, 2)]
    assert well_described(many).k == 3  # 95 of 100 nats are enough
    assert well_described([candidate(0.0, 1), candidate(3.0, 2), candidate(4.0, 3)]).k == 2
    assert well_described([candidate(0.0, 1), candidate(6.0, 2)]) is None
    assert well_described([candidate(0.0, 1)]) is None


def problem_of(random_state=0):
    links, communities = make_planted_partition(6, 40, random_state=random_state)
    return make_problem(links, np.zeros(240), False, Pool(1)), communities


@pytest.mark.parametrize("large", [graph_penalty.LARGE, 100], ids=["usual", "as if large"])
def test_a_planted_partition_is_found(large, monkeypatch):
    monkeypatch.setattr(graph_penalty, "LARGE", large)
    problem, communities = problem_of()
    found = choose_penalty(problem, 240, 100, np.random.RandomState(0))
    assert found.k == 6 and found.excess < -100 and -1 < found.penalty < 0
    same = found.labels[:, np.newaxis] == found.labels
    assert (same == (communities[:, np.newaxis] == communities)).mean() > 0.9


def test_given_labels_take_the_place_of_a_start(monkeypatch):
    problem, communities = problem_of(1)
    seen = []
    original = graph_fitting.minimise

    def watched(graph, starts, given, *rest):
        seen.append(([bool(start) for start in starts], len(given)))
        return original(graph, starts, given, *rest)

    monkeypatch.setattr(graph_fitting, "minimise", watched)
    rng = np.random.RandomState(0)
    own = best_fit(problem, -0.5, 240, 3, 100, rng)
    with_labels = best_fit(problem, -0.5, 240, 3, 100, rng, [communities.astype(np.int64)])
    assert seen == [([True, False, True], 0), ([False, True], 1)]
    assert with_labels.objective <= own.objective + 0.05 * abs(own.objective)
    monkeypatch.setattr(graph_fitting, "LARGE", 10)  # the whole graph is not split
    best_fit(problem, -0.5, 240, 3, 100, rng)
    assert seen[-1] == ([True] * 3, 0)
