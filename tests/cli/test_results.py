"""Results cannot act as formulas, and files are replaced only where that is wished."""

import argparse

import pytest

from hardbayes.cli.results import check_outputs, csv_bytes, harmless, json_bytes
from hardbayes.cli.terminal import CommandError


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@a", "\t=1", "\rx", "\n="])
def test_formulas_become_text(text):
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "-1.5", "+3", "1e5", "'=1"])
def test_numbers_and_text_stay(text):
    assert harmless(text) == text


def test_names_of_columns_cannot_act_either():
    assert csv_bytes({"=a": ["x,y", 'q"'], "b": [1, None]}, None) == (b'\'=a,b\n"x,y",1\n"q""",\n')


def test_tabs_by_the_end_of_the_name():
    assert csv_bytes({"a": [1], "b": [2]}, "t.tsv") == b"a\tb\n1\t2\n"


def test_json_is_strict():
    assert json_bytes({"a": "\u00fc"}) == b'{"a": "\\u00fc"}\n'
    with pytest.raises(CommandError, match="JSON"):
        json_bytes({"a": float("nan")})


def test_files_that_must_not_be_written(tmp_path):
    (tmp_path / "in.csv").touch()
    (tmp_path / "old.csv").touch()

    def check(overwrite=False, **given):
        options = {"table": "in.csv", "overwrite": overwrite, "output": None, "save": None, **given}
        check_outputs(argparse.Namespace(**options), "output", "save")

    with pytest.raises(CommandError, match=r"'old\.csv': it exists; add --overwrite"):
        check(output="old.csv")
    check(output="old.csv", overwrite=True)
    with pytest.raises(CommandError, match="it is what is read"):
        check(output="./in.csv", overwrite=True)
    with pytest.raises(CommandError, match="two options name it"):
        check(output="a", save="a")
    with pytest.raises(CommandError, match="results are text"):
        check(output="l.parquet")
    with pytest.raises(CommandError, match="no folder 'nowhere'"):
        check(save="nowhere/a")
