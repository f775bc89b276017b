"""Verdicts follow from claims; numbers read as the papers print them."""

import pytest

from hardbayes.experiments import Asked, Claim, Result
from hardbayes.experiments.results import clock, number, span


def result_of(*claims, rows=(("a", "1"),)):
    return Result(
        head=("what", "paper"), rows=list(rows), claims=list(claims), data="drawn", seed=0,
        notes="read it so", draw=lambda figure: None, caption="nothing",
    )  # fmt: skip


def test_verdicts():
    good, bad = Claim("it is so", True), Claim("it is fast", False, "it took a day")
    assert result_of(good).verdict == "Reproduces: it is so."
    assert result_of(bad).verdict == "Does not reproduce: it is fast (it took a day)."
    whole = "Reproduces in 1 of 2 statements, but not: it is fast (it took a day)."
    assert result_of(good, bad).verdict == whole


def test_a_row_has_a_cell_for_each_column():
    with pytest.raises(ValueError, match="2 cells"):
        result_of(rows=[("a",)])


def test_numbers():
    assert [number(0.894), number(-0.05), number(12.3, 1), number(10.0)] == [
        ".89", "-.05", "12.3", "10.00",
    ]  # fmt: skip
    assert span([3, 4, 3]) == "3-4" and span([2, 2]) == "2"
    assert [clock(s) for s in (2e-5, 3.2e-3, 0.25, 2.5, 75.0)] == [
        "20 us", "3.2 ms", "250 ms", "2.5 s", "75 s",
    ]  # fmt: skip


def test_missing_data_say_what_and_where_from(tmp_path):
    (tmp_path / "there.csv").touch()
    asked = Asked(data=tmp_path)
    assert asked.file("there.csv", "the shelf") == tmp_path / "there.csv" and not asked.missing
    assert asked.file("gone.csv", "the shelf") is None
    assert asked.missing == [f"{tmp_path} has no gone.csv: the shelf"]
    nowhere = Asked()
    assert nowhere.file("there.csv", "the shelf") is None
    assert nowhere.missing == ["pass --data DIR, a folder with there.csv: the shelf"]
