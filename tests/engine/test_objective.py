import numpy as np

from hardbayes.engine.objective import level_rounding


def test_rises_within_rounding_are_levelled():
    history = np.array([10.0, 5.0, 5.0 - 1e-15, 5.0])
    levelled = level_rounding(history)
    assert (np.diff(levelled) <= 0).all()
    assert levelled[-1] == history[-1]


def test_a_real_rise_is_never_hidden():
    history = np.array([10.0, 5.0, 6.0])
    np.testing.assert_array_equal(level_rounding(history), history)
