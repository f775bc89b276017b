"""Cuts of graphs as a model without centres."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graph.graphs import literal_costs, random_graph


@pytest.fixture
def case():
    adjacency, graph = random_graph(5)
    labels = np.random.default_rng(0).integers(0, 4, 20)
    return adjacency, replace(graph, penalties=(0.1, 0.3), max_clusters=20), labels


def test_costs_are_exact_and_zero_where_empty(case):
    adjacency, model, labels = case
    np.testing.assert_allclose(
        model.costs(model.statistics(labels, 6)), literal_costs(adjacency, labels, 6)
    )


def test_unions_have_their_exact_costs_cheapest_first(case):
    adjacency, model, labels = case
    merges = model.merges(model.statistics(labels, 4))
    before = literal_costs(adjacency, labels, 4).sum()
    assert (np.diff(merges.costs) >= 0).all() and len(merges.costs) == 6
    for left, right, cost in zip(*merges, strict=True):
        merged = np.where(labels == right, left, labels)
        assert literal_costs(adjacency, merged, 4).sum() - before == pytest.approx(cost)


def test_divisions_save_what_they_say(case):
    adjacency, model, labels = case
    members = [np.flatnonzero(labels == c) for c in range(4)]
    splits = model.split(members, model.statistics(labels, 4), [0, 2], np.random.RandomState(0))
    for c, split in zip((0, 2), splits, strict=True):
        halved = labels.copy()
        halved[members[c][model.second_half(members[c], split)]] = 4
        saved = (
            literal_costs(adjacency, labels, 5).sum() - literal_costs(adjacency, halved, 5).sum()
        )
        assert split.saved == pytest.approx(saved, abs=1e-12)


def test_moves_of_rows_and_groups_lower_the_objective(case):
    adjacency, model, labels = case

    def value(found):
        return literal_costs(adjacency, found, 20).sum() + 0.3 * len(np.unique(found))

    moved, n_moves = model.move_rows(labels, model.statistics(labels, 4), 8)
    assert n_moves > 0 and value(moved) < value(labels)
    assert value(model.regroup(labels, np.random.RandomState(0))) < value(labels)
    assert model.work(4) == model.n_links
