import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from hardbayes.core.pool import Pool
from hardbayes.kernel import problem as module
from hardbayes.kernel.problem import KernelOptions, check_kernel_matrix, make_problem

RNG = np.random.RandomState


def problem(X, kernel="rbf", balance=False, weights=None, **parameters):
    return make_problem(X, weights, KernelOptions(kernel, parameters, balance), RNG(0), Pool(1))


def test_values_are_held_or_computed_slab_by_slab(monkeypatch):
    X = RNG(0).standard_normal((50, 3))
    few = problem(X, gamma=0.5).rows
    monkeypatch.setattr(module, "MAX_HELD", 10)
    many = problem(X, gamma=0.5).rows
    np.testing.assert_allclose(few.whole(), rbf_kernel(X, gamma=0.5))
    np.testing.assert_allclose(many.whole(), few.whole(), atol=1e-15)
    np.testing.assert_allclose(many.diagonal, 1.0)


def test_a_linear_kernel_is_centred():
    X = RNG(0).standard_normal((20, 3)) + 1e6
    posed = problem(X, "linear")
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(posed.rows.whole(), centred @ centred.T, atol=1e-6)
    np.testing.assert_allclose(posed.shift, X.mean(axis=0))
    assert problem(X, "poly", degree=2).shift is None


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_given_matrix_is_balanced(kind):
    K = rbf_kernel(RNG(0).standard_normal((20, 2)))
    posed = problem(kind(K), "precomputed", balance=True)
    np.testing.assert_allclose(posed.rows.whole().sum(axis=1), 1.0, atol=1e-8)
    assert posed.self_value == pytest.approx(1.0)
    assert posed.is_sparse == (kind is not np.asarray)


def test_anchors_have_weight_and_are_bounded():
    X, weights = RNG(0).standard_normal((30, 2)), np.arange(30.0) % 3
    options = KernelOptions("rbf", {}, True)
    posed = make_problem(X, weights, options, RNG(0), Pool(1), max_anchors=10)
    assert len(posed.anchors) == 10 and (weights[posed.anchors] > 0).all()
    np.testing.assert_allclose(posed.anchor_weights.sum(), weights.sum())


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_matrices_that_are_no_kernels(kind):
    with pytest.raises(ValueError, match=r"square matrix of kernel values.*Got shape \(3, 2\)"):
        check_kernel_matrix(kind(np.ones((3, 2))))
    asymmetric = np.eye(3)
    asymmetric[0, 2] = 0.5
    with pytest.raises(ValueError, match=r"must be symmetric. Got .* Pass \(K \+ K.T\) / 2"):
        check_kernel_matrix(kind(asymmetric))
    check_kernel_matrix(kind(np.eye(3) + 1e-12 * asymmetric))


def test_negative_eigenvalues_are_noticed():
    assert problem(np.diag([1.0, 2.0]), "precomputed").negative_eigenvalue(RNG(0)) is None
    found = problem(np.array([[1.0, 2.0], [2.0, 1.0]]), "precomputed").negative_eigenvalue(RNG(0))
    assert found == pytest.approx(-1.0)
    X = RNG(0).standard_normal((30, 2))
    assert problem(X, "sigmoid", gamma=1.0, coef0=-1.0).negative_eigenvalue(RNG(0)) < 0
    assert problem(X, gamma=1.0).negative_eigenvalue(RNG(0)) is None
