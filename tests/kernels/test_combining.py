"""Exchanges of columns: the predicted change is what least squares finds afterwards."""

import numpy as np
import pytest

from hardbayes.kernels.features.combining import COMBINATIONS, best_combination
from hardbayes.kernels.features.pairing import pair_totals
from hardbayes.moves.features.columns import ColumnMove, best_drop, drop_costs
from tests.reference.features import feature_objective, least_squares


@pytest.fixture(params=range(4))
def fitted(request):
    rng = np.random.default_rng(request.param)
    X = rng.standard_normal((20, 3))
    Z = (rng.random((20, 4)) < 0.5).astype(np.uint8)
    weights = rng.random(20) + 0.5
    A = least_squares(X, Z.astype(float), weights)[0]
    gram = Z.T @ (weights[:, np.newaxis] * Z)
    return X, Z, weights, A, gram, np.linalg.inv(gram)


def test_dropping_a_feature(fitted):
    X, Z, weights, A, _, inverse = fitted
    now = feature_objective(X, Z, 0.0, weights)
    for k, cost in enumerate(drop_costs(inverse, A)):
        after = feature_objective(X, np.delete(Z, k, axis=1), 0.0, weights)
        assert after - now == pytest.approx(cost)
    best = best_drop(inverse, A, 1.5)
    assert best.change == pytest.approx(drop_costs(inverse, A).min() - 1.5)


@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_the_best_combination_is_the_best_of_all(fitted, penalty):
    X, Z, weights, A, gram, inverse = fitted
    k, d = A.shape
    totals, counts = np.zeros((k - 1, k, d)), np.zeros((k - 1, k, k))
    scratch = np.empty(k + 1, np.int64), np.empty((1, d))
    pair_totals(X, weights, A, np.zeros((1, d)), Z, 0, totals, counts, *scratch)
    change, a, b, kind, a_goes, b_goes = best_combination(
        0, totals, counts, gram, inverse, A, penalty, np.empty(k), np.empty(k)
    )
    now = feature_objective(X, Z, penalty, weights)
    changes = {}
    for first in range(k):
        for second in range(first + 1, k):
            for number, factors in enumerate(COMBINATIONS):
                for goes in ([first], [second], [first, second]):
                    factors = tuple(int(factor) for factor in factors)
                    move = ColumnMove(0.0, goes, (first, second), factors)
                    columns = move.made_on(A, Z)[1]
                    if np.linalg.matrix_rank(columns) == columns.shape[1]:
                        value = feature_objective(X, columns, penalty, weights)
                        changes[first, second, number, tuple(goes)] = value - now
    goes = tuple(at for at, gone in ((a, a_goes), (b, b_goes)) if gone)
    assert changes[a, b, kind, goes] == pytest.approx(change)
    assert min(changes.values()) == pytest.approx(change)
