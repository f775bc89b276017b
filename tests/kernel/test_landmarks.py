import numpy as np
from sklearn.kernel_approximation import Nystroem

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
