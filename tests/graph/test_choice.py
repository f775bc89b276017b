"""The automatic penalty of graphs: what is divided, and into how many."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_circles
from sklearn.neighbors import kneighbors_graph

from hardbayes import GraphDPMeans
from hardbayes.core.pool import Pool
from hardbayes.datasets import load_karate_club, make_planted_partition
from hardbayes.graph import search
from hardbayes.graph.choice import rule
from hardbayes.graph.choice.rule import Judge, choose, choose_among, penalties_of, refit, trace
from hardbayes.graph.choice.telling import undivided_sentence
from hardbayes.graph.problem import make_problem
from hardbayes.graph.search import best_fit
from tests.reference.graphs import random_adjacency


def problem_of(links, ratio=False):
    links = sparse.csr_array(links, dtype=float)
    return make_problem(links, np.zeros(links.shape[0]), ratio, Pool(1))


def random_links(n, degree, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < degree / (n - 1), 1).astype(float)
    return upper + upper.T


def beside(*parts):
    return sparse.csr_array(sparse.block_diag([sparse.coo_array(part) for part in parts]))


def chosen(links, seed=0, **parameters):
    problem = problem_of(links, **parameters)
    n = len(problem.linked)
    return problem, choose(problem, n, 100, np.random.RandomState(seed))


@pytest.mark.parametrize("large", [rule.LARGE, 100], ids=["usual", "as if large"])
@pytest.mark.parametrize("ratio", [False, True], ids=["normalized", "ratio"])
def test_a_planted_partition_is_found(large, ratio, monkeypatch):
    monkeypatch.setattr(rule, "LARGE", large)
    links, communities = make_planted_partition(6, 40, random_state=0)
    _problem, choice = chosen(links, ratio=ratio)
    # Ratio cuts cut off single vertices of low degree.
    assert 6 <= choice.chosen.k <= (8 if ratio else 6)
    assert choice.chosen.penalty < 0 and choice.tests == {}
    same = choice.chosen.labels[:, np.newaxis] == choice.chosen.labels
    assert (same == (communities[:, np.newaxis] == communities)).mean() > 0.9


def test_modularity_and_saved_nats_of_candidates():
    links, _ = load_karate_club()
    problem, choice = chosen(links)
    A, m = links.toarray(), links.sum() / 2
    degrees = A.sum(axis=1)
    labels = choice.chosen.labels
    same = labels[:, np.newaxis] == labels
    literal = ((A - np.outer(degrees, degrees) / (2 * m)) * same).sum() / (2 * m)
    assert choice.chosen.modularity == pytest.approx(literal)
    judge = Judge(problem)
    assert judge.zero.k == 1 and judge.zero.modularity == pytest.approx(0.0)
    table = np.array(choice.table)
    assert table[0, 0] == 1 and table[0, 5] == 0 and table[:, -1].sum() == 1
    assert table[table[:, -1] == 1, 5] >= 1  # strength


@pytest.mark.parametrize(
    "links",
    [
        *(random_links(n, 5.0, n) for n in (20, 60, 200)),
        np.eye(30, k=1) + np.eye(30, k=-1),
        np.ones((20, 20)) - np.eye(20),
        np.pad(np.ones((1, 29)), ((0, 29), (1, 0))) + np.pad(np.ones((29, 1)), ((1, 0), (0, 29))),
    ],
    ids=["20", "60", "200", "path", "clique", "star"],
)
def test_graphs_without_communities_stay_whole(links):
    connected = links + np.eye(len(links), k=1) + np.eye(len(links), k=-1)
    assert chosen((connected > 0).astype(float) - np.diag(np.diag(connected)))[1].chosen is None
    _problem, choice = chosen(links)
    assert choice.chosen is None or choice.chosen.k < len(choice.whole) + 2


def test_each_component_is_judged_by_itself():
    planted, _communities = make_planted_partition(4, 30, random_state=0)
    whole = random_links(50, 6.0, 3)
    whole += np.eye(50, k=1) * (whole == 0) + np.eye(50, k=-1) * (whole == 0)  # connected
    problem, choice = chosen(beside(planted, whole, np.ones((3, 3)) - np.eye(3)))
    assert choice.whole.tolist() == [False, True, True] and choice.chosen.k == 6
    end = refit(problem, choice, 173, 100, np.random.RandomState(0))
    for labels in (choice.chosen.labels, end.labels):
        assert len(set(labels[120:170])) == 1 and len(set(labels[170:])) == 1
        assert labels[0] not in labels[120:] and labels[170] not in labels[:170]
        assert len(set(labels)) == 6
    model = GraphDPMeans(random_state=0).fit(beside(planted, whole, np.ones((3, 3)) - np.eye(3)))
    value = model.cut_ + model.cluster_penalty_ * model.n_clusters_
    assert model.n_clusters_ == 6 and model.objective_ == pytest.approx(value)
    assert "Of 2 connected components with more than 3 vertices, 1 stayed whole" in model.status_
    assert len(model.objective_history_) == model.n_iter_
    assert (np.diff(model.objective_history_) <= 1e-9).all()


def test_components_are_never_joined_and_may_be_the_answer():
    cliques = beside(*(np.ones((size, size)) - np.eye(size) for size in (8, 12, 5)))
    model = GraphDPMeans(random_state=0).fit(cliques)
    assert model.n_clusters_ == 3 and model.cluster_penalty_ == 0 and model.objective_ == 0
    assert "so the connected components are the clusters" in model.status_
    capped = GraphDPMeans(max_clusters=2, random_state=0).fit(cliques)
    assert capped.n_clusters_ == 2


def test_no_partition_is_finer_than_the_resolution_of_rings_of_cliques():
    clique = np.ones((6, 6)) - np.eye(6)
    ring = beside(*[clique] * 40).tolil()
    for c in range(40):
        ring[6 * c, (6 * c + 7) % 240] = ring[(6 * c + 7) % 240, 6 * c] = 1.0
    _problem, choice = chosen(ring.tocsr())
    assert choice.chosen.k == 40
    top = max(choice.table, key=lambda row: row[2])
    assert top[0] < 40  # the most modular one joins cliques


def test_unions_of_clusters_that_are_linked_more_are_kept():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 30)
    upper = np.where(labels[:, np.newaxis] == labels, 0.5, 0.02)
    upper[(labels[:, np.newaxis] // 3) == labels // 3] += 0.06
    A = np.triu(rng.random((180, 180)) < upper, 1).astype(float)
    problem = problem_of(A + A.T)
    judge = Judge(problem)
    fine, coarse = judge.partition(-0.4, labels), judge.partition(-0.2, labels // 3)
    assert rule.union_saving(fine.blocks, rule._groups(fine.labels, coarse.labels)) > 0
    shuffled = rng.permutation(6)[labels]
    apart = judge.partition(-0.2, shuffled // 3)
    if not np.array_equal(apart.labels, coarse.labels):
        assert rule.union_saving(fine.blocks, rule._groups(fine.labels, apart.labels)) < 0


def test_the_choice_among_given_partitions():
    links, communities = make_planted_partition(4, 30, random_state=1)
    problem = problem_of(links)
    rng = np.random.RandomState(0)
    halves, fine = communities // 2, 2 * communities + np.arange(120) % 2
    found = [(-0.2, halves), (-0.5, communities), (-0.8, fine)]
    choice = choose_among(
        problem, [(penalty, labels.astype(np.int64)) for penalty, labels in found], 120, rng
    )
    assert choice.chosen.k == 4 and choice.chosen.penalty == -0.5
    assert [row[0] for row in choice.table] == [1, 2, 4, 8]


def test_groups_are_where_most_of_a_cluster_is():
    fine = np.array([0, 0, 0, 1, 1, 2])
    coarse = np.array([1, 1, 0, 0, 0, 0])
    assert rule._groups(fine, coarse).tolist() == [1, 0, 0]


def test_paths_rise_and_end_with_the_components():
    links = beside(*(random_links(25, 8.0, seed) for seed in range(2)))
    problem = problem_of(links)
    penalties = penalties_of(problem)
    assert (np.diff(penalties) > 0).all() and -1 < penalties[0] < penalties[-1] < 0
    found = trace(problem, penalties, 50, 100, np.random.RandomState(0))
    assert found[0].max() > found[-1].max() and len(found) <= len(penalties)


def test_given_labels_take_the_place_of_a_start(monkeypatch):
    links, communities = make_planted_partition(6, 40, random_state=1)
    problem = problem_of(links)
    seen = []
    original = search.minimise

    def watched(graph, starts, given, *rest):
        seen.append(([bool(start) for start in starts], len(given)))
        return original(graph, starts, given, *rest)

    monkeypatch.setattr(search, "minimise", watched)
    rng = np.random.RandomState(0)
    own = best_fit(problem, -0.5, 240, 3, 100, rng)
    with_labels = best_fit(problem, -0.5, 240, 3, 100, rng, [communities.astype(np.int64)])
    assert seen == [([True, False, True], 0), ([False, True], 1)]
    assert with_labels.objective <= own.objective + 0.05 * abs(own.objective)
    monkeypatch.setattr(search, "LARGE", 10)  # the whole graph is not divided
    best_fit(problem, -0.5, 240, 3, 100, rng)
    assert seen[-1] == ([True] * 3, 0)


def test_weights_and_loops_are_borne():
    A = random_adjacency(np.random.default_rng(0), 30, 0.3, loops=True)
    loops = np.diag(A).copy()
    links = sparse.csr_array(A - np.diag(loops))
    problem = make_problem(links, loops, False, Pool(1))
    choice = choose(problem, 30, 100, np.random.RandomState(0))
    assert np.isfinite(np.array(choice.table, float)).all()


def test_the_fit_ends_where_the_choice_was_and_other_starts_have_no_part_in_it():
    links, _communities = make_planted_partition(4, 30, random_state=0)
    noise = random_links(120, 14.0, 1)
    noisy = ((links.toarray() if hasattr(links, "toarray") else links) + noise > 0).astype(float)
    problem, choice = chosen(noisy)
    end = refit(problem, choice, 120, 100, np.random.RandomState(0))
    assert end.labels.max() + 1 == choice.chosen.k
    np.testing.assert_array_equal(
        np.unique(np.stack([end.labels, choice.chosen.labels]), axis=1).shape[1], choice.chosen.k
    )
    one, many = (GraphDPMeans(n_init=n, random_state=0).fit(noisy) for n in (1, 4))
    np.testing.assert_array_equal(one.labels_, many.labels_)
    assert one.objective_ == many.objective_


def neighbours(rows, k=15):
    chosen = sparse.csr_array(kneighbors_graph(rows, k))
    return sparse.csr_array(0.5 * (chosen + chosen.T))


def clouds(n=150):
    rng = np.random.default_rng(5)
    yield neighbours(rng.normal(size=(n, 2)), 10)
    yield neighbours(rng.normal(size=(n, 8)), 10)
    yield neighbours(rng.uniform(size=(n, 2)), 10)
    yield neighbours(rng.uniform(size=(n, 4)), 10)
    side = np.eye(12, k=1) + np.eye(12, k=-1)
    yield sparse.csr_array(np.kron(side, np.eye(12)) + np.kron(np.eye(12), side))


def test_neighbour_graphs_of_one_cloud_stay_whole():
    choices = [chosen(links)[1] for links in clouds()]
    whole = [choice for choice in choices if choice.chosen is None]
    assert len(whole) >= 4
    for choice in whole:
        assert choice.tests[0].is_cloud and "one cloud" in undivided_sentence(choice, False)
    # Without this comparison all of them are divided.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule, "LARGEST_CLOUD", 0)
        assert sum(chosen(links)[1].chosen is not None for links in clouds()) >= 4


def test_clear_borders_divide_what_modularity_does_not():
    rows, circle = make_circles(300, noise=0.04, factor=0.4, random_state=0)
    _problem, choice = chosen(neighbours(rows, 25))
    assert choice.chosen is not None and np.isfinite(choice.tests[0].clear)
    pairs = np.unique(np.column_stack([choice.chosen.labels, circle]), axis=0)
    assert choice.chosen.k == len(pairs) == 2


def test_a_component_of_one_cloud_stays_whole_beside_a_divided_one():
    rng = np.random.default_rng(1)
    known = np.arange(120) % 4
    groups = rng.normal(size=(120, 2)) + 5.0 * known[:, np.newaxis] * [1.0, 0.0]
    far = rng.normal(size=(120, 2))
    far[:, 1] += 1e4
    problem, choice = chosen(neighbours(np.vstack([groups, far]), 12))
    names = choice.components
    alone = names[-1]
    assert choice.chosen is not None and choice.whole[alone] and not choice.whole[names[0]]
    end = refit(problem, choice, 240, 100, np.random.RandomState(0))
    for labels in (choice.chosen.labels, end.labels):
        assert len(np.unique(labels[names == alone])) == 1
        assert len(np.unique(labels[names == names[0]])) >= 2
