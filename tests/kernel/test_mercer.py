import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels

from hardbayes import KernelDPMeans
from hardbayes.kernel.mercer import Mercer, Seen, balancing_scales, mercer_for


def points(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "cosine", "sigmoid"])
def test_kernels_are_those_of_scikit_learn(kernel):
    X, parameters = points(), {"gamma": 0.3, "degree": 2, "coef0": 1}
    mercer = mercer_for(kernel, parameters, False, X, np.ones(40), np.ones(40))
    seen = mercer.see(X)
    expected = pairwise_kernels(X, metric=kernel, filter_params=True, **parameters)
    np.testing.assert_allclose(mercer.between(seen, seen), expected, atol=1e-12)
    np.testing.assert_allclose(mercer.diagonal(seen), np.diag(expected), atol=1e-12)


def test_own_bandwidths_by_their_definition():
    X = np.concatenate([points(30), [[9.0, 9.0, 9.0]]])
    mercer = mercer_for("rbf", {}, False, X, np.ones(31), np.ones(31))
    apart = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    near = np.sqrt(np.sort(apart, axis=1)[:, 4])
    q = np.maximum(near**2 / 2, near.mean() ** 2)
    sums = q[:, np.newaxis] + q
    expected = (2 * np.sqrt(np.outer(q, q)) / sums) ** 1.5 * np.exp(-2 * apart / sums)
    seen = mercer.see(X)
    values = mercer.between(seen, seen)
    np.testing.assert_allclose(values, expected, atol=1e-12)
    np.testing.assert_allclose(np.diag(values), 1.0)
    assert np.linalg.eigvalsh(values)[0] > -1e-10  # positive semidefinite
    assert q[-1] > q[:-1].max()


def test_bandwidths_do_not_depend_on_the_unit_or_the_order_of_rows():
    X = points()
    scaled = mercer_for("rbf", {}, True, 1000 * X[::-1], np.ones(40), np.ones(40))
    plain = mercer_for("rbf", {}, True, X, np.ones(40), np.ones(40))
    left = plain.between(plain.see(X), plain.see(X))
    right = scaled.between(scaled.see(1000 * X), scaled.see(1000 * X))
    np.testing.assert_allclose(left, right, rtol=1e-6)


def test_weights_are_repetitions():
    X, counts = points(12), np.array([1, 2, 3] * 4)
    weights = counts.astype(float)
    once = mercer_for("rbf", {}, True, X, weights, weights)
    repeated = np.repeat(X, counts, axis=0)
    many = mercer_for("rbf", {}, True, repeated, np.ones(24), np.ones(24))
    np.testing.assert_allclose(
        once.between(once.see(X), once.see(X)), many.between(many.see(X), many.see(X)), rtol=1e-6
    )


def test_equal_rows_have_a_bandwidth():
    mercer = mercer_for("rbf", {}, True, np.ones((6, 2)), np.ones(6), np.ones(6))
    values = mercer.between(mercer.see(np.ones((2, 2))), mercer.see(np.zeros((1, 2))))
    assert np.isfinite(values).all()


def test_balanced_rows_sum_to_one():
    X, weights = points(), np.random.default_rng(1).uniform(0.5, 2.0, 40)
    mercer = mercer_for("rbf", {}, True, X, weights, weights)
    seen = mercer.see(X)
    np.testing.assert_allclose(mercer.between(seen, seen) @ weights, 1.0, atol=1e-8)


def test_what_cannot_be_balanced():
    with pytest.raises(ValueError, match=r"negative values, such as -1, cannot be balanced"):
        balancing_scales(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones(2))
    with pytest.raises(ValueError, match="Row 1 of the kernel matrix is zero"):
        balancing_scales(sparse.csr_array(np.diag([1.0, 0.0])), np.ones(2))


def test_a_callable_gets_its_parameters():
    mercer = Mercer(lambda x, y, power: float(x @ y) ** power, {"power": 2})
    X = points(5)
    np.testing.assert_allclose(
        mercer.between(Seen(X, None, None), Seen(X, None, None)), (X @ X.T) ** 2
    )


@pytest.mark.parametrize("kernel", [{}, {"gamma": 0.1}, {"n_landmarks": 12}, {"balance": False}])
def test_a_large_offset_changes_nothing(kernel):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 1)) * 4.0 + rng.normal(size=(60, 2))
    X = np.ldexp(np.rint(np.ldexp(X, 10)), -10)  # exact beside the offset
    near = KernelDPMeans(n_clusters=4, random_state=0, **kernel).fit(X)
    far = KernelDPMeans(n_clusters=4, random_state=0, **kernel).fit(X + 2.0**33)
    assert adjusted_rand_score(far.labels_, near.labels_) == 1.0
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6)
    assert_array_equal(far.predict(X + 2.0**33), far.labels_)
