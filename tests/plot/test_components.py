"""ComponentsDisplay: images of components, memberships, originals beside reconstructions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hardbayes import BPMeans, KFeatures
from hardbayes.datasets import make_tabletop
from hardbayes.plot import ComponentsDisplay


@pytest.fixture(scope="module")
def table():
    return make_tabletop(40, random_state=0)[0]


@pytest.fixture(scope="module")
def table_model(table):
    return BPMeans(20.0, n_init=3, random_state=0).fit(table)


def test_images_are_the_components(table_model, table):
    display = ComponentsDisplay.from_estimator(table_model, table, image_shape=(24, 32))
    assert len(display.component_axes_) == table_model.n_components_
    for ax, component in zip(display.component_axes_, table_model.components_, strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array().ravel(), component)
    titles = [ax.get_title() for ax in display.component_axes_]
    assert titles[0] == "base, all rows"
    assert titles[1] == f"feature 1, {table_model.membership_[:, 1].sum()} rows"


def test_plus_and_minus_are_drawn_alike(table_model, table):
    display = ComponentsDisplay.from_estimator(table_model, table, image_shape=(24, 32))
    for ax in display.component_axes_[1:]:
        low, high = ax.images[0].get_clim()
        assert low == -high


def test_membership_and_examples(table_model, table):
    display = ComponentsDisplay.from_estimator(table_model, table, image_shape=(24, 32))
    drawn = display.membership_ax_.images[0].get_array()
    np.testing.assert_array_equal(drawn, table_model.membership_)
    assert display.membership_ax_.get_title() == "5 features"
    assert len(display.example_axes_) == 4
    original, rebuilt = display.example_axes_[-1]
    np.testing.assert_array_equal(original.images[0].get_array().ravel(), table[-1])
    expected = table_model.inverse_transform(table_model.membership_[-1:])[0]
    np.testing.assert_array_equal(rebuilt.images[0].get_array().ravel(), expected)


def test_rows_that_are_no_images_are_curves():
    X = np.random.default_rng(0).standard_normal((30, 6))
    model = KFeatures(3, n_init=2, random_state=0).fit(X)
    display = ComponentsDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(
        display.component_axes_[0].lines[0].get_ydata(), model.components_[0]
    )
    display.figure_.canvas.draw()


def test_draws_where_it_is_told_to(table_model, table):
    figure = plt.figure()
    display = ComponentsDisplay.from_estimator(
        table_model, table, image_shape=(24, 32), n_examples=0, figure=figure
    )
    assert display.figure_ is figure
    assert display.example_axes_ == []


def test_no_features_at_all(table):
    model = BPMeans(1e9, random_state=0).fit(table)
    display = ComponentsDisplay.from_estimator(model, table, image_shape=(24, 32))
    assert display.component_axes_ == []
    display.figure_.canvas.draw()


def test_wrong_shapes_are_refused(table_model, table):
    with pytest.raises(ValueError, match="'image_shape' parameter of ComponentsDisplay must have"):
        ComponentsDisplay.from_estimator(table_model, table, image_shape=(20, 20))


def test_unfitted_model_is_refused(table):
    with pytest.raises(NotFittedError):
        ComponentsDisplay.from_estimator(BPMeans(), table)


def test_missing_matplotlib_says_what_to_install(table_model, table, no_matplotlib):
    with pytest.raises(ImportError, match=r'pip install "hardbayes\[plot\]"'):
        ComponentsDisplay.from_estimator(table_model, table)
