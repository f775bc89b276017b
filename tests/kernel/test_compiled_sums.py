import numpy as np
from scipy import sparse

from hardbayes.kernel.compiled import add_reach, add_sparse_reach


def test_reach_is_a_product_with_the_members():
    rng = np.random.default_rng(0)
    values, labels, weights = rng.normal(size=(5, 9)), rng.integers(0, 3, 9), rng.uniform(size=9)
    expected = values @ (np.eye(3)[labels] * weights[:, np.newaxis])
    reach = np.zeros((5, 3))
    add_reach(values, labels, weights, reach)
    np.testing.assert_allclose(reach, expected)
    some = sparse.csr_array(values * (rng.uniform(size=values.shape) < 0.4))
    reach = np.zeros((5, 3))
    add_sparse_reach(some.indptr, some.indices, some.data, labels, weights, reach)
    np.testing.assert_allclose(reach, some.toarray() @ (np.eye(3)[labels] * weights[:, None]))
