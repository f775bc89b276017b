"""Combinations of columns: totals over pairs, and the change that least squares confirms."""

import numpy as np
import pytest

from hardbayes.features.compiled.collapsing import BOTH, COMBINATIONS, best_combination, pair_totals
from tests.reference.features import feature_objective, least_squares


@pytest.mark.parametrize("penalty", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_combination_is_the_best_of_all(seed, penalty):
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((20, 3)), rng.random(20) + 0.5
    X.flags.writeable = False
    Z = (rng.random((20, 4)) < 0.5).astype(np.uint8)
    A = least_squares(X, Z.astype(float), weights)[0]
    gram = Z.T @ (weights[:, np.newaxis] * Z)
    k, d = A.shape
    totals, counts = np.zeros((k - 1, k, d)), np.zeros((k - 1, k, k))
    scratch = np.empty(k + 1, np.int64), np.empty((1, d))
    pair_totals(X, weights, A, np.zeros((1, d)), Z, 0, totals, counts, *scratch)
    change, *found = best_combination(
        0, totals, counts, gram, np.linalg.inv(gram), A, penalty, np.empty(k), np.empty(k)
    )
    now = feature_objective(X, Z, penalty, weights)
    changes = {}
    for a, b in zip(*np.triu_indices(k, 1), strict=True):
        products = np.column_stack([Z[:, a], Z[:, b], Z[:, a] * Z[:, b]])
        for kind, factors in enumerate(COMBINATIONS):
            for a_goes, b_goes in [(True, False), (False, True), (True, True)]:
                if kind > BOTH and a_goes and b_goes:
                    continue
                others = np.delete(Z, [a] * a_goes + [b] * b_goes, axis=1)
                columns = np.column_stack([others, products @ factors])
                if np.linalg.matrix_rank(columns) == columns.shape[1]:
                    value = feature_objective(X, columns, penalty, weights)
                    changes[a, b, kind, a_goes, b_goes] = value - now
    assert changes[tuple(found)] == pytest.approx(change)
    assert min(changes.values()) == pytest.approx(change)


@pytest.mark.parametrize("first", [0, 1])
def test_totals_of_rows_with_both_features(data, first):
    m = data.k - 1 - first
    totals, counts = np.zeros((m, data.k, data.d)), np.zeros((m, data.k, data.k))
    pair_totals(
        data.rows, data.weights, data.A, data.origin, data.Z, first, totals, counts, data.members,
        data.residual,
    )  # fmt: skip
    for a in range(m):
        for b in range(data.k):
            both = data.weights * data.Z[:, first + a] * data.Z[:, b] * (b > first + a)
            np.testing.assert_allclose(totals[a, b], both @ data.residuals, atol=1e-12)
            np.testing.assert_allclose(counts[a, b], both @ data.Z)
