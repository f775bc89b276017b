"""Generated graphs, and the karate club."""

import numpy as np
import pytest

from hardbayes.datasets import load_karate_club, make_planted_partition


def test_karate_club():
    links, factions = load_karate_club()
    dense = links.toarray()
    assert dense.sum() == 2 * 78 and (dense == dense.T).all() and set(np.unique(dense)) == {0, 1}
    assert dense.sum(axis=1)[[0, 33]].tolist() == [16, 17] and np.trace(dense) == 0
    assert factions.sum() == 17 and factions[[0, 33]].tolist() == [0, 1]


def test_planted_partition():
    links, communities = make_planted_partition(5, 200, random_state=0)
    inside = communities[:, np.newaxis] == communities
    dense = links.toarray()
    assert (dense == dense.T).all() and set(np.unique(dense)) == {0, 1} and np.trace(dense) == 0
    assert (dense * inside).sum() / 1000 == pytest.approx(12, rel=0.1)
    assert (dense * ~inside).sum() / 1000 == pytest.approx(4, rel=0.1)
    again, _ = make_planted_partition(5, 200, random_state=0)
    assert (again != links).nnz == 0


def test_one_community_and_none_outside():
    links, communities = make_planted_partition(1, 30, random_state=0)
    assert links.nnz and (communities == 0).all()
    apart, communities = make_planted_partition(3, 30, degree_outside=0.0, random_state=0)
    rows, columns = apart.nonzero()
    assert (communities[rows] == communities[columns]).all()


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="size"):
        make_planted_partition(3, 1)
    with pytest.raises(ValueError, match="degree_inside"):
        make_planted_partition(degree_inside=0.0)
