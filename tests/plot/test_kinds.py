"""Displays of the wrong kind of model say so, and many clusters have as many colours."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hardbayes import BPMeans, DPMeans, penalty_path
from hardbayes.plot import (
    ClustersDisplay,
    ComponentsDisplay,
    ObjectiveDisplay,
    PenaltyPathDisplay,
    TopicsDisplay,
    fit_figure,
)
from hardbayes.plot._drawing import COLORS

X = np.random.RandomState(0).standard_normal((20, 3))


def test_features_are_no_clusters_and_clusters_no_features():
    features, clusters = BPMeans(5.0, n_init=2, random_state=0).fit(X), DPMeans(4.0).fit(X)
    with pytest.raises(TypeError, match=r"BPMeans does not have\. For features use ComponentsDis"):
        ClustersDisplay.from_estimator(features, X)
    with pytest.raises(TypeError, match=r"BPMeans does not have"):
        fit_figure(features, X)
    with pytest.raises(TypeError, match=r"DPMeans does not have\. For clusters use ClustersDis"):
        ComponentsDisplay.from_estimator(clusters, X)
    with pytest.raises(TypeError, match=r"DPMeans does not have\. Pass a fitted HDPTopics"):
        TopicsDisplay.from_estimator(clusters)
    with pytest.raises(TypeError, match=r"KMeans does not have\. Pass a model of this library"):
        ObjectiveDisplay.from_estimator(KMeans(2).fit(X))
    with pytest.raises(
        TypeError, match=r"from_path takes the result of penalty_path\. Got DPMeans"
    ):
        PenaltyPathDisplay.from_path(clusters)


def test_what_is_no_estimator():
    with pytest.raises(TypeError, match=r"takes a fitted estimator\. Got ndarray"):
        ClustersDisplay.from_estimator(X, X)
    with pytest.raises(TypeError, match=r"takes a fitted estimator\. Got PenaltyPath"):
        ClustersDisplay.from_estimator(penalty_path(X, n_penalties=2), X)
    pipeline = make_pipeline(StandardScaler(), DPMeans(4.0)).fit(X)
    with pytest.raises(TypeError, match=r"not a pipeline\. Pass its last step, pipeline\[-1\]"):
        ClustersDisplay.from_estimator(pipeline, X)


def test_a_model_of_another_library_with_centres_is_drawn():
    assert len(ClustersDisplay.from_estimator(KMeans(2).fit(X), X).scatters_) == 2


def test_twenty_clusters_have_twenty_colours():
    points = np.random.RandomState(0).standard_normal((200, 2))
    display = ClustersDisplay(points, np.arange(200) % 20, points[:20]).plot()
    colours = {tuple(scatter.get_facecolor()[0][:3]) for scatter in display.scatters_}
    assert len(colours) == 20 == len(COLORS)
    assert len(display.ax_.get_legend().get_texts()) == 21


def lab(colour):
    """CIELAB coordinates of a colour written as #RRGGBB."""
    rgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(matrix @ linear / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_colours_are_far_apart():
    places = np.array([lab(colour) for colour in (*COLORS, "#000000", "#FFFFFF")])
    apart = np.sqrt(np.square(places[:, np.newaxis] - places).sum(axis=-1))
    assert apart[np.triu_indices(len(places), 1)].min() > 25
