"""Pictures of dice and of a table: sums of features, drawn from a seed."""

import numpy as np
import pytest

from hardbayes.datasets import make_dice, make_tabletop


def test_dice_are_zeros_and_ones_and_sums_of_four():
    X, membership = make_dice(200, random_state=0)
    assert X.shape == (200, 196)
    assert set(np.unique(X)) == {0.0, 1.0}
    A = np.linalg.lstsq(membership.astype(float), X, rcond=None)[0]
    np.testing.assert_allclose(membership @ A, X, atol=1e-12)


def test_table_has_a_base_and_noise_of_the_given_size():
    X, membership = make_tabletop(300, noise=0.1, random_state=0)
    assert membership[:, 0].all() and not membership[:, 1:].all()
    A = np.linalg.lstsq(membership.astype(float), X, rcond=None)[0]
    assert np.std(X - membership @ A) == pytest.approx(0.1, rel=0.02)


@pytest.mark.parametrize("make", [make_dice, make_tabletop])
def test_same_seed_same_pictures(make):
    for a, b in zip(make(5, random_state=3), make(5, random_state=3), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(make(5, random_state=3)[0], make(5, random_state=4)[0])


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="'n_samples' parameter of make_dice"):
        make_dice(0)
    with pytest.raises(ValueError, match="'noise' parameter of make_tabletop"):
        make_tabletop(noise=-1.0)
