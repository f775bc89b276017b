"""Clusters in words: means, shares of levels, spikes, dates."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hardbayes import MixedDPMeans
from tests.mixed.tables import customers


@pytest.fixture(scope="module")
def told():
    """Two clusters of ten times ten rows, of which everything is known."""
    place = np.repeat([0, 1], 100)
    rng = np.random.default_rng(0)
    step = np.tile(np.arange(10), 20)
    spent = np.where(step < np.where(place == 0, 6, 2), 0.0, 40.0 + rng.normal(size=200))
    frame = pd.DataFrame({
        "age": 30.0 + 30.0 * place + rng.normal(size=200),
        "country": np.where(place == 0, np.array(list("AAAAAABBBC"))[step], "D"),
        "member": np.where(step < 3 + 4 * place, "yes", "no"),
        "spent": spent,
        "size": pd.Categorical(np.where(place == 0, "s", "l"), ["s", "m", "l"], ordered=True),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(step, unit="D"),
    })  # fmt: skip
    model = MixedDPMeans(n_clusters=2, columns={"size": "ordered"}, random_state=0).fit(frame)
    first = model.predict(frame[:1])[0]
    return model, frame, first, model.summary(frame)


def test_categories_are_shares_with_names(told):
    _, _, first, summary = told
    assert summary["country"][first].startswith("A 60 %, B 30 %, C 10 % (A 30 %")
    assert summary["country"][1 - first].startswith("D 100 % (D 50 %")


def test_yes_and_no_are_one_share(told):
    _, _, first, summary = told
    assert summary["member"][first] == "yes 30 % (yes 50 %)"


def test_spikes_are_told_apart(told):
    _, frame, first, summary = told
    here = frame["spent"][:100]
    mean = here[here > 0].mean()
    every = frame["spent"][frame["spent"] > 0].mean()
    assert summary["spent"][first] == f"60 % none; else {mean:.4g} (40 % none; else {every:.4g})"


def test_numbers_dates_and_orders(told):
    _, frame, first, summary = told
    assert summary["age"][first].startswith(f"{frame['age'][:100].mean():.4g} (")
    assert summary["size (column)"][first] == "0.0 (s) (1.0 (m))"
    assert summary["since"][first].startswith("2020-01-05 (2020-01-05")


def test_what_sets_clusters_apart_comes_first(told):
    model, frame, first, summary = told
    assert "age" in summary["apart"][first]
    assert "since" not in summary["apart"][first]
    assert summary["apart"][first].count("; ") >= 2
    assert model.summary(frame, n_columns=1)["apart"][first].count("%") <= 6


def test_sizes_are_those_of_the_rows(told):
    model, frame, first, _ = told
    part = model.summary(frame[:150])
    assert part["size"].tolist() == [100, 50] if first == 0 else [50, 100]
    assert part["share"].sum() == pytest.approx(1.0)


def test_clusters_without_rows_are_told():
    frame, _ = customers(200)
    model = MixedDPMeans(n_clusters=4, random_state=0).fit(frame)
    one = frame[model.labels_ == 2]
    summary = model.summary(one)
    assert summary["size"].tolist() == [0, 0, len(one), 0]
    assert "not known" in summary["country"][0]
    assert "no value" in summary["age"][0]


def test_output_as_frames():
    frame, _ = customers(120)
    for name, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        model = MixedDPMeans(n_clusters=2, random_state=0).set_output(transform=name).fit(frame)
        assert isinstance(model.summary(frame), kind)
        assert list(model.transform(frame).columns) == ["mixeddpmeans0", "mixeddpmeans1"]
