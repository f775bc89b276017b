import numpy as np
import pytest

from hardbayes.datasets import make_bars


def test_documents_mix_bars():
    X, bars, counts = make_bars(40, side=4, topics_per_document=3, random_state=0)
    assert X.shape == (40, 16) and bars.shape == (8, 16) and counts.shape == (40, 8)
    np.testing.assert_array_equal(bars[0].reshape(4, 4)[0], np.full(4, 0.25))
    np.testing.assert_array_equal(bars[4].reshape(4, 4)[:, 0], np.full(4, 0.25))
    lengths = X.sum(axis=1)
    np.testing.assert_array_equal(lengths, counts.sum(axis=1))
    assert lengths.min() >= 50 and lengths.max() <= 100
    assert ((counts > 0).sum(axis=1) <= 3).all()
    for row, own in zip(X.toarray(), counts, strict=True):
        assert not row[(bars[own > 0] == 0).all(axis=0)].any(), "words of its topics alone"


def test_a_seed_draws_the_same():
    for one, other in zip(make_bars(5, random_state=1), make_bars(5, random_state=1), strict=True):
        assert abs(one - other).max() == 0


@pytest.mark.parametrize(
    "options",
    [{"n_samples": 0}, {"side": 0}, {"topics_per_document": 11}, {"shortest": 9, "longest": 8}],
)
def test_arguments_are_checked(options):
    with pytest.raises(ValueError, match="parameter of make_bars must be"):
        make_bars(**options)
