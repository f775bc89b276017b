"""Files that reports write: complete, escaped, accessible, small, and of every kind of model."""

import base64
import hashlib
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hardbayes import DPMeans, HDPTopics, certainty, penalty_path, report
from tests.conftest import ROOT, make_blobs, quiet_fit
from tests.reports.conftest import Outline
from tests.test_layers import clusters_within_clusters

KINDS = (
    "clusters", "sparse", "gaussian", "groups", "features", "k-features", "graph", "topics",
    "levels",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_well_formed_and_accessible(kind, reports):
    outline = Outline(reports[kind])
    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in outline.elements:
        assert not {"style", "src", "onclick", "onerror"} & set(attributes)
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids
        if "href" in attributes:
            link = attributes["href"]
            held = link.startswith("data:text/csv;") and "download" in attributes
            assert held or (link[0] == "#" and link[1:] in ids)
    assert len(outline.all("caption")) == len(outline.all("table")) > 0
    assert all("scope" in cell for cell in outline.all("th"))
    for drawn in outline.all("svg"):
        assert drawn.get("aria-label") or drawn.get("aria-hidden") == "true"
    headings = [name for name, _ in outline.elements if name in ("h1", "h2", "h3")]
    assert headings.count("h1") == 1 and headings[0] == "h1" and headings[1] == "h2"
    assert outline.all("html") == [{"lang": "en"}]


@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_allows_the_one_style_and_the_one_script(kind, reports):
    outline = Outline(reports[kind])
    policy = next(meta["content"] for meta in outline.all("meta") if "http-equiv" in meta)
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    whole = reports[kind].read_text(encoding="utf-8")
    style = re.search(r"<style>(.*?)</style>", whole, re.S)[1]
    script = re.search(r"<script>(.*?)</script>", whole, re.S)[1]
    for content in (style, script):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert outline.all("script") == [{"type": "application/json", "id": "data"}, {}]
    json.loads(re.search(r'id="data">(.*?)</script>', whole, re.S)[1])


@pytest.mark.parametrize("kind", ["clusters", "topics"])
def test_names_are_escaped(kind, reports):
    whole = reports[kind].read_text(encoding="utf-8")
    assert "&lt;script&gt;window.hit" in whole
    assert "<script>window" not in whole and "<img" not in whole


def test_the_groups_of_a_report_are_escaped(reports):
    assert "&lt;a&gt;" in reports["groups"].read_text(encoding="utf-8")


def test_what_is_said_about_clusters(reports, clusters):
    whole = reports["clusters"].read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", " ", whole)
    assert "<h1>3 clusters</h1>" in whole
    for word in ("60 rows of 3 columns", "chosen automatically", "factor of", "flower "):
        assert word in text
    for cluster, size in enumerate(clusters.cluster_weights_):
        assert f"cluster {cluster}, {size:.0f} points" in whole


def test_data_of_the_script(reports, clusters):
    whole = reports["clusters"].read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', whole, re.S)[1])
    steps = data["steps"]
    assert [step["k"] for step in steps] == sorted((s["k"] for s in steps), reverse=True)
    assert steps[data["fitted"]]["k"] == 3
    assert steps[data["fitted"]]["at"] == pytest.approx(clusters.cluster_penalty_)
    labels = "".join(str(label) for label in clusters.labels_)
    assert steps[data["fitted"]]["labels"] == labels
    assert len(data["points"]) == 2 * 60


def test_levels(reports, tmp_path):
    """Tables and the file of labels agree about each level; other rows have none."""
    page = Outline(reports["levels"])
    assert [each["data-level"] for each in page.all("button") if "data-level" in each] == ["0", "1"]
    held = next(each["href"] for each in page.all("a") if "download" in each)
    lines = base64.b64decode(held.partition("base64,")[2]).decode().splitlines()
    assert lines[0] == "row,cluster,of 3 clusters"
    fine, coarse = np.loadtxt(lines[1:], delimiter=",", dtype=int)[:, 1:].T
    assert len(np.unique(np.column_stack([fine, coarse]), axis=0)) == 9
    assert np.unique(coarse, return_counts=True)[1].tolist() == [60, 60, 60]
    rows, _, _ = clusters_within_clusters(20)
    model = DPMeans(random_state=0).fit(rows)
    report(model, rows[:100], tmp_path / "page.html", penalty_path=False, certainty=False)
    assert 'data-level="' not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_pipeline_is_described_by_its_own_columns(table, tmp_path):
    model = make_pipeline(StandardScaler(), DPMeans(20.0, random_state=0))
    mixed = table.assign(**{table.columns[0]: 1e6 + table.iloc[:, 0], "colour": "red"})
    numbers = mixed.drop(columns="colour")
    report(model.fit(numbers), numbers, tmp_path / "a.html")
    assert "1,000,000" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "pipeline" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_texts_in_a_pipeline(tmp_path):
    texts = 5 * ["cat dog cat pet", "dog pet dog", "star moon", "moon sky", "star sky moon"]
    model = make_pipeline(CountVectorizer(), HDPTopics(random_state=0)).fit(texts)
    report(model, texts, tmp_path / "a.html", row_names=[f"text {n}" for n in range(25)])
    whole = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '<th scope="row">moon</th>' in whole and "text 0" in whole


def test_values_in_other_units_and_a_given_path(table, clusters, tmp_path):
    path = penalty_path(table, estimator=DPMeans(random_state=0), n_penalties=5)
    values = pl.DataFrame({"weight in kg": 70.0 + np.arange(60), "name": ["a"] * 60})
    report(clusters, table, tmp_path / "a.html", values=values, penalty_path=path)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "weight in kg" in text and '<th scope="row">length</th>' not in text
    with pytest.raises(ValueError, match=r"'values' has 59 rows, but X has 60"):
        report(clusters, table, tmp_path / "b.html", values=values[:59])
    report(clusters, table, tmp_path / "c.html", penalty_path=False)
    assert 'id="penalty"' not in (tmp_path / "c.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["polars", "list", "float32", "csc"])
def test_forms_of_tables(form, table, tmp_path):
    rows = table.to_numpy()
    X = {
        "polars": pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1]}),
        "list": rows.tolist(),
        "float32": rows.astype(np.float32),
        "csc": sparse.csc_array(rows),
    }[form]
    model = DPMeans(0.3, random_state=0).set_output(transform="pandas").fit(X)
    report(model, X, tmp_path / "a.html", penalty_path=False)
    whole = (tmp_path / "a.html").read_text(encoding="utf-8")
    name = "a" if form == "polars" else "column 0"
    assert f'<th scope="row">{name}</th>' in whole


@pytest.mark.parametrize(
    "X",
    [
        [[1.0]],
        [[1.0, 2.0]] * 5,
        np.arange(12.0)[:, np.newaxis],
        pd.DataFrame({"a": [1.0, 2.0, 9.0], "b": [0.0, 0.0, 0.0], "c": [1.0, 2.0, 3.0]}),
    ],
    ids=["one row", "equal rows", "one column", "few rows"],
)
@pytest.mark.parametrize("penalty", [0.0, 1.0, 1e6])
def test_corners(X, penalty, tmp_path):
    model = quiet_fit(DPMeans(penalty, max_clusters=3, random_state=0), X)
    report(model, X, tmp_path / "a.html")
    Outline(tmp_path / "a.html")


def test_weights(table, tmp_path):
    weights = np.where(np.arange(60) < 30, 2.0, 1.0)
    model = DPMeans(0.5, random_state=0).fit(table, sample_weight=weights)
    report(model, table, tmp_path / "a.html", sample_weight=weights)
    text = re.sub(r"<[^>]+>", " ", (tmp_path / "a.html").read_text(encoding="utf-8"))
    assert f"{model.cluster_weights_[0]:.0f} rows" in text


def test_a_large_table_is_sampled_and_says_so(tmp_path):
    rows, _ = make_blobs(10_500, 3, 4)
    model = DPMeans(20.0, random_state=0).fit(rows)
    report(model, rows, tmp_path / "a.html", penalty_path=False, certainty=False)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "A sample of 10,000 of 10,500 rows" in text


def test_ten_thousand_rows_stay_below_two_megabytes(tmp_path):
    rows, _ = make_blobs(10_000, 3, 12)
    model = DPMeans(20.0, random_state=0).fit(rows)
    path = penalty_path(rows[::20], estimator=DPMeans(random_state=0), n_penalties=40)
    report(model, rows, tmp_path / "a.html", penalty_path=path, certainty=False)
    whole = (tmp_path / "a.html").read_bytes()
    assert len(whole) < 2_000_000
    assert len(json.loads(re.search(rb'id="data">(.*?)</script>', whole, re.S)[1])["steps"]) > 8


def test_an_existing_file_is_replaced_on_request_only(table, clusters, tmp_path):
    path = tmp_path / "a.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"overwrite=True"):
        report(clusters, table, path)
    assert path.read_text() == "mine"
    report(clusters, table, path, penalty_path=False, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(FileNotFoundError, match=r"a\.html"):
        report(clusters, table, tmp_path / "no folder" / "a.html", penalty_path=False)
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]


def test_what_is_refused(table, clusters, tmp_path):
    path = tmp_path / "a.html"
    with pytest.raises(TypeError, match=r"estimator of this library.* Got KMeans"):
        report(KMeans(2).fit(table), table, path)
    with pytest.raises(NotFittedError):
        report(DPMeans(), table, path)
    with pytest.raises(ValueError, match=r"'row_names' has 2 names, but X has 60 rows"):
        report(clusters, table, path, row_names=["a", "b"])
    with pytest.raises(ValueError, match=r"'feature_names' has 1 names, but there are \d columns"):
        report(clusters, table, path, feature_names=["a"])
    with pytest.raises(TypeError, match=r"'penalty_path' parameter of report must be True, False"):
        report(clusters, table, path, penalty_path="yes")
    with pytest.raises(ValueError, match=r"'sample_weight' must have 60 numbers"):
        report(clusters, table, path, sample_weight=np.ones(3))
    assert not path.exists()


def test_reports_are_imported_late(run_python):
    source = """
        import sys, hardbayes
        print("hardbayes.reports" in sys.modules, "report" in dir(hardbayes))
        hardbayes.report
        print("hardbayes.reports" in sys.modules, "matplotlib" in sys.modules)
    """
    assert run_python(source).split() == ["False", "True", "True", "False"]


def test_names_that_are_no_text(table, clusters, tmp_path):
    path, names = tmp_path / "a.html", [b"bytes", None, *range(58)]
    report(clusters, table, path, row_names=names, title="\ud800 half", penalty_path=False)
    assert "? half" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_the_code_of_the_manual_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    session = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, "report.md", "exec"), session)  # noqa: S102 - our own text
    assert (tmp_path / "wines.html").exists()
    assert "spread" in capsys.readouterr().out
    for picture in re.findall(r"images/[\w-]+\.png", page):
        assert (ROOT / "docs" / picture).exists()


@pytest.mark.parametrize("scale", [1e150, 1.0, 1e-150])
def test_other_rows_than_those_of_the_fit_at_any_scale(scale, table, tmp_path):
    """Some clusters may have no rows."""
    rows = scale * table.to_numpy()
    model = DPMeans(random_state=0).fit(rows)
    report(model, rows[:2], tmp_path / "a.html", penalty_path=penalty_path(rows, n_penalties=5))
    assert "nan" not in re.sub(r"<script.*", "", (tmp_path / "a.html").read_text(encoding="utf-8"))


def test_how_sure(reports, clusters, table, tmp_path):
    for kind in ("clusters", "gaussian"):
        text = re.sub(r"<[^>]+>", " ", reports[kind].read_text(encoding="utf-8"))
        assert "3 clusters fitted. Posterior of their number: " in text
        assert "The prior decides with the data" in text
    assert 'id="sure"' not in reports["groups"].read_text(encoding="utf-8")
    path = tmp_path / "a.html"
    found = certainty(clusters, table, n_sweeps=50)
    found.certainty[7] = 0.125
    report(clusters, table, path, penalty_path=False, certainty=found)
    whole = path.read_text(encoding="utf-8")
    least = re.search(r"The least sure rows</caption>.*?<tbody>(.*?)</tbody>", whole, re.S)[1]
    first = re.sub(r"<[^>]+>", " ", least[: least.index("</tr>")])
    assert "flower 7" in first and "12 %" in first
    assert whole.count("<rect") >= 10 and "&lt;1" not in least
    report(clusters, table, path, penalty_path=False, certainty=False, overwrite=True)
    assert 'id="sure"' not in path.read_text(encoding="utf-8")
    with pytest.raises(TypeError, match=r"'certainty' parameter of report must be True, False"):
        report(clusters, table, path, certainty="yes", overwrite=True)
    with pytest.raises(ValueError, match=r"'certainty' is of 60 rows, but X has 5"):
        report(clusters, table[:5], path, penalty_path=False, certainty=found, overwrite=True)


def test_why_nothing_is_sampled(table, clusters, tmp_path):
    rows = table.to_numpy()
    path = tmp_path / "a.html"

    def said(model, X, **options):
        report(model, X, path, penalty_path=False, overwrite=True, **options)
        return re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8"))

    cosine = DPMeans(0.1, divergence="cosine", random_state=0).fit(np.abs(rows) + 1)
    assert "No sampler has the limit DPMeans" in said(cosine, np.abs(rows) + 1)
    assert "was fitted to 60" in said(clusters, table[:9])
    assert "no sampler" in said(clusters, table, sample_weight=np.ones(60))
    sparse_rows = sparse.csr_array(rows)
    model = DPMeans(0.3, random_state=0).fit(sparse_rows)
    assert "reads dense rows. Pass X.toarray()" in said(model, sparse_rows)
    large = make_blobs(60_000, 3, 4)[0]
    assert "would take minutes" in said(DPMeans(20.0, random_state=0).fit(large), large)
