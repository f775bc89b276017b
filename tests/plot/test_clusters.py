"""ClustersDisplay: every row and centre is drawn in the plane, for any number of columns."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

from hardbayes import DPMeans
from hardbayes.datasets import make_blobs_apart, make_word_histograms
from hardbayes.plot import ClustersDisplay


def drawn_points(display):
    return np.vstack([scatter.get_offsets() for scatter in display.scatters_])


def test_draws_every_row_and_every_centre(model, three_gaussians):
    display = ClustersDisplay.from_estimator(model, three_gaussians)
    assert sorted(map(tuple, drawn_points(display))) == sorted(map(tuple, three_gaussians))
    np.testing.assert_array_equal(display.centers_.get_offsets(), model.cluster_centers_)
    assert display.figure_ is display.ax_.figure


def test_title_and_legend_say_what_was_found(model, three_gaussians):
    display = ClustersDisplay.from_estimator(model, three_gaussians)
    assert display.ax_.get_title() == f"{model.n_clusters_} clusters, penalty 66"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    sizes = np.bincount(model.labels_)
    assert texts == [*(f"{k} ({size} rows)" for k, size in enumerate(sizes)), "centres"]


def test_one_colour_for_each_cluster(model, three_gaussians):
    display = ClustersDisplay.from_estimator(model, three_gaussians)
    colors = {tuple(scatter.get_facecolor()[0]) for scatter in display.scatters_}
    assert len(colors) == model.n_clusters_


def test_draws_where_it_is_told_to(model, three_gaussians):
    _, (left, right) = plt.subplots(1, 2)
    display = ClustersDisplay.from_estimator(model, three_gaussians, ax=right, s=3)
    assert display.ax_ is right
    assert not left.collections
    assert display.scatters_[0].get_sizes() == [3]


def test_one_cluster_needs_no_legend(three_gaussians):
    model = DPMeans(1e9, random_state=0).fit(three_gaussians)
    display = ClustersDisplay.from_estimator(model, three_gaussians)
    assert display.ax_.get_title() == "1 cluster, penalty 1e+09"
    assert display.ax_.get_legend() is None


def test_more_clusters_than_colours_and_shapes():
    X, y = make_blobs_apart(240, 2, 120, random_state=0)
    centers = np.array([X[y == k].mean(axis=0) for k in range(120)])
    display = ClustersDisplay(X, y, centers).plot()
    assert drawn_points(display).shape == X.shape
    assert display.ax_.get_title() == "120 clusters"
    assert display.ax_.get_legend() is None


def test_many_columns_become_principal_components():
    X, _ = make_blobs_apart(90, 6, 3, random_state=0)
    model = DPMeans(25.0, random_state=0).fit(X)
    display = ClustersDisplay.from_estimator(model, X)
    assert display.ax_.get_xlabel() == "component 1"
    np.testing.assert_allclose(display.points.mean(axis=0), 0, atol=1e-9)
    # The mean of projected rows is the projection of their mean, which is the centre.
    means = [display.points[model.labels_ == k].mean(axis=0) for k in range(model.n_clusters_)]
    np.testing.assert_allclose(display.centers, means, atol=1e-6)


@pytest.mark.parametrize("n_words", [5, 40])
def test_sparse_rows_are_drawn_like_dense_ones(n_words):
    X, _ = make_word_histograms(60, n_words, 3, random_state=0)
    model = DPMeans(0.5, divergence="kl", random_state=0).fit(X)
    dense = ClustersDisplay.from_estimator(model, X)
    sparse = ClustersDisplay.from_estimator(model, csr_matrix(X))
    np.testing.assert_allclose(np.abs(sparse.points), np.abs(dense.points), atol=1e-6)


def test_counts_are_drawn_as_the_shares_that_the_centres_are():
    X, _ = make_word_histograms(40, 2, 2, random_state=0)
    model = DPMeans(0.5, divergence="kl", random_state=0).fit(X)
    display = ClustersDisplay.from_estimator(model, X)
    np.testing.assert_allclose(display.points.sum(axis=1), 1)
    np.testing.assert_allclose(display.points, X / X.sum(axis=1, keepdims=True))


def test_one_column_is_drawn_against_the_row():
    X, _ = make_blobs_apart(30, 1, 3, random_state=0)
    model = DPMeans(25.0, random_state=0).fit(X)
    display = ClustersDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.points[:, 0], X[:, 0])
    assert display.ax_.get_ylabel() == "row"


def test_few_rows_with_many_columns():
    X = np.arange(8.0).reshape(2, 4)
    model = DPMeans(1.0, random_state=0).fit(X)
    display = ClustersDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.points, X[:, :2])


def test_named_columns_name_the_axes(three_gaussians):
    frame = pd.DataFrame(three_gaussians, columns=["length", "width"])
    model = DPMeans(66.0, random_state=0).fit(frame)
    display = ClustersDisplay.from_estimator(model, frame)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")


@pytest.mark.parametrize("usetex", [False, True])
def test_names_of_columns_are_no_formulas(three_gaussians, usetex):
    names = ["$x_{$", r"\$a_b$ \frac"]
    frame = pd.DataFrame(three_gaussians, columns=names)
    model = DPMeans(66.0, random_state=0).fit(frame)
    _, ax = plt.subplots()
    with plt.rc_context({"text.usetex": usetex}):
        display = ClustersDisplay.from_estimator(model, frame, ax=ax)
    labels = [display.ax_.xaxis.label, display.ax_.yaxis.label]
    assert [label.get_text() for label in labels] == names
    assert not any(label.get_parse_math() or label.get_usetex() for label in labels)
    if not usetex:  # a LaTeX that would draw the rest need not be installed
        display.figure_.canvas.draw()


def test_large_data_is_thinned_but_counted_whole(model, three_gaussians):
    display = ClustersDisplay.from_estimator(model, three_gaussians, max_points=50)
    assert drawn_points(display).shape == (50, 2)
    assert display.sizes.sum() == 300


def test_refuses_to_draw_nothing(model, three_gaussians):
    with pytest.raises(ValueError, match=r"'max_points' parameter .* Got 0"):
        ClustersDisplay.from_estimator(model, three_gaussians, max_points=0)


def test_unfitted_model_is_refused(three_gaussians):
    with pytest.raises(NotFittedError):
        ClustersDisplay.from_estimator(DPMeans(), three_gaussians)


def test_missing_matplotlib_says_what_to_install(model, three_gaussians, no_matplotlib):
    with pytest.raises(ImportError, match=r'pip install "hardbayes\[plot\]"'):
        ClustersDisplay.from_estimator(model, three_gaussians)
