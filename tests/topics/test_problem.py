import numpy as np
from scipy import sparse

from hardbayes.core.pool import Pool
from hardbayes.topics.problem import LocalPenalty, make_documents, no_topics
from tests.topics.estimator_cases import random_counts

COUNTS = random_counts(0)


def test_penalties_are_constant_or_grow_with_the_document():
    matrix, weights = sparse.csr_array(COUNTS), np.arange(12.0)
    with Pool(1) as pool:
        constant = make_documents(matrix, LocalPenalty(3.0, False), pool)
        growing = make_documents(matrix, LocalPenalty(0.5, True), pool)
        repeated = make_documents(matrix, LocalPenalty(3.0, False), pool, weights)
    np.testing.assert_array_equal(constant.penalties, np.full(12, 3.0))
    np.testing.assert_array_equal(growing.penalties, 0.5 * COUNTS.sum(axis=1))
    np.testing.assert_array_equal(repeated.penalties, 3.0 * weights)
    assert (constant.n_documents, constant.n_words) == COUNTS.shape


def test_sets_without_topics():
    sets = no_topics(3)
    assert (sets.sizes == 0).all() and len(sets.topics) == 3
