"""Small tables, and the command as people call it."""

import csv

import numpy as np
import pytest

from hardbayes.cli import main


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def hardbayes(capsys):
    """Run the command; return its standard output and standard error."""

    def call(*arguments):
        assert main([str(argument) for argument in arguments]) == 0, capsys.readouterr().err
        return capsys.readouterr()

    return call


@pytest.fixture
def refused(capsys, tmp_path):
    """Run the command on bad input; return its one line."""

    def call(*arguments):
        before = sorted(tmp_path.rglob("*"))
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # of the parser of arguments
            code = stop.code
        captured = capsys.readouterr()
        assert code == 2
        assert captured.out == ""
        assert captured.err.startswith("hardbayes") and captured.err.count("\n") == 1, captured.err
        assert sorted(tmp_path.rglob("*")) == before
        return captured.err

    return call


def write_csv(name, header, rows):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def read_csv(name):
    with open(name, newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


@pytest.fixture
def blobs(tmp_path):
    """Three clusters of 20 rows in blobs.csv, with names, groups and weights; returns labels."""
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 20)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[y] + rng.normal(size=(60, 2))
    rows = [
        [f"n{i}", f"{a:.3f}", f"{b:.3f}", "uvw"[i % 3], 1 + i % 2] for i, (a, b) in enumerate(X)
    ]
    write_csv("blobs.csv", ["name", "a", "b", "group", "weight"], rows)
    return y
