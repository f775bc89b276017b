"""What notebooks show of a model: what was found, and scikit-learn's diagram as it is."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hardbayes import DPMeans, GraphDPMeans, HDPTopics, KFeatures
from hardbayes.datasets import load_karate_club, make_bars

X = np.array([[0.0, 0.0], [0.1, 0.2], [5.0, 5.0], [5.2, 4.9], [9.0, 0.0]])


def test_a_fitted_model_says_what_it_has_found():
    model = DPMeans(4.0, random_state=0).fit(X)
    shown = model._repr_html_()
    assert "<strong" in shown and ">3 clusters</strong>" in shown
    assert model.status_ in shown
    assert shown.count("<rect") == 3
    assert "sk-container-id" in shown  # scikit-learn's own diagram follows


def test_both_ways_in_which_notebooks_ask():
    model = DPMeans(4.0, random_state=0).fit(X)
    bundle = model._repr_mimebundle_()
    assert ">3 clusters</strong>" in bundle["text/html"] and bundle["text/plain"] == repr(model)
    assert bundle["text/html"].count("<strong") == 1


def test_before_the_fit_there_is_the_diagram_alone():
    assert "<strong" not in DPMeans()._repr_html_()
    assert "sk-container-id" in DPMeans()._repr_html_()


def test_as_text_where_scikit_learn_is_told_so():
    with config_context(display="text"):
        model = DPMeans(4.0, random_state=0).fit(X)
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize("kind", ["graph", "topics", "features"])
def test_other_models(kind):
    if kind == "graph":
        model, found = GraphDPMeans(random_state=0).fit(load_karate_club()[0]), "2 clusters"
    elif kind == "topics":
        model = HDPTopics(random_state=0).fit(make_bars(40, random_state=0)[0])
        found = f"{model.n_topics_} topics"
    else:
        model, found = KFeatures(1, n_init=1, random_state=0).fit(X), "1 feature"
    assert f">{found}</strong>" in model._repr_html_()


def test_status_is_escaped_and_pipelines_are_as_ever():
    model = DPMeans(4.0, random_state=0).fit(X)
    model.status_ = "<script>1</script>"
    assert "&lt;script&gt;1" in model._repr_html_() and "<script>1" not in model._repr_html_()
    pipeline = make_pipeline(StandardScaler(), DPMeans(4.0)).fit(X)
    assert "DPMeans" in pipeline._repr_html_()
