"""Penalties by the divergence itself, for partitions of another path."""

import numpy as np

from hardbayes import objective
from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.dp_means.choice.automatic import reprice
from hardbayes.dp_means.choice.path import Tracer
from hardbayes.dp_means.choice.sample import draw, view


def test_between_the_numbers_below_and_above():
    rng = np.random.default_rng(0)
    member = rng.integers(0, 3, 90)
    X = np.eye(3, 300)[member] + 0.05 * rng.standard_normal((90, 300))
    stream = np.random.RandomState(0)
    with Pool(1) as pool:
        sample = draw(X, None, geometry_for("cosine"), 0.0, stream).sample
        seen = view(sample, stream)
        path = Tracer(stream, pool).trace(seen, sample.weights, 12).path
    assert seen.rows.shape[1] < 300 and seen.geometry is not sample.geometry
    penalties = reprice(path, sample)
    fits = [objective(X, path.labels_with(k), 0.0, divergence="cosine") for k in range(1, 6)]
    saved = -np.diff(fits)
    assert saved[2] < penalties[3] < saved[1]
    np.testing.assert_allclose(penalties[3], np.sqrt(saved[2] * saved[1]), rtol=0.05)
    np.testing.assert_allclose(penalties[1], 2 * max(saved[0], (fits[0] - fits[2]) / 2))


class Path:
    """Solutions with labels that are given."""

    def __init__(self, *labels):
        self.labels = {int(max(some)) + 1: np.array(some, np.int32) for some in labels}
        self.n_clusters = max(self.labels)

    def labels_with(self, k):
        return self.labels.get(k)


def test_every_number_has_a_penalty():
    """Three clusters that are no better than two, and a number that the path lacks."""
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    path = Path([0] * 6, [0, 0, 1, 1, 1, 1], [0, 1, 2, 2, 2, 2], [0, 1, 2, 2, 3, 4])
    sample = draw(X, None, geometry_for("squared_euclidean"), 0.0, np.random.RandomState(0)).sample
    penalties = reprice(path, sample)
    assert penalties.keys() == {1, 2, 3, 4, 5}
    assert penalties[1] > penalties[2] > penalties[3] == penalties[4] > 0
    assert penalties[5] > 0
