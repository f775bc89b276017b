"""One row moves between two clusters."""

import numpy as np
import pytest

from hardbayes.core.compiling import kernel
from hardbayes.dp_means.compiled import single_row
from hardbayes.dp_means.compiled.cluster_totals import POTENTIAL_TOLERANCE
from hardbayes.dp_means.compiled.single_row import FLOOR, is_worth_it
from tests.core.alone import alone
from tests.dp_means.compiled.arrays import KINDS, Rows


@kernel
def transfer(rows, i, weight, source, target, left, centres, sizes, members):
    single_row.transfer(rows, i, weight, source, target, left, centres, sizes, members)


def test_a_move_must_gain_more_than_rounding():
    assert alone(is_worth_it)(0.9, 1.0, 1.0)
    assert not alone(is_worth_it)(1.0, 1.0, 1.0)
    assert not alone(is_worth_it)(1.0 - 0.5 * POTENTIAL_TOLERANCE, 1.0, 1.0)
    assert alone(is_worth_it)(1.0 - 2 * POTENTIAL_TOLERANCE, 1.0, 1.0)
    assert not alone(is_worth_it)(0.0, 0.0, 1.0)
    tiny = FLOOR**2  # what is freed may be rounding as a whole
    assert not alone(is_worth_it)(0.0, 0.5 * tiny, 1.0) and alone(is_worth_it)(0.0, 2 * tiny, 1.0)
    assert not alone(is_worth_it)(0.0, 2 * tiny, 4.0)


@pytest.mark.parametrize("kind", KINDS)
def test_means_sizes_and_members_follow(kind):
    rows = Rows(kind)
    weights = np.where(rows.weights == 0, 1.5, rows.weights)
    labels = np.random.default_rng(0).integers(0, 3, 30)
    labels[[0, 1, 2]] = 0, 1, 2

    def means():
        member = labels == np.arange(3)[:, np.newaxis]
        sizes = member @ weights
        return (member @ (weights[:, np.newaxis] * rows.x)) / sizes[:, np.newaxis], sizes, member

    points, sizes, member = means()
    centres, members = rows.direct(points), member.sum(axis=1)
    for i, target in ((5, 1), (15, 2), (7, 0), (5, 2), (29, 1)):
        source = int(labels[i])
        if source == target:
            continue
        left = sizes[source] - weights[i]
        transfer(rows.rows, i, weights[i], source, target, left, centres, sizes, members)
        labels[i] = target
        points, expected, member = means()
        np.testing.assert_allclose(centres.exact, points, rtol=1e-12)
        np.testing.assert_allclose(centres.exact_offset, (points**2).sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(sizes, expected)
        np.testing.assert_array_equal(members, member.sum(axis=1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_without_rows_or_prior_keeps_its_place(kind):
    rows = Rows(kind)
    centres = rows.direct(np.stack([rows.x[3], rows.x[4]]))
    sizes, members = np.array([2.0, 1.0]), np.array([1, 1])
    transfer(rows.rows, 3, 2.0, 0, 1, 0.0, centres, sizes, members)
    np.testing.assert_array_equal(centres.exact[0], rows.x[3])
    np.testing.assert_allclose(centres.exact[1], (2 * rows.x[3] + rows.x[4]) / 3)
    assert sizes.tolist() == [0.0, 3.0] and members.tolist() == [0, 2]
