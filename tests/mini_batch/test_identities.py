"""Names of clusters: matched by shared weight, and what is told when they come and go."""

import numpy as np
import pytest

from hardbayes.core.arrays import no_totals
from hardbayes.core.geometry import geometry_for
from hardbayes.core.loop import Status
from hardbayes.mini_batch.clusters import Clusters
from hardbayes.mini_batch.identities import Identities
from hardbayes.mini_batch.summary import Summary

SQUARED = geometry_for("squared_euclidean")


def told(names, places, weights, labels, row, centres=None):
    """Return the names after these micro-clusters (m,) of the line were found in clusters."""
    places, weights = np.array(places, float)[:, np.newaxis], np.array(weights, float)
    labels = np.array(labels, np.int32)
    totals = no_totals(len(places), 1)
    totals.coarse[:], totals.weight_coarse[:] = places * weights[:, np.newaxis], weights
    own = np.bincount(labels, weights)
    if centres is None:
        centres = np.bincount(labels, weights * places[:, 0]) / own
    found = Clusters(labels, np.reshape(centres, (-1, 1)), own, 0.0, {}, Status.CONVERGED)
    return names.follow(found, Summary(totals, np.zeros(len(places))), SQUARED, row)


@pytest.fixture
def two():
    return told(Identities.of_nothing(1), [0.0, 10.0], [5.0, 5.0], [0, 1], 10)


def test_the_first_are_born(two):
    assert two.ids.tolist() == [0, 1]
    assert two.events == (("born", 0, 10), ("born", 1, 10))


def test_names_go_with_the_weight_that_is_shared(two):
    names = told(two, [0.0, 1.0, 10.0], [5.0, 3.0, 5.0], [1, 1, 0], 20)
    assert names.ids.tolist() == [1, 0] and names.events == two.events


def test_new_rows_elsewhere_are_born(two):
    names = told(two, [0.0, 10.0, 99.0], [5.0, 5.0, 4.0], [0, 1, 2], 20)
    assert names.ids.tolist() == [0, 1, 2] and names.events[2:] == (("born", 2, 20),)


def test_a_cluster_that_splits_is_told_with_its_origin(two):
    names = told(two, [-1.0, 1.0, 10.0], [3.0, 2.0, 5.0], [0, 1, 2], 20)
    assert names.ids.tolist() == [0, 2, 1] and names.events[2:] == (("split", 2, 20, 0),)


def test_a_cluster_that_is_united_is_told_with_where_it_went(two):
    names = told(two, [0.0, 10.0], [6.0, 5.0], [0, 0], 20)
    assert names.ids.tolist() == [0] and names.events[2:] == (("merged", 1, 20, 0),)


def test_a_cluster_without_new_rows_dies(two):
    names = told(two.decayed(0.25), [0.0, 10.0], [9.0, 1.25], [0, 0], 20)
    assert names.ids.tolist() == [0] and names.events[2:] == (("died", 1, 20),)


def test_what_splits_and_unites_again_has_not_died(two):
    parts = told(two, [-1.0, 1.0, 10.0], [3.0, 2.0, 5.0], [0, 1, 2], 20)
    names = told(parts, [0.0, 10.0], [5.0, 5.0], [0, 1], 30)
    assert names.ids.tolist() == [0, 1] and names.events[3:] == (("merged", 2, 30, 0),)
    # The one that a part has left is as large as it now is.
    united = told(parts, [0.0, 1.0, 10.0], [3.0, 2.0, 5.0], [0, 0, 0], 30)
    assert united.ids.tolist() == [1]
    assert united.events[3:] == (("merged", 0, 30, 1), ("merged", 2, 30, 1))


def test_names_are_not_given_twice(two):
    fewer = told(two, [0.0], [6.0], [0], 20)
    names = told(fewer, [0.0, 10.0], [6.0, 5.0], [0, 1], 30)
    assert names.ids.tolist() == [0, 2] and names.next_id == 3
