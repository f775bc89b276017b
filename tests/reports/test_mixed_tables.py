"""Reports of clusters of tables with categories."""

from html import escape

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hardbayes import DPMeans, MixedDPMeans, report
from tests.conftest import quiet_fit
from tests.mixed.tables import customers
from tests.reports.conftest import HOSTILE, Outline


@pytest.fixture(scope="module")
def written(reports):
    return reports["mixed"].read_text(encoding="utf-8"), Outline(reports["mixed"])


def test_the_page_is_complete_and_safe(written):
    whole, outline = written
    assert outline.texts["h1"] == "4 clusters"
    assert len(outline.all("script")) == 2
    assert "<img" not in whole
    headings = outline.texts["h2"]
    for title in ("Why 4 clusters", "What sets the clusters apart", "Typical and doubtful rows",
                  "What columns were taken for", "How the fit went", "How to use it"):  # fmt: skip
        assert title in headings


def test_columns_are_told_in_words(written):
    whole, _ = written
    frame, _ = customers(200, missing=0.05)
    frame["country"] = frame["country"].replace({"FR": HOSTILE})
    model = MixedDPMeans(n_clusters=4, random_state=0).fit(frame)
    summary = model.summary(frame)
    for column in ("age", "newsletter", "stars", "spent"):
        for told in summary[column]:
            assert told.split(" (")[0] in whole
    shares = summary["country"][0].split(" (")[0].split(", ")
    assert all(escape(share) in whole for share in shares)
    assert "newsletter yes" in whole


def test_a_line_and_a_card_for_each_cluster(written):
    _, outline = written
    assert [each["class"] for each in outline.all("article")] == 4 * ["card"]


@pytest.mark.parametrize("make", [pl.from_pandas, lambda f: f.to_numpy(dtype=object), pd.DataFrame])
def test_any_table(make, tmp_path):
    frame, _ = customers(80)
    X = make(frame)
    model = quiet_fit(DPMeans(divergence="mixed", random_state=0), X)
    report(model, X, tmp_path / "a.html", row_names=[f"c {i}" for i in range(80)])
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "What columns were taken for" in text
    assert ("newsletter" if hasattr(X, "columns") else "x4") in text
    assert ">c " in text


def test_one_cluster_and_nothing_in_common(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "c": rng.choice(list("abc"), 90), "one": 1})
    model = quiet_fit(MixedDPMeans(random_state=0), frame)
    report(model, frame, tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "so there is one" in text and "one value" in text
