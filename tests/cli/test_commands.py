"""Every command from its input to its results, and back through predict."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from hardbayes import DPMeans, load, save
from hardbayes.datasets import load_karate_club
from tests.cli.conftest import read_csv, write_csv

WORDS = ("cat dog pet fur paw tail", "star moon sky sun orbit comet", "salt oil pan cook bake stir")


def test_cluster_to_standard_output(hardbayes, blobs):
    done = hardbayes("cluster", "blobs.csv", "--exclude", "weight,group")
    header, *lines = done.out.splitlines()
    assert header == "row,cluster"
    assert adjusted_rand_score(blobs, [int(line.split(",")[1]) for line in lines]) == 1
    assert "Found 3 clusters" in done.err
    assert "Why 3: " in done.err
    assert "Left out (no numbers): name." in done.err
    assert done.err.splitlines()[-1] == (
        "Next: hardbayes cluster blobs.csv --exclude weight,group -o labels.csv --save blobs.model"
    )


def test_cluster_to_files_and_predict(hardbayes, blobs):
    options = ["--id-column", "name", "--weight-column", "weight", "--standardize", "--seed", "3"]
    files = ["-o", "labels.csv", "--centers", "centers.csv", "--save", "blobs.model"]
    done = hardbayes("cluster", "blobs.csv", *options, *files)
    assert done.out == ""
    assert done.err.splitlines()[-4:] == [
        "Labels: labels.csv",
        "Centres: centers.csv",
        "Model: blobs.model",
        "Next: hardbayes predict blobs.model NEW_TABLE",
    ]
    header, rows = read_csv("labels.csv")
    assert header == ["name", "cluster"] and rows[0][0] == "n0"
    header, centres = read_csv("centers.csv")
    assert header == ["cluster", "rows", "a", "b"]
    places = np.sort(np.round(np.array(centres, float)[:, 2:] / 9), axis=0)
    assert np.array_equal(places, [[0, 0], [0, 0], [1, 1]])  # in units of the table

    # New tables: columns in another order, more of them, the same preparation.
    _, table = read_csv("blobs.csv")
    write_csv("new.csv", ["b", "more", "name", "a"], [[r[2], "x", r[0], r[1]] for r in table])
    hardbayes("predict", "blobs.model", "new.csv", "--id-column", "name", "-o", "again.csv")
    assert read_csv("again.csv") == read_csv("labels.csv")
    with pytest.warns(UserWarning, match="hardbayes predict"):
        load("blobs.model")


def test_the_whole_table_with_clusters(hardbayes, blobs):
    _, rows = read_csv("blobs.csv")
    write_csv("t.csv", ["name", "a", "b", "cluster"], [["=x", *row[1:3], row[0]] for row in rows])
    hardbayes("cluster", "t.csv", "--append", "-o", "all.csv", "--save", "m")
    header, found = read_csv("all.csv")
    assert header == ["name", "a", "b", "cluster", "cluster_2"]
    assert [row[1:4] for row in found] == [[*row[1:3], row[0]] for row in rows]
    assert found[0][0] == "'=x" and {row[4] for row in found} == {"0", "1", "2"}
    hardbayes("predict", "m", "t.csv", "--append", "-o", "again.csv")
    assert read_csv("again.csv") == (header, found)


def test_outliers_get_minus_one(hardbayes, blobs):
    hardbayes("cluster", "blobs.csv", "--columns", "a,b", "--save", "m", "-o", "l.csv")
    write_csv("new.csv", ["a", "b"], [[0, 0], [500, 500]])
    done = hardbayes("predict", "m", "new.csv", "--novelty", "0.01")
    assert done.out.splitlines()[2] == "2,-1" and "1 in none (-1)" in done.err


def test_models_of_python_predict_tables(hardbayes, blobs):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv("blobs.csv")[["b", "a"]]
    model = DPMeans(random_state=0).fit(frame)
    save(model, "python.model")
    out = hardbayes("predict", "python.model", "blobs.csv", "--json").out
    assert json.loads(out)["labels"] == model.labels_.tolist()


def test_json_holds_everything(hardbayes, blobs):
    found = json.loads(hardbayes("cluster", "blobs.csv", "--columns", "a", "b", "--json").out)
    assert found["n_clusters"] == 3 and found["columns"] == ["a", "b"]
    assert adjusted_rand_score(blobs, found["labels"]) == 1
    assert [cluster["rows"] for cluster in found["clusters"]] == [20, 20, 20]


@pytest.mark.parametrize(
    ("options", "n_clusters"),
    [(["--k", "5"], 5), (["--penalty", "1e9"], 1), (["--penalty", "50"], 3),
     (["--penalty", "50", "--search", "paper"], 3), (["--model", "gaussian"], 3),
     (["--model", "gaussian", "--about-k", "2"], 2), (["--divergence", "cosine"], None)],
)  # fmt: skip
def test_ways_to_cluster(options, n_clusters, hardbayes, blobs):
    out = hardbayes("cluster", "blobs.csv", "--columns", "a", "b", "--json", *options).out
    if n_clusters is not None:
        assert json.loads(out)["n_clusters"] == n_clusters


def test_one_cluster_names_the_nearest_number_and_how_to_get_it(hardbayes):
    X = np.random.RandomState(0).normal(size=(60, 2))
    write_csv("t.csv", ["a", "b"], X.tolist())
    lines = hardbayes("cluster", "t.csv").err.splitlines()
    assert any(line.startswith("Why 1: no number of clusters stood out") for line in lines)
    how = next(line for line in lines if line.startswith("To use "))
    assert "hardbayes cluster t.csv --k " in how
    assert lines[-1] == "Next: hardbayes path t.csv"


def test_dropped_rows_have_no_cluster(hardbayes):
    rows = [[0, 0], [0.1, 0], ["", 1], [9, 9], [9.1, 9]]
    write_csv("t.csv", ["a", "b"], rows)
    options = ["--missing", "drop", "--penalty", "4"]
    hardbayes("cluster", "t.csv", *options, "--save", "m", "-o", "l.csv")
    assert [row[1] for row in read_csv("l.csv")[1]] in (
        ["0", "0", "", "1", "1"],
        ["1", "1", "", "0", "0"],
    )
    hardbayes("predict", "m", "t.csv", "-o", "again.csv")
    assert read_csv("again.csv") == read_csv("l.csv")


def test_encoded_and_filled_columns_predict_alike(hardbayes):
    rows = [[i % 3, "uv"[i % 2]] for i in range(20)] + [["", "u"]]
    write_csv("t.csv", ["a", "k"], rows)
    options = ["--encode", "--missing", "mean", "--about-k", "2", "--save", "m", "-o", "l.csv"]
    hardbayes("cluster", "t.csv", *options)
    hardbayes("predict", "m", "t.csv", "-o", "again.csv")
    assert read_csv("again.csv") == read_csv("l.csv")
    write_csv("new.csv", ["k", "a"], [["w", 1]])
    assert "Unknown values of k" in hardbayes("predict", "m", "new.csv").err


def test_path_prints_and_draws(hardbayes, blobs, tmp_path):
    done = hardbayes("path", "blobs.csv", "--columns", "a", "b", "--plot", "p.svg")
    header, *lines = done.out.splitlines()
    assert header == "n_clusters,penalty,lowest,highest,suggested"
    assert [line.split(",")[0] for line in lines if line.endswith(",1")] == ["3"]
    assert "<- suggested" in done.err
    assert done.err.splitlines()[-1] == ("Next: hardbayes cluster blobs.csv --columns a b --k 3")
    assert (tmp_path / "p.svg").read_bytes().startswith(b"<?xml")
    assert json.loads(hardbayes("path", "blobs.csv", "--columns", "a,b", "--json").out)["penalty"]


def test_groups(hardbayes, blobs):
    options = ["--group-column", "group", "--exclude", "weight", "--global-penalty", "60"]
    done = hardbayes("groups", "blobs.csv", *options, "--save", "m", "-o", "l.csv")
    labels = [int(row[1]) for row in read_csv("l.csv")[1]]
    assert adjusted_rand_score(blobs, labels) == 1
    assert "60 rows in 3 groups" in done.err and "share of cluster" in done.err
    hardbayes("predict", "m", "blobs.csv", "--group-column", "group", "-o", "again.csv")
    assert read_csv("again.csv") == read_csv("l.csv")


def test_clusters_by_a_kernel(hardbayes, refused):
    X, moon = make_moons(160, noise=0.05, random_state=0)
    write_csv("moons.csv", ["x", "y"], X.tolist())
    by_kernel = ["cluster", "moons.csv", "--model", "kernel"]
    files = ["-o", "l.csv", "--centers", "c.csv", "--save", "m", "--overwrite"]
    said = hardbayes(*by_kernel, *files).err
    assert "Found 2 clusters" in said and "Why 2, by the kernel 'rbf': the worst border" in said
    labels = np.array([int(row[-1]) for row in read_csv("l.csv")[1]])
    assert adjusted_rand_score(moon, labels) == 1.0
    means = [X[labels == k].mean(axis=0) for k in (0, 1)]
    found = [[float(cell) for cell in row[2:]] for row in read_csv("c.csv")[1]]
    np.testing.assert_allclose(found, means, rtol=1e-9)
    hardbayes("predict", "m", "moons.csv", "-o", "again.csv")
    assert read_csv("again.csv") == read_csv("l.csv")
    assert "5 clusters, as --k says." in hardbayes(*by_kernel, "--k", "5", *files).err
    assert load("m").n_clusters_ == 5
    assert "no --divergence" in refused(*by_kernel, "--divergence", "kl")
    assert "no sampler for --model kernel" in refused(*by_kernel, "--certainty")


def test_exactly_k(hardbayes, refused, blobs):
    columns = ["--columns", "a", "b"]
    for command, more in (("cluster", []), ("groups", ["--group-column", "group"])):
        done = hardbayes(command, "blobs.csv", *more, *columns, "--k", "6", "--json")
        assert len(json.loads(done.out)["clusters"]) == 6
    told = refused("cluster", "blobs.csv", *columns, "--k", "9999")
    assert "must be at most the number of rows, 60" in told


def test_features(hardbayes):
    rng = np.random.RandomState(0)
    X = rng.randint(2, size=(60, 3)) @ np.diag([4.0, 3.0, 2.0]) + 0.1 * rng.normal(size=(60, 3))
    np.save("t.npy", X)
    files = ["--centers", "c.csv", "--save", "m", "-o", "l.csv"]
    done = hardbayes("features", "t.npy", "--about-k", "3", *files)
    assert "Found 3 features" in done.err
    header, rows = read_csv("l.csv")
    assert header == ["row", "feature_0", "feature_1", "feature_2"]
    assert {cell for row in rows for cell in row[1:]} == {"0", "1"}
    assert read_csv("c.csv")[0][:3] == ["feature", "rows", "x0"]
    hardbayes("predict", "m", "t.npy", "-o", "again.csv")
    assert read_csv("again.csv") == read_csv("l.csv")


def test_features_of_pictures(hardbayes, tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "p").mkdir()
    rng = np.random.RandomState(0)
    parts = np.kron(np.eye(2), np.ones((1, 4))).reshape(2, 2, 4)
    for i in range(12):
        pixels = 200 * np.tensordot([i % 2, i // 2 % 2], parts, 1) + rng.randint(5, size=(2, 4))
        image.fromarray(pixels.astype(np.uint8)).save(f"p/{i:02d}.png")
    done = hardbayes("features", "p", "--about-k", "2", "--plot", "f.png")
    assert done.out.startswith("file,feature_0,feature_1\n00.png,0,0\n")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def texts(tmp_path):
    rng = np.random.RandomState(0)
    return [" ".join(rng.choice(WORDS[i % 3].split(), 12)) for i in range(60)]


def test_topics_of_a_folder_a_column_and_counts(hardbayes, texts, tmp_path):
    folder = tmp_path / "texts"
    (folder / "deeper").mkdir(parents=True)
    for i, text in enumerate(texts):
        (folder / ("deeper" if i % 2 else ".") / f"{i:02d}.txt").write_text(text)
    (folder / "picture.png").write_bytes(b"\0\1")
    (folder / "old.txt").write_bytes(b"caf\xe9 cat dog pet")
    done = hardbayes("topics", "texts", "--save", "m", "-o", "l.csv", "--centers", "c.csv")
    assert "Found 3 topics" in done.err
    assert "Left out (no text): picture.png." in done.err
    assert "Read as Latin-1 (not UTF-8): old.txt." in done.err
    hardbayes("predict", "m", "texts", "-o", "again.csv")
    assert read_csv("again.csv") == read_csv("l.csv")
    assert read_csv("c.csv")[0] == ["word", "topic_0", "topic_1", "topic_2"]

    write_csv("texts.csv", ["id", "text"], [[f"=d{i}", text] for i, text in enumerate(texts)])
    done = hardbayes("topics", "texts.csv", "--text-column", "text", "--id-column", "id")
    lines = done.out.splitlines()
    assert lines[0].startswith("document,topic,share_0") and lines[1].startswith("'=d0,")
    topics = [int(line.split(",")[1]) for line in lines[1:]]
    assert adjusted_rand_score(np.arange(60) % 3, topics) == 1

    words = sorted(set(" ".join(WORDS).split()))
    counts = np.array([[text.split().count(word) for word in words] for text in texts])
    sparse.save_npz("counts.npz", sparse.csr_array(counts))
    (tmp_path / "words.txt").write_text("\n".join(words))
    found = hardbayes("topics", "counts.npz", "--vocabulary", "words.txt", "--json").out
    top = json.loads(found)["top_words"]
    assert {frozenset(topic[:6]) for topic in top} == {frozenset(w.split()) for w in WORDS}


def test_graph_of_names_with_and_without_weights(hardbayes, tmp_path):
    links, factions = load_karate_club()
    edges = [(i, j) for i, j in zip(*links.nonzero(), strict=True) if i < j]
    (tmp_path / "e.txt").write_text(
        "# karate\n" + "".join(f"member{i}   member{j}\n" for i, j in edges)
    )
    done = hardbayes("graph", "e.txt", "--k", "2", "--save", "m", "-o", "l.csv")
    assert "34 vertices, 78 edges" in done.err
    rows = read_csv("l.csv")[1]
    truth = [factions[int(name.removeprefix("member"))] for name, _ in rows]
    assert adjusted_rand_score(truth, [int(cluster) for _, cluster in rows]) > 0.7
    clusters = dict(rows)
    (tmp_path / "new.csv").write_text("source,target\nnew,member0\nmember1,new\n")
    out = hardbayes("predict", "m", "new.csv").out
    assert out == f"vertex,cluster\nnew,{clusters['member0']}\n"
    write_csv("w.csv", ["from", "to", "weight"], [[f"m{i}", f"m{j}", 1.0] for i, j in edges])
    found = json.loads(hardbayes("graph", "w.csv", "--about-k", "2", "--json").out)
    assert found["n_clusters"] == 2 and set(found["vertices"]) == {f"m{i}" for i in range(34)}


def test_on_a_terminal_a_line_turns_and_leaves_nothing_on_stdout(hardbayes, blobs, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = hardbayes("cluster", "blobs.csv", "--columns", "a,b")
    assert done.out.startswith("row,cluster\n")
    assert "computing" in done.err


def test_reports(hardbayes, blobs, texts, tmp_path):
    options = ["--standardize", "--id-column", "name", "--weight-column", "weight"]
    done = hardbayes("cluster", "blobs.csv", *options, "-o", "l.csv", "--report", "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h1>3 clusters</h1>" in page and "blobs.csv" in page
    assert re.search(r"\bn\d+\b", page)
    assert "Report: r.html" in done.err
    given = ["--group-column", "group", "--exclude", "weight", "--global-penalty", "60"]
    hardbayes("groups", "blobs.csv", *given, "-o", "g.csv", "--report", "g.html")
    hardbayes("features", "blobs.csv", "--columns", "a,b", "--about-k", "2", "-o", "f.csv",
              "--report", "f.html")  # fmt: skip
    write_csv("texts.csv", ["text"], [[text] for text in texts])
    hardbayes("topics", "texts.csv", "--text-column", "text", "-o", "t.csv", "--report", "t.html")
    write_csv("e.csv", ["source", "target"], [[f"v{i}", f"v{(i + 1) % 9}"] for i in range(9)])
    hardbayes("graph", "e.csv", "-o", "e.out", "--report", "e.html")
    for name in "gfte":
        assert (tmp_path / f"{name}.html").read_bytes().startswith(b"<!doctype html>")


def test_certainty(hardbayes, blobs, refused):
    write_csv("t.csv", ["a", "b"], [["", 1.0], *[row[1:3] for row in read_csv("blobs.csv")[1]]])
    options = ["t.csv", "--certainty", "--missing", "drop"]
    done = hardbayes("cluster", *options, "--append", "--report", "r.html", "-o", "l.csv")
    model = DPMeans(random_state=0).fit(
        [[float(c) for c in r[1:3]] for r in read_csv("blobs.csv")[1]]
    )
    header, rows = read_csv("l.csv")
    assert header == ["a", "b", "cluster", "certainty"] and rows[0][2:] == ["", ""]
    shares = np.array([row[3] for row in rows[1:]], float)
    assert model.n_clusters_ == 3 and shares.mean() > 0.9 and (shares > 0.5).all()
    assert (shares <= 1).all()
    assert "3 clusters fitted. Posterior of their number: " in done.err
    assert "The prior decides with the data" in done.err
    assert "The prior decides with the data" in Path("r.html").read_text(encoding="utf-8")
    found = json.loads(hardbayes("cluster", *options, "--json").out)
    assert found["certainty"][1:] == shares.tolist() and found["certainty"][0] is None
    assert sum(found["n_clusters_posterior"].values()) == pytest.approx(1)
    assert "certainty" not in json.loads(hardbayes("cluster", "blobs.csv", "--json").out)
    shapes = hardbayes(
        "cluster", "blobs.csv", "--columns", "a,b", "--model", "gaussian", "--certainty"
    )
    assert shapes.out.startswith("row,cluster,certainty\n")
    cosine = refused("cluster", "blobs.csv", "--certainty", "--divergence", "cosine")
    assert "--certainty has no sampler for --divergence cosine" in cosine
    weighted = refused("cluster", "blobs.csv", "--certainty", "--weight-column", "weight")
    assert "leave it or --weight-column out" in weighted
    counts = refused(
        "cluster",
        "blobs.csv",
        "--columns",
        "weight",
        "b",
        "--certainty",
        "--divergence",
        "logistic",
    )
    assert "blobs.csv" in counts


def test_one_cluster_has_a_certainty(hardbayes):
    write_csv("one.csv", ["a", "b"], np.random.RandomState(0).normal(size=(40, 2)).tolist())
    done = hardbayes("cluster", "one.csv", "--certainty")
    assert "1 cluster fitted. Posterior of their number: 1" in done.err
