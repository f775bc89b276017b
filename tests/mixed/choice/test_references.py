"""Tables without clusters that are like the data: which of its peaks they keep."""

import numpy as np

from hardbayes.mixed.choice.references import Tree, _has_modes, variables_of
from hardbayes.mixed.clusters import Prior, Rows
from hardbayes.mixed.search import pose


def tree_of(x, y, seed=0):
    numbers = np.column_stack([x, y])
    rows = Rows(
        numbers, np.zeros((len(x), 0), np.int64), np.ones(len(x)), np.zeros(2),
        np.zeros(0, np.int64),
    )  # fmt: skip
    rng = np.random.RandomState(seed)
    tree = Tree(variables_of(pose(rows, Prior(1.0))), rng)
    return tree, tree.draw(len(x), rng)


def test_peaks_of_a_curve_are_kept_in_either_order_of_columns():
    rng = np.random.RandomState(0)
    x = rng.normal(size=1000)
    y = 2.0 * np.sin(2.0 * x) + 0.4 * rng.normal(size=1000)
    assert _has_modes(y) and not _has_modes(x)
    for columns in ((x, y), (y, x)):
        tree, drawn = tree_of(*columns)
        at = 1 if columns[0] is x else 0
        assert tree.edges == [(-1, 1 - at), (1 - at, at)]
        assert _has_modes(drawn[at])
        np.testing.assert_allclose(
            np.quantile(drawn[at], [0.1, 0.5, 0.9]), np.quantile(y, [0.1, 0.5, 0.9]), atol=0.4
        )
        apart = drawn[at] - 2.0 * np.sin(2.0 * drawn[1 - at])
        assert apart.std() < 0.6


def test_peaks_of_clusters_are_not():
    """The clusters overlap in one number: at the same place of it both occur."""
    rng = np.random.RandomState(1)
    n = 2000
    member = rng.randint(2, size=n)
    for apart in (0.0, 0.8, 1.6):
        x = apart * member + rng.normal(size=n)
        y = 6.0 * member + rng.normal(size=n)
        assert _has_modes(y) and not _has_modes(x)
        assert not _has_modes(tree_of(x, y)[1][1])


def test_peaks_of_both_are_not():
    rng = np.random.RandomState(2)
    member = rng.randint(2, size=1000)
    x, y = (6.0 * member + rng.normal(size=1000) for _ in range(2))
    drawn = tree_of(x, y)[1]
    assert not _has_modes(drawn[0]) and not _has_modes(drawn[1])
