"""Rows of a mixture against NumPy."""

import numpy as np
import pytest

from hardbayes.core.dip import dip_p_value
from hardbayes.core.pool import Pool
from hardbayes.gaussian import clusters as passes
from hardbayes.gaussian.mixture import MixtureRows

NEAR = np.array([[1, 2], [0, 2], [0, 1]])


def drawn(pool, diagonal, n=90):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 3)) * [2.0, 1.0, 0.5] + 3.0 * rng.integers(0, 2, (n, 1))
    jitter = 0.01 * rng.uniform(size=(n, 3))
    weights, floor = rng.integers(1, 3, n).astype(float), np.array([0.1, 0.2, 0.3])
    return MixtureRows(rows, rows + jitter, weights, floor, diagonal, pool), np.arange(n) % 3


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def rows(request):
    with Pool(1) as pool:
        yield drawn(pool, request.param)


def test_parts_keep_what_belongs_to_their_rows(rows):
    rows, _ = rows
    ids = np.array([5, 2, 70])
    part = rows.part(ids)
    for name in ("rows", "jittered", "weights"):
        np.testing.assert_array_equal(getattr(part, name), getattr(rows, name)[ids])
    np.testing.assert_allclose(part.middle, np.average(rows.rows[ids], 0, rows.weights[ids]))
    assert part.total == rows.weights[ids].sum()


def test_rows_by_cluster(rows):
    rows, labels = rows
    order, places = rows.by_cluster(labels, 3)
    for c in range(3):
        members = order[places[c] : places[c + 1]]
        np.testing.assert_array_equal(members, np.flatnonzero(labels == c))


def test_floors_and_factors(rows):
    rows, labels = rows
    scatters = rows.statistics(labels, 3)[2]
    floored = rows.add_floor(scatters, np.array([1.0, 2.0, 0.0]))
    added = floored - scatters
    for c, weight in enumerate((1.0, 2.0, 0.0)):
        found = added[c, 0] if rows.diagonal else np.diag(added[c])
        np.testing.assert_allclose(found, weight * rows.floor)
    roots, logarithms = rows.factorise(floored)
    for root, log, matrix in zip(roots, logarithms, floored, strict=True):
        if rows.diagonal:
            root, matrix = np.diag(root[0]), np.diag(matrix[0])
        np.testing.assert_allclose(root.T @ root @ matrix, np.eye(3), atol=1e-10)
        np.testing.assert_allclose(log, np.linalg.slogdet(matrix)[1])


def test_a_singular_matrix_has_finite_factors(rows):
    rows, _ = rows
    matrix = np.ones((1, 1 if rows.diagonal else 3, 3))
    assert np.isfinite(rows.factorise(matrix)[0]).all()


def test_rows_choose_and_are_seen_with_their_jitter(rows):
    rows, labels = rows
    _, means, scatters = rows.statistics(labels, 3)
    roots, offsets = rows.factorise(rows.add_floor(scatters))
    before = labels.copy()
    np.testing.assert_array_equal(
        rows.choose_near(means, roots, offsets, NEAR, labels),
        rows.nearest(means, roots, offsets)[0],
    )
    np.testing.assert_array_equal(labels, before)
    shifted = passes.GaussianRows(rows.jittered, rows.weights, rows.diagonal, rows.pool)
    costs = shifted.distances(means, roots) + offsets
    first, second = rows.two_nearest(means, roots, offsets, NEAR, labels)
    np.testing.assert_array_equal(np.stack([first, second]), np.argsort(costs, axis=1).T[:2])
    ids = np.array([4, 8, 60])
    found = rows.distance_differences(ids, means[:2], roots[:2])
    np.testing.assert_allclose(found, (costs - offsets)[ids] @ [1.0, -1.0, 0.0])
    values = np.array([1.0, 2.0, 9.0])
    assert rows.dip_p_value(ids, values) == dip_p_value(values, rows.weights[ids])


def test_fourth_moments(rows):
    rows, labels = rows
    _, means, scatters = rows.statistics(labels, 3)
    roots = rows.factorise(rows.add_floor(scatters))[0]
    found = rows.fourth_moments(labels, means, roots)
    for c in range(3):
        mine = labels == c
        root = np.diag(roots[c, 0]) if rows.diagonal else roots[c]
        z = (rows.rows[mine] - means[c]) @ root.T
        weights = rows.weights[mine] * (z**2).sum(axis=1)
        np.testing.assert_allclose(found[c], (weights[:, None] * z).T @ z)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(passes, "TILE", 50)
    found = []
    for n_threads in (1, 3):
        with Pool(n_threads) as pool:
            rows, labels = drawn(pool, False)
            clusters = rows.statistics(labels, 3)
            ways = np.broadcast_to(np.eye(3)[:, None], (3, 3, 3)).copy()
            values, cuts, gains = rows.cuts(labels, clusters[1], ways, np.full(3, 3.0))
            tries = np.tile([0, 3], (3, 1))
            halves = rows.halves(labels, clusters[0], values, cuts, tries, np.full(3, 2))
            evidence = rows.evidence(clusters, np.arange(3), np.array([1, 2, -1]), (2.0, 8.0))
            found.append([values, gains, *halves, evidence])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
