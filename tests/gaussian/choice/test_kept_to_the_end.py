"""What was chosen is what the fit ends with."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from hardbayes import GaussianDPMeans
from hardbayes.gaussian.choice.path import find_path
from hardbayes.gaussian.choice.prior import FARTHEST, SLACK, Keeper
from hardbayes.gaussian.choice.rule import choose_number
from tests.gaussian.choice.samples import sampled

ROWS = load_breast_cancer().data


def test_the_fit_ends_with_the_clusters_that_were_chosen():
    """Single-row moves went on from there and ended elsewhere."""
    with sampled(ROWS) as sample:
        assert len(sample.ids) == len(ROWS)
        kept = choose_number(sample, 100, None, print).kept
        chosen = np.empty(len(ROWS), np.int64)
        chosen[sample.ids] = kept.labels
    found = GaussianDPMeans().fit(ROWS).labels_
    assert kept.k > 1
    # The sample has the noise of rounding besides, which may move a few rows.
    assert np.mean(found == chosen) > 0.98


def test_the_prior_is_one_under_which_rows_stay():
    with sampled(ROWS[:, :10]) as sample:
        path = find_path(sample.rows)
        keeper = Keeper(sample.rows, path, 100)
        for k in (2, 4):
            others = keeper._others(k)
            losses = []
            for found in keeper._candidates(path[k].labels, k):
                low, high = keeper._penalties(found, others)
                losses += [found.loss] if high > low / FARTHEST else []
            near = keeper.near(path[k].labels, k)
            assert near.loss == np.mean(near.labels != path[k].labels)
            assert near.loss <= min(losses) + 2 * SLACK
