"""A stream that is saved, loaded and gone on with has the same bits as one that goes on."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import MiniBatchDPMeans, load, save
from tests.mini_batch.streams import assert_same_stream, cloud, rows_for, taken_up

STREAMS = {
    "plain": lambda n: (cloud(n), {}),
    "float32": lambda n: (cloud(n).astype(np.float32), {"max_micro_clusters": 100}),
    "automatic": lambda n: (cloud(n), {"penalty": "auto"}),
    "fading": lambda n: (cloud(n), {"half_life": 400.0}),
    "weights and times": lambda n: (
        cloud(n),
        {"half_life": 99.0, "times": np.arange(n) / 7, "weights": 1.0 + np.arange(n) % 3},
    ),
    "sparse": lambda n: (sparse.csr_array(rows_for("poisson", n)), {"divergence": "poisson"}),
    "cosine": lambda n: (rows_for("cosine", n), {"divergence": "cosine", "penalty": 50.0}),
}


def continued(model, X, start, weights=None, times=None):
    """Take up the rows from this one on."""
    return model.partial_fit(
        X[start:],
        sample_weight=None if weights is None else weights[start:],
        time=None if times is None else times[start:],
    )


@pytest.mark.parametrize(
    ("name", "at"),
    [(name, at) for name in STREAMS if name != "automatic" for at in (1, 700, 3500)]
    + [("automatic", 4500)],
)
def test_going_on_from_a_file_has_the_same_bits(name, at, tmp_path):
    X, options = STREAMS[name](5500)
    beside = {key: options.pop(key) for key in ("weights", "times") if key in options}
    cut = {key: values[:at] for key, values in beside.items()}
    model = taken_up(X[:at], [at // 2], **cut, **options)
    if at > 3000:
        assert model.n_clusters_ > 0  # names are told
    save(model, tmp_path / "stream")
    loaded = load(tmp_path / "stream", MiniBatchDPMeans)
    assert "labels_" not in vars(loaded) and loaded.n_rows_seen_ == at
    assert_same_stream(loaded, model)
    assert loaded.status_ == model.status_
    assert_same_stream(continued(loaded, X, at, **beside), continued(model, X, at, **beside))


def test_an_empty_model_is_saved_as_it_is(tmp_path):
    with pytest.warns(UserWarning, match="not fitted"):
        save(MiniBatchDPMeans(3.0, half_life=9.0), tmp_path / "stream")
    loaded = load(tmp_path / "stream")
    assert loaded.half_life == 9.0 and not hasattr(loaded, "labels_")


def test_names_of_columns_are_saved(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(cloud(30), columns=["a", "b", "c"])
    save(MiniBatchDPMeans(3.0).partial_fit(frame), tmp_path / "stream")
    loaded = load(tmp_path / "stream")
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert len(loaded.partial_fit(frame).labels_) == 30


def test_a_file_is_as_small_as_the_summary(tmp_path):
    model = MiniBatchDPMeans(5.0, max_micro_clusters=100, random_state=0)
    sizes = []
    for _ in range(3):
        for _ in range(10):
            model.partial_fit(cloud(1024))
        save(model, tmp_path / "stream", overwrite=True)
        sizes.append((tmp_path / "stream").stat().st_size)
    assert max(sizes) < 1.2 * min(sizes) < 100_000


FORGED = {
    "micro_weight_coarse": lambda weights: -weights,
    "working_shift": lambda _: None,
    "events": lambda events: events + 9,
    "waiting_rows": lambda _: None,
    "waiting_starts": lambda _: np.arange(5),
    "waiting_weights": lambda _: np.ones(3),
    "recent": lambda recent: recent + 10_000,
    "ids": lambda ids: ids[:-1],
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_entries_are_refused(name):
    model = taken_up(cloud(1300), [], weights=np.linspace(1, 2, 1300))
    assert model.n_clusters_ > 0
    state = model._get_state()
    if name == "waiting_starts":
        state |= {"waiting_rows": None, "is_sparse": True, "waiting_entries": np.ones(4)}
        state["waiting_places"] = np.zeros(4, np.int32)
    forged = state | {name: FORGED[name](state[name])}
    fresh = MiniBatchDPMeans(5.0)
    if name == "waiting_rows":  # weights without rows
        forged["waiting_weights"] = np.ones(4)
    with pytest.raises(ValueError, match="contradicts itself"):
        fresh._set_state(forged)
    assert not hasattr(fresh, "labels_")
