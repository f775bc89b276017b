import numpy as np

from hardbayes.core.compiling import kernel
from hardbayes.topics.compiled import cheapest
from tests.topics.estimator_cases import sets_of


@kernel
def find(word, costs, n_free, sets, d, size):
    return cheapest(word, costs, n_free, sets, d, size)


def test_the_cheapest_of_the_set_and_of_the_free_topics():
    costs = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    sets = sets_of([[2], [1, 2], []])

    assert find(0, costs, 0, sets, 0, 1) == 2
    assert find(0, costs, 0, sets, 1, 2) == 1
    assert find(0, costs, 1, sets, 2, 0) == 0, "the free topic"
    assert find(0, costs, 0, sets, 2, 0) == -1, "no topic is open"
    assert find(1, costs, 1, sets, 1, 2) == 0, "of equals the free one"
