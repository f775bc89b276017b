from types import SimpleNamespace

import numpy as np
import pytest

from hardbayes.topics.estimator import top_word_ids

MODEL = SimpleNamespace(
    relevance_=np.array([[0.0, 2.0, -3.0, 0.0, 1.0]]),
    components_=np.array([[0.1, 0.1, 0.4, 0.2, 0.2]]),
)


def test_words_that_tell_nothing_come_last_by_their_share():
    assert top_word_ids(MODEL, 5).tolist() == [[1, 4, 2, 3, 0]]
    assert top_word_ids(MODEL, 2).tolist() == [[1, 4]]
    assert top_word_ids(MODEL, 9).shape == (1, 5)


def test_the_heaviest_words():
    assert top_word_ids(MODEL, 3, "share").tolist() == [[2, 3, 4]]


def test_another_ranking_is_an_error():
    with pytest.raises(ValueError, match=r"The .by. parameter must be one of .* Got .weight."):
        top_word_ids(MODEL, 3, "weight")
