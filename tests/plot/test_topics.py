import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from hardbayes import HDPTopics
from hardbayes.datasets import make_bars
from hardbayes.plot import TopicsDisplay


@pytest.fixture(scope="module")
def model():
    return HDPTopics(random_state=0).fit(make_bars(60, random_state=0)[0])


def test_every_topic_has_its_words_and_sizes(model):
    names = [f"$w{word}$" for word in range(25)]
    share_of = [dict(zip(names, row, strict=True)) for row in model.components_]
    display = TopicsDisplay.from_estimator(model, names, n_words=5, figure=Figure())

    assert len(display.axes_) == model.n_topics_
    for topic, ax in enumerate(display.axes_):
        words = [text.get_text() for text in ax.texts]
        assert words == model.top_words(5, names)[topic]
        lengths = [bar.get_width() for bar in ax.patches]
        assert lengths == [share_of[topic][word] for word in words]
        assert max(lengths) < ax.get_xlim()[1]
        assert f"{display.weights[topic]:.0%} of words" in ax.get_title("left")
    np.testing.assert_allclose(display.weights.sum(), 1.0)
    assert (display.prevalence > 0).all() and (display.prevalence <= 1).all()
    display.figure_.canvas.draw()


def test_many_topics_are_cut_and_the_title_says_so(model):
    display = TopicsDisplay.from_estimator(model, max_topics=3)
    assert len(display.axes_) == 3
    title = display.figure_.get_suptitle()
    assert title == f"{model.n_topics_} topics, the heaviest 3"


def test_without_matplotlib_the_error_says_what_to_install(model, no_matplotlib):
    with pytest.raises(ImportError, match=r"TopicsDisplay\.from_estimator needs matplotlib"):
        TopicsDisplay.from_estimator(model)
