"""GraphDPMeans as a whole: theorems, optima, inputs and corners."""

import re
import signal
import sys
import threading
import warnings
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardbayes import GraphDPMeans, load, objective, save
from hardbayes.datasets import load_karate_club, make_planted_partition
from tests.reference.graphs import best_cut, cuts, kernel_objective, penalised_cut, random_adjacency

CUTS = ["normalized", "ratio"]
TWO_TRIANGLES = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)]


def penalty_for(cut, rng):
    return float(rng.uniform(-0.9, -0.2) if cut == "normalized" else rng.uniform(-1.5, -0.2))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sigma", [0.0, 0.7])
def test_theorem_5_3_and_its_twin(seed, sigma):
    """Weighted kernel DP-means of a graph is its penalised cut, up to a constant."""
    rng = np.random.default_rng(seed)
    A = random_adjacency(rng, 9)
    degrees, penalty = A.sum(axis=1), -0.4
    kernel = sigma * np.diag(1 / degrees) + A / np.outer(degrees, degrees)
    laplacian = np.diag(degrees) - A
    sides = [
        ("normalized", kernel, degrees, penalty + sigma + 1),
        ("ratio", sigma * np.eye(9) - laplacian, np.ones(9), penalty + sigma),
    ]
    for cut, kernel, weights, working in sides:
        gaps = []
        for _ in range(6):
            labels = rng.integers(0, 4, 9)
            left = kernel_objective(kernel, weights, labels, working)
            gaps.append(left - penalised_cut(A, labels, penalty, cut))
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-12)


@pytest.mark.parametrize("cut", CUTS)
def test_tiny_graphs_are_cut_optimally(cut):
    hits = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        A = random_adjacency(rng, 7, loops=seed % 2 == 1)
        penalty = penalty_for(cut, rng)
        model = GraphDPMeans(penalty, cut=cut, random_state=0).fit(A)
        assert model.objective_ == pytest.approx(penalised_cut(A, model.labels_, penalty, cut))
        hits += model.objective_ < best_cut(A, penalty, cut) + 1e-9
    assert hits >= 38  # 95 %


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("seed", range(4))
def test_attributes_agree_with_the_definition(seed, cut):
    rng = np.random.default_rng(seed)
    A = random_adjacency(rng, 30, 0.15, loops=True)
    model = GraphDPMeans(penalty_for(cut, rng), cut=cut, random_state=seed).fit(A)
    np.testing.assert_allclose(model.cuts_per_cluster_, cuts(A, model.labels_, cut))
    assert model.cut_ == model.cuts_per_cluster_.sum()
    assert model.objective_ == model.cut_ + model.cluster_penalty_ * model.n_clusters_
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.objective_history_[-1] == model.objective_
    assert model.n_iter_ == len(model.objective_history_)
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))
    np.testing.assert_array_equal(np.bincount(model.labels_), model.cluster_weights_)
    assert model.labels_.dtype == np.int32 and model.n_features_in_ == 30
    value = objective(A, model.labels_, model.cluster_penalty_, cut=cut)
    assert value == pytest.approx(model.objective_, rel=1e-12)


def test_automatic_penalty():
    links, communities = make_planted_partition(5, 40, random_state=0)
    model = GraphDPMeans(random_state=0).fit(links)
    assert model.n_clusters_ == 5 and -1 < model.cluster_penalty_ < 0
    assert adjusted_rand_score(communities, model.labels_) > 0.95
    karate, factions = load_karate_club()
    model = GraphDPMeans(random_state=0).fit(karate)
    assert adjusted_rand_score(factions, model.labels_) > 0.7


def test_random_graphs_are_one_cluster():
    ones = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        upper = np.triu(rng.uniform(size=(60, 60)) < rng.uniform(0.06, 0.3), 1).astype(float)
        linked = (upper + upper.T).any(axis=0)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = GraphDPMeans(random_state=0).fit((upper + upper.T)[linked][:, linked])
        whole = csgraph.connected_components((upper + upper.T)[linked][:, linked])[0]
        ones += model.n_clusters_ == whole
        if model.n_clusters_ == 1:
            assert model.cluster_penalty_ == 0 and "random" in model.status_
            assert [str(each.message) for each in told] == [model.status_]
            assert (model.penalty_choice_["strength"] < 1).all()
    assert ones >= 19


def test_one_cluster_says_what_came_nearest_and_how_to_get_it():
    rng = np.random.default_rng(5)
    upper = np.triu(rng.uniform(size=(40, 40)) < 0.3, 1).astype(float)
    with pytest.warns(UserWarning, match="No division stood out .* so there is one cluster"):
        model = GraphDPMeans(random_state=0).fit(upper + upper.T)
    call = re.search(r"To use (\d+) clusters: GraphDPMeans\((.*)\)\.", model.status_)
    nearest = GraphDPMeans(float(call[2]), random_state=0).fit(upper + upper.T)
    assert abs(nearest.n_clusters_ - int(call[1])) <= 2
    table = model.penalty_choice_
    assert list(table) == [
        "n_clusters", "penalty", "modularity", "within_error", "saved_nats", "strength", "chosen",
    ]  # fmt: skip
    assert int(call[1]) in table["n_clusters"] and table["chosen"].tolist()[0] is True
    assert not hasattr(GraphDPMeans(-0.5, random_state=0).fit(upper + upper.T), "penalty_choice_")


def test_the_table_of_candidates_is_saved(tmp_path):
    model = GraphDPMeans(random_state=0).fit(load_karate_club()[0])
    save(model, tmp_path / "m")
    for name, column in model.penalty_choice_.items():
        again = load(tmp_path / "m").penalty_choice_[name]
        np.testing.assert_array_equal(again, column)
        assert again.dtype == column.dtype


def test_the_automatic_penalty_does_not_depend_on_the_unit_of_weights():
    links, _ = make_planted_partition(3, 30, random_state=1)
    models = [GraphDPMeans(random_state=0).fit(factor * links) for factor in (1.0, 8.0, 2.0**-40)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        assert model.cluster_penalty_ == models[0].cluster_penalty_
    extreme = GraphDPMeans(-0.5, random_state=0).fit(2.0**1010 * links)
    assert np.isfinite(extreme.objective_) and extreme.n_clusters_ == 3


def test_a_ratio_cut_scales_with_its_penalty():
    links, _ = make_planted_partition(3, 20, random_state=2)
    one = GraphDPMeans(-3.0, cut="ratio", random_state=0).fit(links)
    many = GraphDPMeans(-3.0 * 2**20, cut="ratio", random_state=0).fit(2.0**20 * links)
    np.testing.assert_array_equal(one.labels_, many.labels_)
    assert many.objective_ == 2**20 * one.objective_
    assert GraphDPMeans(cut="ratio", random_state=0).fit(links).n_clusters_ == 3


@pytest.mark.parametrize("penalty", [0, 0.0, 2.5])
def test_a_penalty_of_zero_or_more_warns_and_gives_one_cluster(penalty):
    with pytest.warns(UserWarning, match="One cluster"):
        model = GraphDPMeans(penalty).fit(TWO_TRIANGLES)
    assert (model.labels_ == 0).all() and model.cut_ == 0 and model.objective_ == penalty


def test_penalties_below_the_useful_range():
    A, _ = load_karate_club()
    many = GraphDPMeans(-3.0, random_state=0).fit(A)
    assert many.n_clusters_ == 34  # a cluster cannot cost more than it earns
    assert GraphDPMeans(-1.0, random_state=0).fit(A).n_clusters_ > 8


# -- input -----------------------------------------------------------------------------------------


def forms():
    edges = np.array(TWO_TRIANGLES)
    A = np.zeros((6, 6))
    A[edges[:, 0], edges[:, 1]] = A[edges[:, 1], edges[:, 0]] = 1.0
    frame = pd.DataFrame(edges, columns=["source", "target"])
    yield "dense", A
    yield "list of lists", A.tolist()
    for kind in ("csr_array", "csc_matrix", "coo_array", "lil_matrix"):
        yield kind, getattr(sparse, kind)(A)
    wide = sparse.csr_array(A)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "wide indices", wide
    yield "float32", A.astype(np.float32)
    yield "bool", A.astype(bool)
    yield "edges", edges
    yield "tuples", TWO_TRIANGLES
    yield "weighted edges", np.column_stack([edges, np.ones(7)])
    yield "frame", frame
    yield "weighted frame", frame.assign(weight=1.0)
    yield "frame in another order", frame.assign(note="x")[["note", "target", "source"]]
    yield "two columns", frame.set_axis(["from", "to"], axis=1)
    yield "adjacency frame", pd.DataFrame(A, columns=list("abcdef"), index=list("abcdef"))
    turned = pd.DataFrame(A, columns=list("abcdef"), index=list("abcdef")).loc[list("fedcba")]
    yield "rows in another order", turned
    yield "upper triangle twice", 2 * np.triu(A)  # a directed graph: the mean of both directions
    yield "read-only Fortran", np.asfortranarray(A)


FORMS = dict(forms())


@pytest.mark.parametrize("kind", FORMS)
def test_every_form_of_a_graph_is_the_same_graph(kind):
    X = FORMS[kind]
    before = X.copy() if hasattr(X, "copy") else None
    model = GraphDPMeans(-0.5, random_state=0).fit(X)
    assert model.labels_.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    assert model.cut_ == pytest.approx(2 / 7) and model.n_features_in_ == 6
    if before is not None:
        assert (abs(before - X)).sum() == 0 if sparse.issparse(X) else np.array_equal(before, X)


def test_names_of_vertices():
    named = [(f"v{a}", f"v{b}") for a, b in TWO_TRIANGLES]
    for X in (named, pd.DataFrame(named), np.array(named)):
        model = GraphDPMeans(-0.5, random_state=0).fit(X)
        assert model.vertex_names_.tolist() == [f"v{i}" for i in range(6)]
    weighted = [(*pair, 2.0) for pair in named]
    assert GraphDPMeans(-0.5).fit(weighted).cut_ == pytest.approx(2 / 7)
    plain = GraphDPMeans(-0.5, random_state=0).fit(TWO_TRIANGLES)
    np.testing.assert_array_equal(plain.vertex_names_, np.arange(6))


def _imported(name):
    return import_module(name) if find_spec(name) else None


def test_networkx():
    nx = pytest.importorskip("networkx")
    G = nx.Graph([(f"v{a}", f"v{b}") for a, b in TWO_TRIANGLES])
    model = GraphDPMeans(-0.5, random_state=0).fit(G)
    assert model.cut_ == pytest.approx(2 / 7)
    assert model.vertex_names_.tolist() == list(G)
    heavy = nx.Graph()
    heavy.add_weighted_edges_from([(a, b, 3.0) for a, b in TWO_TRIANGLES])
    assert GraphDPMeans(-0.5).fit(heavy).cut_ == pytest.approx(2 / 7)
    halves = [0, 0, 0, 1, 1, 1]
    for graph, weight in ((nx.Graph, 1.0), (nx.DiGraph, 0.5), (nx.MultiGraph, 2.0)):
        edges = TWO_TRIANGLES * (2 if graph is nx.MultiGraph else 1)  # parallel ones add up
        value = objective(graph(edges), halves, 0.0, cut="ratio")
        assert value == pytest.approx(weight * 2 / 3)
    with pytest.raises(ValueError, match="no vertices"):
        GraphDPMeans().fit(nx.Graph())


def test_igraph():
    ig = pytest.importorskip("igraph")
    G = ig.Graph(6, TWO_TRIANGLES)
    G.vs["name"], G.es["weight"] = list("abcdef"), [2.0] * 7
    model = GraphDPMeans(-0.5, random_state=0).fit(G)
    assert model.cut_ == pytest.approx(2 / 7) and model.vertex_names_.tolist() == list("abcdef")
    assert GraphDPMeans(-0.5).fit(ig.Graph(6, TWO_TRIANGLES, directed=True)).n_clusters_ == 2


def test_directed_weights_are_averaged_and_parallel_edges_add_up():
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(12, 12)) * (rng.uniform(size=(12, 12)) < 0.4)
    one = GraphDPMeans(-0.5, random_state=0).fit(A)
    two = GraphDPMeans(-0.5, random_state=0).fit((A + A.T) / 2)
    assert one.objective_ == two.objective_
    np.testing.assert_allclose(one.cuts_per_cluster_, cuts((A + A.T) / 2, one.labels_))
    doubled = np.array([*TWO_TRIANGLES, (3, 2), (2, 3)])
    cut = objective(doubled, [0, 0, 0, 1, 1, 1], 0.0, cut="normalized")
    assert cut == pytest.approx(2 * 3 / 9)


def test_self_loops_count_once():
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = A[2, 3] = A[3, 2] = A[1, 2] = A[2, 1] = 1.0
    A[0, 0] = 3.0
    edges = [(0, 1, 1.0), (2, 3, 1.0), (1, 2, 1.0), (0, 0, 3.0)]
    forms = [A, edges]
    if nx := _imported("networkx"):
        forms += [nx.Graph(), nx.MultiGraph()]
        for graph in forms[2:]:
            graph.add_weighted_edges_from(edges)
    if ig := _imported("igraph"):
        forms.append(ig.Graph(4, [edge[:2] for edge in edges]))
        forms[-1].es["weight"] = [weight for *_, weight in edges]
    for graph in forms:
        value = objective(graph, [0, 0, 1, 1], 0.0, cut="normalized")
        assert value == pytest.approx(1 / 6 + 1 / 3), type(graph)


@pytest.mark.parametrize("cut", CUTS)
def test_isolated_vertices_and_components(cut):
    edges = [*TWO_TRIANGLES, (8, 9), (9, 10), (8, 10)]  # 6 and 7 have no links
    penalty = -0.05 if cut == "normalized" else -0.01
    model = GraphDPMeans(penalty, cut=cut, random_state=0).fit(edges)
    assert model.n_clusters_ == 4 and model.cut_ == 0
    assert np.bincount(model.labels_)[model.labels_[[6, 7]]].tolist() == [1, 1]
    assert model.objective_ == pytest.approx(4 * penalty)
    dense = np.zeros((11, 11))
    for a, b in edges:
        dense[a, b] = dense[b, a] = 1.0
    assert model.objective_ == pytest.approx(penalised_cut(dense, model.labels_, penalty, cut))


BAD = {
    "negative": (np.array([[0.0, -1.0], [-1.0, 0.0]]), "Negative.*vertex 0 to 1"),
    "negative edge": ([(0, 1, 1.0), (1, 2, -2.0)], "Negative.*edge 1"),
    "nan": (np.array([[0.0, np.nan], [1.0, 0.0]]), "NaN"),
    "infinite": (sparse.csr_array(np.array([[0.0, np.inf], [np.inf, 0.0]])), "infinity"),
    "empty": (np.empty((0, 0)), "no vertices"),
    "no edges": (np.empty((0, 2)), "no vertices"),
    "no links": (np.zeros((3, 3)), "no links"),
    "loops only": (np.eye(3), "no links"),
    "not square": (sparse.csr_array(np.ones((3, 4))), "square"),
    "rows": (np.ones((10, 5)), "a graph is"),
    "text": (np.array([["a", "b"], ["c", "d"]]), "must be numbers"),
    "complex": (np.array([[0, 1j], [1j, 0]]), "[Cc]omplex"),
    "negative vertex": ([(0, 1), (1, -2), (2, 3)], "integers from 0 on"),
    "half a vertex": ([(0, 1), (1, 1.5), (2, 3)], "integers from 0 on"),
    "mixed names": ([("a", "b"), ("c", None), ("d", "e")], "lacks a vertex"),
    "far numbers": ([(0, 10**12), (1, 2), (3, 4)], "Renumber"),
    "wide frame": (pd.DataFrame(np.ones((5, 4))), "data frame of edges"),
    "scalar": (3.0, "a graph is"),
    "other rows": (pd.DataFrame(np.ones((2, 2)), list("ab"), list("ac")), "name the same vertices"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_graphs_are_refused_in_one_sentence(kind):
    X, words = BAD[kind]
    model = GraphDPMeans()
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        model.fit(X)
    assert "\n" not in str(caught.value) and not hasattr(model, "labels_")


# -- predict, files, the rest ----------------------------------------------------------------------


@pytest.mark.parametrize("cut", CUTS)
def test_new_vertices_join_where_the_objective_is_least(cut):
    rng = np.random.default_rng(0)
    A = random_adjacency(rng, 12, 0.3)
    penalty = -0.5 if cut == "normalized" else -0.8
    model = GraphDPMeans(penalty, cut=cut, random_state=0).fit(A)
    new = rng.uniform(size=(8, 12)) * (rng.uniform(size=(8, 12)) < 0.3)
    new[3] = 0.0
    found, novel = model.predict(new), model.predict(sparse.csr_array(new), novelty=True)
    for row, label, or_novel in zip(new, found, novel, strict=True):
        if not row.any():
            assert label == 0 and or_novel == -1
            continue
        larger = np.block([[A, row[:, np.newaxis]], [row, 0.0]])
        values = [
            penalised_cut(larger, np.append(model.labels_, c), penalty, cut)
            for c in range(model.n_clusters_ + 1)
        ]
        joined = [c for c in range(model.n_clusters_) if row[model.labels_ == c].any()]
        assert values[label] == pytest.approx(min(values[c] for c in joined))
        assert or_novel == (-1 if values[-1] < values[label] - 1e-12 else label)


def test_predict_refuses_names_and_other_widths():
    model = GraphDPMeans(-0.5).fit(TWO_TRIANGLES)
    for X in (["v1", "v2"], np.array([["v1"] * 6]), [[0.0] * 5 + ["v1"]], "v1"):
        with pytest.raises(ValueError, match=r"not names of vertices; those of the fit have labe"):
            model.predict(X)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.predict([0.0] * 6)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((1, 6), np.nan))
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.predict(np.ones((2, 5)))
    with pytest.raises(ValueError, match="Negative"):
        model.predict(-np.ones((2, 6)))


@pytest.mark.parametrize("names", ["numbers", "text"])
def test_files(names, tmp_path):
    edges = TWO_TRIANGLES if names == "numbers" else [(f"v{a}", f"v{b}") for a, b in TWO_TRIANGLES]
    model = GraphDPMeans(-0.5, random_state=0).fit(edges)
    save(model, tmp_path / "graph")
    again = load(tmp_path / "graph")
    for name, value in vars(model).items():
        if name != "_model":
            assert np.array_equal(getattr(again, name), value), name
    links = np.eye(6)
    np.testing.assert_array_equal(again.predict(links), model.predict(links))


def test_the_same_bits_for_any_number_of_threads():
    links, _ = make_planted_partition(6, 50, degree_inside=6.0, random_state=3)
    for penalty in (-0.6, "auto"):
        one, two = (GraphDPMeans(penalty, random_state=0, n_jobs=n).fit(links) for n in (1, 3))
        np.testing.assert_array_equal(one.labels_, two.labels_)
        assert one.objective_history_.tobytes() == two.objective_history_.tobytes()


def test_a_cap_is_told():
    links, _ = make_planted_partition(5, 20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="cap"):
        model = GraphDPMeans(-0.6, max_clusters=3, random_state=0).fit(links)
    assert model.n_clusters_ == 3
    apart = [(0, 1), (2, 3), (4, 5)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert GraphDPMeans(-0.5, max_clusters=2).fit(apart).n_clusters_ == 2
        lone = [*apart, (8, 9)]  # 6 and 7 have no links
        assert GraphDPMeans(-0.5, max_clusters=5).fit(lone).n_clusters_ == 5


def test_out_of_steps_is_told():
    links, _ = make_planted_partition(5, 40, degree_outside=9.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = GraphDPMeans(-0.8, max_iter=1, random_state=0).fit(links)
    assert not model.converged_ and model.n_iter_ == 1


def test_verbose(capsys):
    GraphDPMeans(random_state=0).fit(load_karate_club()[0])
    assert capsys.readouterr() == ("", "")
    links, _ = make_planted_partition(random_state=0)
    GraphDPMeans(random_state=0, verbose=1).fit(links)
    out, err = capsys.readouterr()
    assert out == "" and "[GraphDPMeans] penalty" in err and "step 1" in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_leaves_the_old_model():
    links, _ = make_planted_partition(300, 100, degree_inside=10.0, random_state=0)
    model = GraphDPMeans(-0.5, random_state=0).fit(TWO_TRIANGLES)
    labels = model.labels_
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.set_params(cluster_penalty="auto").fit(links)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert model.labels_ is labels
    assert GraphDPMeans(-0.5, random_state=0).fit(TWO_TRIANGLES).n_clusters_ == 2


def test_objective_of_graphs_refuses_what_does_not_apply():
    with pytest.raises(ValueError, match="sample_weight"):
        objective(TWO_TRIANGLES, [0] * 6, -0.1, cut="normalized", sample_weight=np.ones(6))
    with pytest.raises(ValueError, match="range"):
        objective(np.ones((3, 2)), [0, 0, 1], -0.1)
    with pytest.raises(ValueError, match="labels"):
        objective(TWO_TRIANGLES, [0] * 5, -0.1, cut="ratio")


# It fits rows of a table, which are no graph.
NOT_FOR_GRAPHS = {"check_clustering": "needs rows, and GraphDPMeans takes graphs"}


@pytest.mark.filterwarnings("ignore:.*so there is one cluster")  # random tables are no communities
@parametrize_with_checks(
    [GraphDPMeans(random_state=0)], expected_failed_checks=lambda _: NOT_FOR_GRAPHS
)
def test_sklearn_checks(estimator, check):
    check(estimator)
