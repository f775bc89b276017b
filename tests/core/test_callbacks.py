"""scikit-learn's callbacks, where its version has them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hardbayes import BPMeans, DPMeans, GraphDPMeans, HDPMeans, load, save
from hardbayes.datasets import load_karate_club

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
X = np.array([[0.0, 0.0], [0.1, 0.2], [5.0, 5.0], [5.2, 4.9], [9.0, 0.0]])


class Recorder:
    """Keeps what it is told; fails on request."""

    max_propagation_depth = 1

    def __init__(self, fail=False):
        self.told, self.fail = [], fail

    def setup(self, estimator, context):
        self.told.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.told.append(("begin", type(estimator).__name__, X is not None))
        if self.fail:
            raise RuntimeError("stop")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append(("end", getattr(fitted_estimator, "n_clusters_", None)))

    def teardown(self, estimator, context):
        self.told.append("teardown")


def test_a_fit_is_a_task():
    recorder = Recorder()
    model = DPMeans(4.0, random_state=0).set_callbacks(recorder).fit(X)
    assert recorder.told == ["setup", ("begin", "DPMeans", True), ("end", 3), "teardown"]
    assert model.labels_.tolist() == DPMeans(4.0, random_state=0).fit(X).labels_.tolist()


@pytest.mark.filterwarnings("ignore:.*No number of clusters stood out")
@pytest.mark.filterwarnings("ignore:.*too few rows to confirm features")
@pytest.mark.parametrize("kind", [HDPMeans, BPMeans, GraphDPMeans])
def test_every_estimator(kind):
    recorder = Recorder()
    data = load_karate_club()[0] if kind is GraphDPMeans else X
    kind(random_state=0).set_callbacks(recorder).fit(data)
    assert [each[0] for each in recorder.told] == ["s", "begin", "end", "t"]


def test_a_callback_that_fails_leaves_the_estimator_as_it_was(tmp_path):
    model = DPMeans(4.0, random_state=0).fit(X)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="stop"):
        model.set_callbacks(Recorder(fail=True)).fit(X[:2])
    model.set_callbacks()
    assert vars(model).keys() == before.keys() and model.n_clusters_ == 3
    save(clone(model).set_callbacks(Recorder()).fit(X), tmp_path / "model")
    assert load(tmp_path / "model").n_clusters_ == 3


def test_in_a_pipeline_with_scikit_learns_bar(capfd):
    pytest.importorskip("rich")
    pipeline = make_pipeline(StandardScaler(), DPMeans(1.0, random_state=0))
    pipeline.set_callbacks(callback.ProgressBar()).fit(X)
    assert "DPMeans" in capfd.readouterr().out
