import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans, objective
from hardbayes.core.loop import level_rounding
from tests.conftest import quiet_fit


def test_rises_within_rounding_are_levelled():
    history = np.array([10.0, 5.0, 5.0 - 1e-15, 5.0])
    levelled = level_rounding(history)
    assert (np.diff(levelled) <= 0).all()
    assert levelled[-1] == history[-1]


def test_a_real_rise_is_never_hidden():
    history = np.array([10.0, 5.0, 6.0])
    np.testing.assert_array_equal(level_rounding(history), history)
    np.testing.assert_array_equal(level_rounding(history, floor=0.5), history)


@pytest.mark.parametrize("divergence", ["kl", "poisson", "itakura_saito", "logistic", "cosine"])
def test_rows_alike_but_for_rounding_show_no_rise(divergence):
    """What is left of phi(x) + offset - <x, theta> is smaller than their rounding errors."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = rng.uniform(0.2, 0.8, (3, 5))[rng.integers(0, 3, 60)]
        X = rows * (1 + 1e-7 * rng.normal(size=(60, 5)))
        for penalty in (0.0, 1e-14):
            model = quiet_fit(DPMeans(penalty, divergence=divergence, random_state=0), X)
            assert (np.diff(model.objective_history_) <= 0).all()


@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize("offset", [1e6, 1e8, 1e10])
def test_a_prior_far_from_the_origin_does_not_blur_the_trace(offset, search):
    """Sparse rows cannot be shifted: what is subtracted is 1e20 times what is left."""
    for seed in range(2):
        X = sparse.csr_array(5.0 * np.random.default_rng(seed).normal(size=(120, 3)) + offset)
        model = quiet_fit(DPMeans(5.0, prior_weight=1.0, search=search, random_state=0), X)
        assert model.converged_
        assert (np.diff(model.objective_history_) <= 0).all()
        value = objective(X, model.labels_, 5.0, prior_weight=1.0)
        np.testing.assert_allclose(model.objective_, value, rtol=1e-9)
