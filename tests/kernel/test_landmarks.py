import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

from hardbayes import KernelDPMeans, SpectralDPMeans
from hardbayes.kernel.landmarks import landmark_map
from hardbayes.kernel.mercer import Mercer, Seen


def test_features_have_the_inner_products_of_scikit_learns_nystroem():
    X = np.random.default_rng(0).normal(size=(60, 3))
    other = Nystroem(gamma=0.4, n_components=20, random_state=0).fit(X)
    ids = other.component_indices_
    ours = landmark_map(Mercer("rbf", {"gamma": 0.4}), Seen(X[ids], None, None))
    left, right = ours(X), other.transform(X)
    assert ours.n_landmarks == 20
    np.testing.assert_allclose(left @ left.T, right @ right.T, atol=1e-8)


@pytest.mark.parametrize("kind", [KernelDPMeans, SpectralDPMeans])
def test_the_origin_of_a_linear_kernel_is_the_same_for_new_rows(kind):
    rng = np.random.default_rng(0)
    X = 100.0 + rng.normal(size=(90, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 30, axis=0)
    penalty = 30.0 if kind is KernelDPMeans else 200.0
    model = kind(penalty, kernel="linear", n_landmarks=20, random_state=0).fit(X)
    assert model.n_clusters_ > 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
