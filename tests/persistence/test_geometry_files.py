"""Geometry objects: those of this library are saved and loaded, others are refused."""

import os
import struct

import numpy as np
import pytest

from hardbayes import DPMeans, load, objective, save
from hardbayes.core.geometry import (
    GEOMETRIES,
    Cosine,
    ExponentialFamily,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Mahalanobis,
    Poisson,
    SquaredEuclidean,
)
from hardbayes.persistence.values import ARGUMENTS
from tests import own_geometries
from tests.persistence.test_dp_means_files import assert_same_answers, round_trip
from tests.persistence.tiny import array_row, forge, header

MATRIX = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 3.0]])
OBJECTS = [
    Cosine(),
    ItakuraSaito(),
    ItakuraSaito(shape=2),
    ItakuraSaito(shape=np.float32(0.1)),
    KullbackLeibler(length_as_weight=True),
    KullbackLeibler(length_as_weight=1),
    Logistic(),
    Mahalanobis(MATRIX),
    Mahalanobis(MATRIX.astype(np.float32)),
    Mahalanobis([[1, 0, 0], [0, 2, 0], [0, 0, 3]]),
    Poisson(),
    SquaredEuclidean(),
]


@pytest.fixture
def shares():
    return np.random.default_rng(0).uniform(0.05, 0.95, (80, 3))


@pytest.mark.parametrize("geometry", OBJECTS, ids=lambda each: type(each).__name__)
def test_an_object_comes_back_and_answers_alike(geometry, shares, tmp_path):
    model = DPMeans(0.5, divergence=geometry, random_state=0).fit(shares)
    back = round_trip(model, tmp_path)
    assert type(back.divergence) is type(geometry)
    assert_same_answers(model, back, shares)
    back.fit(shares)
    assert back.objective_ == model.objective_
    values = [objective(shares, model.labels_, 0.5, divergence=m.divergence) for m in (model, back)]
    assert values[0] == values[1]


@pytest.mark.filterwarnings("ignore:This DPMeans is not fitted")
def test_an_object_of_an_unfitted_model(tmp_path):
    back = round_trip(DPMeans(divergence=Mahalanobis(MATRIX)), tmp_path)
    np.testing.assert_array_equal(back.divergence.matrix, MATRIX)
    assert back.cluster_penalty == "auto"


def test_every_named_divergence_can_be_saved_as_an_object():
    assert set(GEOMETRIES.values()) <= set(ARGUMENTS)


class Mine(SquaredEuclidean):
    """A subclass, which would be loaded as its parent."""


@pytest.mark.parametrize(
    "geometry",
    [
        Mine(),
        own_geometries.ItakuraSaito(),  # the name alone is not enough
        ExponentialFamily(np.exp, np.log),
    ],
    ids=["a subclass", "the same name", "a family"],
)
def test_code_is_refused(geometry, tmp_path):
    name = type(geometry).__name__
    with pytest.raises(ValueError, match=f"'divergence' is an object of class {name}.* no code"):
        save(DPMeans(4.0, divergence=geometry), tmp_path / "m")
    assert os.listdir(tmp_path) == []


def refused(path, divergence, arrays=(), payload=b"", **changes):
    head = header(**{"class": "DPMeans"}, divergence=divergence, arrays=list(arrays), **changes)
    path.write_bytes(forge(head, payload))
    with pytest.raises(ValueError, match=r"^Cannot load .*\.$") as caught:
        load(path)
    return str(caught.value)


@pytest.mark.parametrize(
    "divergence",
    [
        None,
        [],
        "ItakuraSaito",
        {},
        {"class": None},
        {"class": ["Cosine"]},
        {"class": "os.system"},
        {"class": "ExponentialFamily"},
        {"class": "Geometry"},
        {"class": "x" * 1000},
        {"class": "Cosine", "shape": 1.0},
        {"class": "ItakuraSaito"},
        {"class": "ItakuraSaito", "shape": -1.0},
        {"class": "ItakuraSaito", "shape": {"float": "nan"}},
        {"class": "ItakuraSaito", "shape": "1.0"},
        {"class": "ItakuraSaito", "shape": True},
        {"class": "ItakuraSaito", "shape": 1.0, "degree": 2},
        {"class": "KullbackLeibler", "length_as_weight": "no"},
        {"class": "KullbackLeibler", "length_as_weight": 1},
        {"class": "Mahalanobis"},
        {"class": "Mahalanobis", "matrix": 1.0},
        {"class": "Mahalanobis", "matrix": {"array": "divergence.matrix"}},
    ],
)
def test_a_file_with_a_divergence_that_cannot_be(divergence, tmp_path):
    message = refused(tmp_path / "m", divergence)
    assert "\n" not in message and len(message) < 500


@pytest.mark.parametrize(
    ("numbers", "shape"),
    [([1.0], (1,)), ([1.0, 2.0, 0.0, 1.0], (2, 2)), ([1.0, 2.0, 2.0, 1.0], (2, 2)), ([], (0, 0))],
)
def test_a_file_with_a_matrix_that_cannot_be(numbers, shape, tmp_path):
    refused(
        tmp_path / "m",
        {"class": "Mahalanobis", "matrix": {"array": "divergence.matrix"}},
        [array_row("divergence.matrix", shape=shape)],
        struct.pack(f"<{len(numbers)}d", *numbers),
    )


def test_two_divergences_and_estimators_without_one(tmp_path):
    cosine = {"class": "Cosine"}
    assert "two" in refused(tmp_path / "m", cosine, params={"divergence": "kl"})
    (tmp_path / "b").write_bytes(forge(header(**{"class": "BPMeans"}, divergence=cosine)))
    with pytest.raises(ValueError, match="BPMeans has no parameter 'divergence'"):
        load(tmp_path / "b")


def test_a_matrix_of_other_columns_than_the_centres(shares, tmp_path, monkeypatch):
    state = DPMeans(0.5, random_state=0).fit(shares[:, :2])._get_state()
    monkeypatch.setattr(DPMeans, "_get_state", lambda self: state)
    save(DPMeans(0.5, divergence=Mahalanobis(MATRIX)), tmp_path / "m")
    with pytest.raises(ValueError, match="do not describe a DPMeans"):
        load(tmp_path / "m")


@pytest.mark.filterwarnings("ignore:This DPMeans is not fitted")
def test_every_damaged_byte_of_the_divergence_is_noticed(tmp_path):
    save(DPMeans(divergence=Mahalanobis(MATRIX)), tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    for at in range(0, len(whole), 7):
        (tmp_path / "m").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match="Cannot load"):
            load(tmp_path / "m")


@pytest.mark.parametrize("other", ["kl", Mahalanobis(MATRIX)], ids=["kl", "another matrix"])
def test_a_divergence_set_after_the_fit_is_refused(other, tmp_path):
    X = np.random.RandomState(0).uniform(1.0, 9.0, (50, 3))
    model = DPMeans(20.0, divergence=Mahalanobis(np.eye(3)), random_state=0).fit(X)
    save(model, tmp_path / "before")
    model.set_params(divergence=other)
    with pytest.raises(ValueError, match="not the one it was fitted with"):
        save(model, tmp_path / "after")
    assert not (tmp_path / "after").exists()
