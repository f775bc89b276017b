import numpy as np

from benchmarks.graph_data import graphs, random_graph, rewired
from benchmarks.options import Options
from hardbayes.datasets import make_planted_partition


def test_rewired_graphs_have_the_same_degrees_and_no_communities():
    links, labels = make_planted_partition(3, 30, random_state=0)
    new = rewired(links, np.random.default_rng(0))
    assert (new != new.T).nnz == 0 and not new.diagonal().any() and set(new.data) == {1.0}
    np.testing.assert_array_equal(new.sum(axis=1), links.sum(axis=1))
    inside = [each[labels == 0][:, labels == 0].nnz for each in (links, new)]
    assert inside[1] < 0.6 * inside[0]


def test_random_graphs_have_about_the_mean_degree():
    links = random_graph(300, 6.0, np.random.default_rng(0))
    assert (links != links.T).nnz == 0 and not links.diagonal().any()
    assert 5.0 < links.nnz / 300 < 7.0


def test_files_are_read_with_their_communities(tmp_path):
    text, table = tmp_path / "text.txt", tmp_path / "table.npz"
    text.write_text("a b\nb c\na c\nx y\n")
    text.with_suffix(".labels").write_text("a one\nb one\nx two\n")
    np.savez(table, n=5, edges=[[0, 1], [1, 2], [3, 4]], labels=[1, 0, -1, 0, 0])
    *_, one, two = graphs(Options(quick=True, graphs=(text, table)))
    assert one.name == "text" and one.links.toarray().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert one.labels.tolist() == [0, 0, -1]
    assert two.links.shape == (3, 3) and two.labels.tolist() == [1, 0, -1]
