"""ObjectiveDisplay: the curve is the history, and the title reports convergence."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hardbayes import DPMeans
from hardbayes.plot import ObjectiveDisplay


def test_curve_is_the_history(model):
    display = ObjectiveDisplay.from_estimator(model)
    steps, values = display.line_.get_data()
    np.testing.assert_array_equal(steps, np.arange(1, model.n_iter_ + 1))
    np.testing.assert_array_equal(values, model.objective_history_)
    assert display.ax_.get_title() == f"objective, {model.n_iter_} steps"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("step", "objective")


def test_last_value_is_written_beside_the_curve(model):
    display = ObjectiveDisplay.from_estimator(model)
    assert [text.get_text() for text in display.ax_.texts] == [f"{model.objective_:.6g}"]


def test_draws_where_and_how_it_is_told_to(model):
    _, ax = plt.subplots()
    display = ObjectiveDisplay.from_estimator(model, ax=ax, linestyle="--")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.line_.get_linestyle() == "--"


@pytest.mark.parametrize("n_steps", [0, 1, 2, 400])
def test_any_number_of_steps(n_steps):
    display = ObjectiveDisplay(np.linspace(2.0, 1.0, n_steps)).plot()
    display.figure_.canvas.draw()
    ticks = display.ax_.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))
    assert ("1 step" if n_steps == 1 else f"{n_steps} steps") in display.ax_.get_title()


def test_title_says_when_the_fit_did_not_converge():
    display = ObjectiveDisplay([3.0, 2.0], converged=False).plot()
    assert display.ax_.get_title() == "objective, 2 steps, not converged"


def test_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        ObjectiveDisplay.from_estimator(DPMeans())


def test_missing_matplotlib_says_what_to_install(model, no_matplotlib):
    with pytest.raises(ImportError, match=r'pip install "hardbayes\[plot\]"'):
        ObjectiveDisplay.from_estimator(model)
