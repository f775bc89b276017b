"""GroupsDisplay: the cells are the shares of the groups, the columns sorted by use."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hardbayes import HDPMeans
from hardbayes.plot import GroupsDisplay

WEIGHTS = np.array([[0.0, 3.0, 1.0], [0.0, 2.0, 2.0], [5.0, 0.0, 5.0]])


def test_cells_are_shares_and_columns_are_sorted_by_use():
    display = GroupsDisplay(WEIGHTS, ["a", "b", "$c$"]).plot()
    display.figure_.canvas.draw()
    assert display.order_.tolist() == [2, 1, 0]
    shares = display.cells_.get_array().reshape(3, 3)
    np.testing.assert_allclose(shares.filled(0), [[0.25, 0.75, 0], [0.5, 0.5, 0], [0.5, 0, 0.5]])
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "b", "$c$"]
    texts = {text.get_text() for text in display.ax_.texts}
    assert texts == {"1", "2", "3", "5"}
    assert display.ax_.get_title() == "3 clusters, 3 groups, 2.0 clusters in each"


def test_a_model_is_drawn_and_many_groups_are_cut():
    X = np.arange(8.0)[:, np.newaxis]
    model = HDPMeans(0.1, 1.0, random_state=0).fit(X, groups=np.arange(8) // 2)
    display = GroupsDisplay.from_estimator(model, max_groups=2)
    assert display.cells_.get_array().size == 2 * model.n_clusters_
    assert "(the first 2)" in display.ax_.get_title()
    with pytest.raises(ValueError, match="max_groups"):
        GroupsDisplay.from_estimator(model, max_groups=0)


def test_many_clusters_have_no_labels():
    display = GroupsDisplay(np.ones((50, 50))).plot()
    display.figure_.canvas.draw()
    assert not display.ax_.texts


def test_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        GroupsDisplay.from_estimator(HDPMeans())


def test_missing_matplotlib_says_what_to_install(no_matplotlib):
    with pytest.raises(ImportError, match=r'pip install "hardbayes\[plot\]"'):
        GroupsDisplay(WEIGHTS).plot()
