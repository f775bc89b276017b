import numpy as np
import pytest

from hardbayes.core.validation import check_matrix
from hardbayes.topics.problem import WordCounts


def test_counts_may_be_zero_but_not_negative():
    counts = np.array([[0.0, 2.5], [0.0, 0.0]])
    np.testing.assert_array_equal(check_matrix(counts, WordCounts()), counts)
    with pytest.raises(ValueError, match="X must hold counts >= 0"):
        check_matrix(-counts, WordCounts())
