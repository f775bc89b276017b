"""Models of mixed tables come back from files to the bit; damaged ones are refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from hardbayes import DPMeans, Mixed, MixedDPMeans, load, save
from tests.conftest import quiet_fit
from tests.mixed.tables import customers

TABLES = {
    "customers": customers(150, missing=0.1)[0].assign(
        since=pd.date_range("2020-01-01", periods=150), id=[f"é{i}" for i in range(150)]
    ),
    "numbers": pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["a", "b"]),
    "categories": pd.DataFrame({"a": list("xyz") * 20, "b": list("uvvw") * 15}),
    "nothing": pd.DataFrame({"a": ["x"] * 20}),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("k", [1, 3])
def test_models_come_back_to_the_bit(name, k, tmp_path):
    frame = TABLES[name]
    model = quiet_fit(MixedDPMeans(n_clusters=k, random_state=0), frame)
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    assert back.get_params() == model.get_params()
    assert back.column_kinds_ == model.column_kinds_
    assert back.center_names_ == model.center_names_
    assert_array_equal(back.cluster_centers_, model.cluster_centers_)
    assert_array_equal(back.labels_, model.labels_)
    for call in ("predict", "transform", "score_samples"):
        assert_array_equal(getattr(back, call)(frame), getattr(model, call)(frame))
    assert_array_equal(back.predict(frame, novelty=0.1), model.predict(frame, novelty=0.1))
    assert_array_equal(back.predict(frame, novelty=True), model.predict(frame, novelty=True))
    for column, told in model.summary(frame).items():
        assert_array_equal(back.summary(frame)[column], told)


def test_chosen_numbers_and_columns_come_back(tmp_path):
    frame, _ = customers(150)
    model = DPMeans(divergence=Mixed({"stars": "category", -1: "ordered"}), random_state=0)
    model.fit(frame)
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    assert back.divergence == model.divergence
    for name, column in model.penalty_choice_.items():
        assert_array_equal(back.penalty_choice_[name], column)
    assert_array_equal(back.predict(frame), model.labels_)


def test_covariances_of_their_own_come_back(tmp_path):
    rng = np.random.default_rng(0)
    spread = np.repeat([0.2, 3.0], 100)[:, None]
    rows = rng.normal(size=(200, 3)) * spread + 8.0 * (spread > 1)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    model = MixedDPMeans(n_clusters=2, random_state=0).fit(frame)
    assert len(model._model.clusters.covariances) == 2
    save(model, tmp_path / "m")
    assert_array_equal(load(tmp_path / "m").transform(frame), model.transform(frame))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("working_names", lambda names: names[:-1]),
        ("working_kinds", lambda kinds: ["colour", *kinds[1:]]),
        ("working_n_levels", lambda counts: counts + 1),
        ("working_places", lambda places: places + 9),
        ("working_categories", lambda table: np.add(table, [[99, 0]])),
        ("working_covariances", lambda table: np.repeat(table, 2, axis=0)),
        ("working_weights", lambda weights: 0 * weights),
        ("working_log_shares", lambda shares: shares[:, 1:]),
    ],
)
def test_contradictions_are_refused(name, change):
    frame, _ = customers(120)
    model = MixedDPMeans(n_clusters=3, random_state=0).fit(frame)
    state = model._get_state()
    state[name] = change(state[name])
    with pytest.raises(ValueError):  # noqa: PT011 - what is wrong differs
        MixedDPMeans()._set_state(state)
