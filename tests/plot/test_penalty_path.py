"""PenaltyPathDisplay: steps of the path, plateaus and references, and the choice in the title."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest

from hardbayes import DPMeans, penalty_path
from hardbayes.core.plateaus import Plateau
from hardbayes.plot import PenaltyPathDisplay


@pytest.fixture(scope="module")
def path():
    from hardbayes.datasets import make_three_gaussians

    X, _ = make_three_gaussians(random_state=0)
    return penalty_path(X, estimator=DPMeans(random_state=0), n_penalties=30)


def has_curve(ax, x, y):
    """Whether a line through these points is drawn."""
    return any(
        np.array_equal(line.get_xdata(), x) and np.array_equal(line.get_ydata(), y)
        for line in ax.get_lines()
    )


def bars(ax, label=None):
    """Heights and ends of the horizontal bars: of plateaus, or with a label."""
    lines = [c for c in ax.collections if label in (None, c.get_label())]
    lines = [c for c in lines if label or c.get_label().startswith("_")]
    found = [bar for line in lines for bar in line.get_segments()]
    return {int(bar[0, 1]): sorted(bar[:, 0]) for bar in found}


def test_draws_numbers_above_and_objectives_below(path):
    display = PenaltyPathDisplay.from_path(path)
    above, below = display.axes_
    assert has_curve(above, path.penalties, path.n_clusters)
    assert has_curve(below, path.penalties, path.objectives)
    assert display.figure_ is above.figure is below.figure
    assert above.get_position().y0 > below.get_position().y0
    display.figure_.canvas.draw()


def test_names_its_axes(path):
    above, below = PenaltyPathDisplay.from_path(path).axes_
    assert above.get_ylabel() == "clusters"
    assert (below.get_xlabel(), below.get_ylabel()) == ("penalty", "objective")
    assert above.get_xscale() == below.get_xscale() == "log"


def test_marks_every_plateau(path):
    above, _ = PenaltyPathDisplay.from_path(path).axes_
    drawn = bars(above)
    assert drawn.keys() == {plateau.k for plateau in path.plateaus}
    for plateau in path.plateaus:
        ends = np.clip([plateau.low, plateau.high], path.penalties.min(), path.penalties.max())
        np.testing.assert_allclose(drawn[plateau.k], ends)


def test_draws_the_references(path):
    """As wide as without structure, around the middle of the plateau."""
    above, _ = PenaltyPathDisplay.from_path(path).axes_
    drawn = bars(above, "range without structure")
    plateau = next(p for p in path.plateaus if p.k == 3)
    reference = path.choice["reference"][path.choice["n_clusters"] == 3][0]
    low, high = drawn[3]
    np.testing.assert_allclose(np.log(high / low), reference)
    np.testing.assert_allclose(low * high, plateau.low * plateau.high)
    assert above.get_legend().get_texts()[0].get_text() == "range without structure"


def test_names_the_choice(path):
    above, _ = PenaltyPathDisplay.from_path(path).axes_
    chosen = path.choice["chosen"]
    width, reference = (np.exp(path.choice[name][chosen][0]) for name in ("width", "reference"))
    expected = f"3 clusters: a factor of {width:.3g} wide, without structure {reference:.3g}"
    assert above.get_title() == expected
    texts = [text.get_text() for text in above.texts if text.get_fontweight() == "bold"]
    assert texts == ["3"]
    assert len(above.texts) < len(path.plateaus)  # the narrow ones would hide each other


def test_where_no_number_is_chosen_none_is_marked():
    choice = {
        "n_clusters": np.array([2]),
        "width": np.array([0.7]),
        "reference": np.array([0.9]),
        "chosen": np.array([False]),
    }
    plateaus = [Plateau(2, 1.5, 3.0)]
    above, _ = PenaltyPathDisplay([4.0, 1.0], [1, 2], [9, 7], plateaus, choice).plot().axes_
    assert above.get_title() == "one cluster: no other number stands out"
    assert [text.get_fontweight() for text in above.texts] == ["normal"]


def test_names_the_widest_plateau_without_a_choice(path):
    numbers = path.penalties, path.n_clusters, path.objectives
    above, _ = PenaltyPathDisplay(*numbers, path.plateaus).plot().axes_
    widest = max(path.plateaus, key=lambda plateau: plateau.width)
    expected = f"widest plateau: 3 clusters, a factor of {widest.high / widest.low:.3g} wide"
    assert above.get_title() == expected
    assert above.get_legend() is None


def test_every_number_of_clusters_can_be_seen(path):
    above, _ = PenaltyPathDisplay.from_path(path).axes_
    low, high = above.get_ylim()
    assert low < path.n_clusters.min() and path.n_clusters.max() < high


def test_the_path_draws_itself(path):
    display = path.plot()
    assert isinstance(display, PenaltyPathDisplay)
    assert has_curve(display.axes_[0], path.penalties, path.n_clusters)


def test_draws_where_it_is_told_to(path):
    figure, axes = plt.subplots(2, 2)
    display = PenaltyPathDisplay.from_path(path, axes=axes[:, 1])
    assert tuple(display.axes_) == tuple(axes[:, 1])
    assert display.figure_ is figure
    assert not any(ax.get_lines() or ax.collections for ax in axes[:, 0])
    assert len(plt.get_fignums()) == 1
    assert path.plot(axes=(axes[0, 0], axes[1, 0])).axes_ == (axes[0, 0], axes[1, 0])


def test_no_plateaus():
    path = penalty_path(np.ones((20, 2)), n_penalties=4)
    assert path.plateaus == []
    display = path.plot()
    above, _ = display.axes_
    assert above.get_title() == "no plateau of two clusters or more"
    assert has_curve(above, path.penalties, np.ones(4))
    assert not bars(above) and not above.texts
    display.figure_.canvas.draw()


def test_a_plateau_that_begins_at_zero():
    """Clusters with a fit term of zero: the bar ends at the edge of the axes."""
    display = PenaltyPathDisplay([8.0, 4.0, 2.0], [1, 2, 2], [9.0, 8.0, 4.0], [Plateau(2, 0, 5.0)])
    above, _ = display.plot().axes_
    np.testing.assert_allclose(bars(above)[2], [2.0, 5.0])
    assert "2 clusters" in above.get_title()
    assert "inf" not in above.get_title()
    display.figure_.canvas.draw()


def test_one_penalty():
    display = PenaltyPathDisplay([8.0], [1], [9.0], []).plot()
    display.figure_.canvas.draw()


def test_from_lists_without_a_path():
    display = PenaltyPathDisplay((4.0, 2.0, 1.0), (1, 2, 4), (9, 7, 5), (Plateau(2, 1.5, 3.0),))
    assert display.plot() is display
    assert has_curve(display.axes_[1], [4.0, 2.0, 1.0], [9, 7, 5])


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_can_be_written(path, kind, start):
    picture = io.BytesIO()
    path.plot().figure_.savefig(picture, format=kind)
    assert picture.getvalue().startswith(start)


def test_nothing_is_drawn_before_plot(path):
    display = PenaltyPathDisplay(path.penalties, path.n_clusters, path.objectives, path.plateaus)
    assert not hasattr(display, "axes_")
    assert plt.get_fignums() == []


def test_missing_matplotlib_says_what_to_install(path, no_matplotlib):
    with pytest.raises(ImportError, match=r'pip install "hardbayes\[plot\]"'):
        path.plot()
