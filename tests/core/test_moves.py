"""Moves: what a proposal promises is what the objective, computed anew, says."""

import numpy as np
import pytest

from hardbayes.core import centre_free_descent
from hardbayes.core.centre_free import labelled
from tests.core.association import MODELS, AssociationModel
from tests.core.test_labelling import literal

N = 9


def splits():
    return centre_free_descent.Splits(np.random.RandomState(0))


EVERY = {
    "choose": centre_free_descent.choose,
    "move_rows": centre_free_descent.move_rows,
    "merge": centre_free_descent.merge,
    "split": lambda current: centre_free_descent.split(current, splits()),
    "exchange": lambda current: centre_free_descent.exchange(current, splits()),
}


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("name", EVERY)
def test_the_change_is_exact_and_nothing_changes(name, make):
    met = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model = make(rng, N)
        current = labelled(model, rng.integers(0, 1 if name == "split" else 4, N))
        labels = current.labels.copy()
        found = EVERY[name](current)
        np.testing.assert_array_equal(current.labels, labels)
        if found is None:
            continue
        met += 1
        expected = literal(model, found.outcome.labels) - literal(model, labels)
        np.testing.assert_allclose(found.change, expected, atol=1e-9)
        assert found.change < 0
    assert met or (name == "choose" and make.__name__ != "kernel_means")


def two_triangles(penalty):
    """A graph of two triangles joined by a weak link: the normalised cut is clear."""
    links = np.kron(np.eye(2), 1.0 - np.eye(3))
    links[2, 3] = links[3, 2] = 0.1
    return AssociationModel(links, links.sum(axis=0), penalty)


def test_merges_are_of_disjoint_pairs_that_pay():
    model = two_triangles(0.7)
    current = labelled(model, np.array([0, 0, 1, 2, 3, 3]))
    found = centre_free_descent.merge(current)
    np.testing.assert_array_equal(found.outcome.labels, [0, 0, 0, 1, 1, 1])
    assert found.n_merges == found.n_changed == 2 and found.n_splits == 0
    assert centre_free_descent.merge(found.outcome) is None
    assert centre_free_descent.merge(labelled(model, np.zeros(6, int))) is None


def test_a_split_finds_the_triangles_and_respects_the_cap():
    model = two_triangles(0.7)
    whole = labelled(model, np.zeros(6, int))
    found = centre_free_descent.split(whole, splits())
    np.testing.assert_array_equal(np.unique(found.outcome.labels[:3]), found.outcome.labels[:1])
    assert found.outcome.k == 2 and found.n_splits == 1
    assert centre_free_descent.split(found.outcome, splits()) is None
    model.max_clusters = 1
    assert centre_free_descent.split(whole, splits()) is None


def test_an_exchange_unites_two_and_divides_a_third():
    links = np.kron(np.eye(3), 1.0 - np.eye(3)) + 0.01
    np.fill_diagonal(links, 0.0)
    model = AssociationModel(links, links.sum(axis=0), 0.7)
    current = labelled(model, np.array([0, 0, 0, 1, 1, 2, 3, 3, 3]))
    current = labelled(model, np.where(current.labels == 3, 0, current.labels))
    found = centre_free_descent.exchange(current, splits())
    assert found.change < 0 and found.outcome.k == 3
    assert (found.n_splits, found.n_merges) == (1, 1)
    for block in found.outcome.labels.reshape(3, 3):
        assert len(set(block)) == 1


class Optimist(AssociationModel):
    """Believes that every split saves much, and counts them."""

    asked = 0

    def split(self, members, statistics, which, rng):
        self.asked += len(which)
        found = super().split(members, statistics, which, rng)
        return [each._replace(saved=each.saved + 10.0) for each in found]


def test_a_division_is_judged_by_all_rows_and_remembered():
    honest = two_triangles(0.7)
    model = Optimist(honest.links, honest.weights, 0.7)
    current, memo = labelled(model, np.array([0, 0, 0, 1, 1, 1])), splits()
    assert len(centre_free_descent.worth_splitting(model, memo.of(current))) == 2
    assert centre_free_descent.split(current, memo) is None
    assert not centre_free_descent.worth_splitting(
        model, memo.of(current)
    )  # now it is known better
    assert model.asked == 2
    renamed = labelled(model, 1 - current.labels)
    assert [each.saved for each in memo.of(renamed)] == [
        each.saved for each in memo.of(current)[::-1]
    ]
    assert model.asked == 2
    memo.of(labelled(model, np.array([0, 0, 0, 1, 1, 2])))
    assert model.asked == 4  # the first cluster is still the same


def test_a_model_without_a_choice_or_births_skips_them():
    current = labelled(two_triangles(0.7), np.array([0, 0, 1, 1, 1, 1]))
    assert centre_free_descent.choose(current) is None
    assert centre_free_descent.sweep(current) == (None, False)
