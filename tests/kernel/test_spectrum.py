"""Lemma 5.1 and Theorem 5.2 of Kulis & Jordan (2012), and their rounding."""

import numpy as np
import pytest

from hardbayes.core.pool import Pool
from hardbayes.kernel import spectrum as module
from hardbayes.kernel.clusters import KernelMatrix, hold
from hardbayes.kernel.spectrum import (
    cluster_qr,
    feature_spectrum,
    lower_bound,
    scatter_values,
    spectrum_above,
    summed_spectrum,
    weighted_mean,
)
from tests.reference.graphs import kernel_objective
from tests.reference.mercer import best_objective, random_kernel


def rows_of(kernel, weights):
    return KernelMatrix(hold(kernel), np.diag(kernel).copy(), weights, Pool(1))


@pytest.mark.parametrize("seed", range(5))
def test_lemma_5_1(seed):
    """The objective is a trace of normalised indicators."""
    rng = np.random.default_rng(seed)
    kernel, weights = random_kernel(rng, 9), rng.uniform(0.5, 2.0, 9)
    labels = np.unique(rng.integers(0, 3, 9), return_inverse=True)[1]
    roots = np.sqrt(weights)
    matrix = kernel * np.outer(roots, roots)
    Y = np.eye(labels.max() + 1)[labels] * roots[:, np.newaxis]
    Y /= np.sqrt((Y**2).sum(axis=0))
    trace = np.trace(matrix) - np.trace(Y.T @ (matrix - 2.5 * np.eye(9)) @ Y)
    np.testing.assert_allclose(trace, kernel_objective(kernel, weights, labels, 2.5))


@pytest.mark.parametrize("seed", range(10))
def test_theorem_5_2(seed, monkeypatch):
    """Eigenvectors above the penalty solve the relaxation; no partition is below it."""
    rng = np.random.default_rng(seed)
    kernel, weights = random_kernel(rng, 7), rng.uniform(0.5, 2.0, 7)
    penalty = float(rng.uniform(0.5, 30.0))
    roots = np.sqrt(weights)
    values = np.linalg.eigvalsh(kernel * np.outer(roots, roots))[::-1]
    found = spectrum_above(rows_of(kernel, weights), penalty, np.random.RandomState(0))
    np.testing.assert_allclose(found.values, values[values > penalty])
    best_k = max(range(1, 8), key=lambda k: values[:k].sum() - penalty * k)
    relaxed = values.sum() - values[:best_k].sum() + penalty * best_k
    bound = lower_bound(found, penalty, 7)
    np.testing.assert_allclose(bound, relaxed, rtol=1e-10)
    assert bound <= relaxed
    assert bound <= best_objective(kernel, weights, penalty)


def test_lanczos_iterations_go_on_until_the_spectrum_passes_the_penalty(monkeypatch):
    rng = np.random.default_rng(1)
    kernel, weights = random_kernel(rng, 60, rank=20), np.ones(60)
    dense = spectrum_above(rows_of(kernel, weights), 5.0, np.random.RandomState(0))
    monkeypatch.setattr(module, "MAX_DENSE", 10)
    monkeypatch.setattr(module, "FIRST_VECTORS", 3)
    found = spectrum_above(rows_of(kernel, weights), 5.0, np.random.RandomState(0))
    assert len(dense.values) > 6
    np.testing.assert_allclose(found.values, dense.values)


@pytest.mark.parametrize("seed", range(10))
def test_sums_over_blocks_bound_every_partition(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    kernel, weights = random_kernel(rng, 7), rng.uniform(0.5, 2.0, 7)
    penalty = float(rng.uniform(0.5, 30.0))
    rows, how = rows_of(kernel, weights), (penalty, np.random.RandomState(0))
    whole = lower_bound(spectrum_above(rows, *how), penalty, 7)
    one_block = lower_bound(summed_spectrum(rows, *how), penalty, 7)
    np.testing.assert_allclose(one_block, whole)
    monkeypatch.setattr(module, "BLOCK_ROWS", 3)
    blocks = lower_bound(summed_spectrum(rows, *how), penalty, 7)
    assert blocks <= whole * (1 + 1e-12) and blocks <= best_objective(kernel, weights, penalty)
    weights[2] = 0.0  # a row of no weight counts in no block
    fewer = lower_bound(summed_spectrum(rows_of(kernel, weights), *how), penalty, 7)
    assert fewer <= lower_bound(spectrum_above(rows_of(kernel, weights), *how), penalty, 7)


def test_the_bound_of_blocks_is_close_where_rows_repeat_themselves(monkeypatch):
    rng = np.random.default_rng(0)
    points = np.repeat(np.eye(3) * 5.0, 20, axis=0) + 0.01 * rng.normal(size=(60, 3))
    rows, how = rows_of(points @ points.T, np.ones(60)), (2.0, np.random.RandomState(0))
    monkeypatch.setattr(module, "BLOCK_ROWS", 20)
    whole = lower_bound(spectrum_above(rows, *how), 2.0, 60)
    assert 0.99 * whole <= lower_bound(summed_spectrum(rows, *how), 2.0, 60) <= whole


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_features_have_the_spectrum_of_their_kernel(shape):
    rng = np.random.default_rng(2)
    X, weights = rng.normal(size=shape) + 5.0, rng.uniform(0.5, 1.5, shape[0])
    mean = weighted_mean(X, weights)
    kernel = (X - mean) @ (X - mean).T
    roots = np.sqrt(weights)
    expected = np.linalg.eigvalsh(kernel * np.outer(roots, roots))[::-1]
    found, factors, _ = feature_spectrum(X, weights, 12.0, True, np.random.RandomState(0))
    np.testing.assert_allclose(found.values, expected[expected > 12.0])
    np.testing.assert_allclose(found.trace, expected.sum())
    vectors = (X - mean) @ factors * roots[:, np.newaxis]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(found.values)), atol=1e-9)
    values = scatter_values(X, weights, mean)
    np.testing.assert_allclose(values, expected[: len(values)], atol=1e-9)


def test_rounding_finds_blocks_whatever_the_basis_and_the_lengths_of_rows():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 4, 50)
    Y = np.eye(4)[labels] * rng.uniform(0.1, 3.0, 50)[:, np.newaxis]
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    found, _ = cluster_qr(Y @ turn)
    assert len({*zip(labels.tolist(), found.tolist(), strict=True)}) == 4
