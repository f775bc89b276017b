"""Pictures of graphs."""

import numpy as np
import pytest

from hardbayes import GraphDPMeans, penalty_path
from hardbayes.datasets import load_karate_club, make_planted_partition
from hardbayes.plot import GraphDisplay


def test_small_graphs_are_drawn_beside_their_matrix():
    links, _ = load_karate_club()
    model = GraphDPMeans(-0.7, random_state=0).fit(links)
    display = GraphDisplay.from_estimator(model, links)
    assert len(display.axes_) == 2 and display.positions_.shape == (34, 2)
    assert np.isfinite(display.positions_).all()
    assert f"{model.n_clusters_} clusters" in display.axes_[0].get_title()
    assert len(display.axes_[0].lines) == model.n_clusters_
    labels = model.labels_[display.order_]
    assert np.count_nonzero(np.diff(labels)) == model.n_clusters_ - 1
    display.figure_.canvas.draw()


def test_large_graphs_are_matrices_of_bounded_size():
    links, _ = make_planted_partition(5, 120, random_state=0)
    model = GraphDPMeans(-0.5, random_state=0).fit(links)
    display = GraphDisplay.from_estimator(model, links)
    assert len(display.axes_) == 1 and display.positions_ is None
    (image,) = display.axes_[0].images
    cells = image.get_array()
    assert cells.shape == (400, 400)
    assert cells.sum() == pytest.approx(links.sum())


def test_other_axes_and_components():
    import matplotlib.pyplot as plt

    edges = [(0, 1), (1, 2), (3, 4)]
    model = GraphDPMeans(-0.5, random_state=0).fit(edges)
    _, ax = plt.subplots()
    assert GraphDisplay.from_estimator(model, edges, axes=ax).axes_ == (ax,)
    assert np.isfinite(GraphDisplay.from_estimator(model, edges).positions_).all()


def test_another_graph_is_refused():
    model = GraphDPMeans(-0.5, random_state=0).fit([(0, 1), (1, 2), (3, 4)])
    with pytest.raises(ValueError, match="graph of the fit"):
        GraphDisplay.from_estimator(model, load_karate_club()[0])


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib():
    with pytest.raises(ImportError, match="pip install"):
        GraphDisplay.from_estimator(None, None)


def test_paths_of_graphs_are_drawn_by_the_size_of_penalties():
    links, _ = load_karate_club()
    path = penalty_path(links, estimator=GraphDPMeans(random_state=0), penalties=[-0.3, -0.5, -0.8])
    display = path.plot()
    assert display.axes_[1].get_xlabel() == "minus the penalty"
    assert (display.axes_[0].lines[0].get_xdata() > 0).all()
    display.figure_.canvas.draw()
