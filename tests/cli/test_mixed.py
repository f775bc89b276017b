"""The command on tables with categories."""

import csv
import json

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes import MixedDPMeans
from tests.cli.conftest import read_csv, write_csv
from tests.mixed.tables import customers


@pytest.fixture
def people(tmp_path):
    frame, y = customers(400)
    frame.insert(0, "id", [f"p{i}" for i in range(400)])
    frame.to_csv("people.csv", index=False)
    return frame, y


def test_a_table_with_categories_needs_no_option(hardbayes, people):
    frame, y = people
    done = hardbayes("cluster", "people.csv", "-o", "labels.csv", "--save", "people.model",
                     "--report", "people.html", "--centers", "centres.csv")  # fmt: skip
    assert "Found 4 clusters" in done.err
    assert "Why 4: their evidence is" in done.err
    assert (
        "Taken as numbers: age, spent; counts: income, visits; ordered: stars; yes or no: "
        "newsletter; categories: country. To overrule: --as COLUMN=KIND."
    ) in done.err
    assert "Left out (names the rows): id." in done.err
    labels = np.array([int(row[-1]) for row in read_csv("labels.csv")[1]])
    model = MixedDPMeans(random_state=0).fit(frame)
    assert adjusted_rand_score(labels, model.labels_) == 1
    assert adjusted_rand_score(labels, y) > 0.7
    assert "newsletter=yes" in read_csv("centres.csv")[0]
    with open("people.html", encoding="utf-8") as file:
        assert "<h1>4 clusters</h1>" in file.read()
    hardbayes("predict", "people.model", "people.csv", "-o", "again.csv")
    assert [row[-1] for row in read_csv("again.csv")[1]] == [str(each) for each in labels]


def test_what_columns_hold_is_overruled(hardbayes, people):
    done = hardbayes("cluster", "people.csv", "--about-k", "3", "--json", "-o", "found.json",
                     "--as", "stars=category,visits=ignore")  # fmt: skip
    with open("found.json", encoding="utf-8") as file:
        found = json.load(file)
    assert found["taken_as"]["stars"] == "category"
    assert found["taken_as"]["visits"].startswith("left out")
    assert found["n_clusters"] == 3
    assert "3 clusters, as --k says." in done.err


def test_one_cluster_names_the_nearest_number(hardbayes):
    rng = np.random.default_rng(0)
    rows = [[f"{a:.3f}", f"{b:.3f}", c] for (a, b), c in
            zip(rng.normal(size=(300, 2)), rng.choice(list("xyz"), 300), strict=True)]  # fmt: skip
    write_csv("plain.csv", ["a", "b", "c"], rows)
    done = hardbayes("cluster", "plain.csv", "-o", "labels.csv")
    assert "Why 1: no number has more evidence than without clusters" in done.err
    assert "To use 2 clusters: hardbayes cluster plain.csv -o labels.csv --k 2" in done.err


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("stars", "must be COLUMN=KIND, joined by commas, such as stars=ordered; not 'stars'"),
        ("stars=nice", "Got 'nice' for column 'stars'"),
        ("star=ordered", "star"),
        ("country=number", "row 0 holds"),
    ],
)
def test_mistakes_are_named(refused, people, said, match):
    assert match in refused("cluster", "people.csv", "-o", "labels.csv", "--as", said)


def test_missing_cells_and_new_levels(hardbayes, people):
    frame, _ = people
    frame.loc[::7, "country"] = None
    frame.loc[::5, "age"] = np.nan
    frame.to_csv("holes.csv", index=False, quoting=csv.QUOTE_MINIMAL)
    hardbayes("cluster", "holes.csv", "-o", "labels.csv", "--save", "m.model", "--about-k", "3")
    assert len(read_csv("labels.csv")[1]) == 400
    frame.assign(country="NZ").to_csv("new.csv", index=False)
    hardbayes("predict", "m.model", "new.csv", "-o", "new_labels.csv")
    assert len(read_csv("new_labels.csv")[1]) == 400
