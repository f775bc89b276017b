"""The table of clusters: sizes, spreads, and the columns that set them apart."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from hardbayes import DPMeans, GaussianDPMeans, HDPMeans
from hardbayes.core import summaries
from hardbayes.core.summaries import moments, profiles

ROWS = np.array([[0.0, 1.0, 7.0], [0.0, 3.0, 7.0], [10.0, 1.0, 7.0], [10.0, 3.0, 7.0]])


@pytest.fixture
def model():
    frame = pd.DataFrame(ROWS, columns=["height", "width", "constant"])
    return DPMeans(5.0, random_state=0).fit(frame), frame


def test_a_table_of_clusters(model):
    fitted, frame = model
    table = fitted.summary(frame)
    assert list(table) == ["cluster", "size", "share", "spread", "high", "low"]
    assert_array_equal(table["size"], [2, 2])
    assert_allclose(table["share"], 0.5)
    assert_allclose(table["spread"], 1.0)
    first, second = np.argsort(fitted.cluster_centers_[:, 0])
    assert table["low"][first] == "height 0 (-1.0)" and table["high"][first] == ""
    assert table["high"][second] == "height 10 (+1.0)"


@pytest.mark.parametrize(("name", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_names_the_frame(name, kind, model):
    fitted, frame = model
    table = fitted.set_output(transform=name).summary(frame)
    assert isinstance(table, kind) and table.shape == (2, 6)


def test_values_in_other_units_with_gaps(model):
    fitted, frame = model
    values = pd.DataFrame({"kg": [1.0, np.nan, 5.0, 7.0], "name": list("abcd")})
    table = fitted.summary(frame, values=values)
    first, second = np.argsort(fitted.cluster_centers_[:, 0])
    assert table["low"][first].startswith("kg 1 ") and table["high"][second].startswith("kg 6 ")
    assert_allclose(table["spread"], 1.0)  # in the units of X
    with pytest.raises(ValueError, match=r"'values' has 3 rows, but X has 4"):
        fitted.summary(frame, values=values[:3])
    with pytest.raises(ValueError, match=r"no column of numbers"):
        fitted.summary(frame, values=values[["name"]])


def test_every_partition_has_one():
    rng = np.random.RandomState(0)
    rows = np.vstack([rng.randn(30, 2), rng.randn(30, 2) + 20.0])
    groups = np.tile([0, 1], 30)
    for fitted, beside in (
        (GaussianDPMeans(0.5, random_state=0).fit(rows), {}),
        (HDPMeans(50.0, 50.0, random_state=0).fit(rows, groups=groups), {"groups": groups}),
        (DPMeans(50.0, random_state=0).fit(sparse.csr_array(rows)), {}),
    ):
        table = fitted.summary(rows, **beside)
        assert_array_equal(table["size"], fitted.cluster_weights_)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_in_parts_are_those_of_the_whole(weighted, monkeypatch):
    rng = np.random.RandomState(1)
    values = 1e6 + rng.randn(50, 3)
    weights = rng.rand(50) if weighted else None
    monkeypatch.setattr(summaries, "_CELLS", 21)  # seven rows at a time
    found = moments(values, slice(None), weights)
    mean = np.average(values, axis=0, weights=weights)
    assert_allclose(found.means, mean, rtol=1e-14)
    variance = np.average((values - mean) ** 2, axis=0, weights=weights)
    assert_allclose(found.variances, variance, rtol=1e-6)
    like = moments(sparse.csr_array(values - 1e6), slice(None), weights)
    assert_allclose(like.variances, variance, rtol=1e-6)


def test_only_the_columns_that_differ_most():
    rng = np.random.RandomState(2)
    values = rng.randn(40, 30)
    labels = np.repeat([0, 1], 20).astype(np.int32)
    values[labels == 1, 17] += 9.0
    values[labels == 1, 4] -= 5.0
    for each in profiles(values, labels, 2, n_columns=2):
        assert_array_equal(each.columns, [17, 4])
        assert_allclose(each.means, values[labels == each.cluster][:, [17, 4]].mean(axis=0))
