"""Fitted models of every kind, with reports written once."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hardbayes import (
    BPMeans,
    DPMeans,
    GaussianDPMeans,
    GraphDPMeans,
    HDPMeans,
    HDPTopics,
    KFeatures,
    MixedDPMeans,
    report,
)
from hardbayes.datasets import load_karate_club, make_bars
from tests.conftest import make_blobs
from tests.mixed.tables import customers
from tests.test_layers import clusters_within_clusters

HOSTILE = '</script><script>window.hit = 1</script><img src=x onerror="window.hit = 2">'
_VOID = {"meta", "br", "hr", "input", "link"}


class Outline(HTMLParser):
    """What an HTML file consists of; raises where elements are not closed in order."""

    def __init__(self, path):
        super().__init__()
        self.elements = []  # (name, attributes)
        self.texts = {}  # by the name of the element, all of them together
        self._open = []
        self.feed(Path(path).read_text(encoding="utf-8"))
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        name = self._open[-1] if self._open else ""
        self.texts[name] = self.texts.get(name, "") + data

    def all(self, name):
        return [attributes for found, attributes in self.elements if found == name]


@pytest.fixture(scope="session")
def table():
    """Sixty flowers, so to speak, with names and a hostile column."""
    rows, _ = make_blobs(60, 3, 3, spread=0.1)
    index = [f"flower {number}" for number in range(60)]
    return pd.DataFrame(rows, columns=["length", "width & height", HOSTILE], index=index)


@pytest.fixture(scope="session")
def clusters(table):
    """The file of a report on clusters, their model and its rows."""
    return DPMeans(random_state=0).fit(table)


def _features():
    rng = np.random.RandomState(0)
    members = rng.rand(40, 3) < 0.5
    rows = members @ (5 * np.eye(3, 12)) + 0.1 * rng.randn(40, 12)
    return BPMeans(5.0, n_init=2, random_state=0).fit(rows), rows, {"image_shape": (3, 4)}


def _groups(table):
    groups = np.repeat(["<a>", "b", "c"], 20)
    return HDPMeans(random_state=0).fit(table, groups=groups), table, {"groups": groups}


def _graph():
    links, _ = load_karate_club()
    return GraphDPMeans(random_state=0).fit(links), links, {}


def _mixed():
    frame, _ = customers(200, missing=0.05)
    frame = frame.rename(columns={"visits": HOSTILE}).replace({"country": {"FR": HOSTILE}})
    return MixedDPMeans(n_clusters=4, random_state=0).fit(frame), frame, {"title": "Customers"}


def _levels():
    rows, _, _ = clusters_within_clusters(20)
    return DPMeans(random_state=0).fit(rows), rows, {"certainty": False}


def _topics():
    counts, _, _ = make_bars(40, random_state=0)
    words = [f"word{number}" for number in range(counts.shape[1] - 1)] + [HOSTILE]
    return HDPTopics(random_state=0).fit(counts), counts, {"feature_names": words}


@pytest.fixture(scope="session")
def reports(table, clusters, tmp_path_factory):
    """Reports of all kinds of models: name of the kind -> path of the file."""
    folder = tmp_path_factory.mktemp("reports")
    rows = table.to_numpy()
    made = {
        "clusters": (clusters, table, {"title": HOSTILE}),
        "sparse": (DPMeans(0.3, random_state=0).fit(sparse.csr_array(rows)), rows, {}),
        "gaussian": (GaussianDPMeans(0.5, random_state=0).fit(table), table, {}),
        "groups": _groups(table),
        "features": _features(),
        "k-features": (KFeatures(2, n_init=2, random_state=0).fit(rows), rows, {}),
        "graph": _graph(),
        "topics": _topics(),
        "mixed": _mixed(),
        "levels": _levels(),
    }
    paths = {}
    for name, (model, X, options) in made.items():
        paths[name] = folder / f"{name}.html"
        report(model, X, paths[name], **options)
    return paths
