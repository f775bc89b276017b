"""Numbers as people write them, in columns of text, typed columns and sheets."""

import datetime as dt
import io
import sys

import numpy as np
import polars as pl
import pytest

from hardbayes.cli import main
from hardbayes.cli.notations import notation_of
from hardbayes.cli.readers import open_table
from hardbayes.cli.terminal import CommandError

DAY = dt.date(2020, 3, 12).toordinal() - dt.date(1970, 1, 1).toordinal()


def read(cells):
    """Return the name of the notation of cells, and the numbers that it reads."""
    column = pl.Series(cells)
    notation = notation_of(pl, column)
    return (None, None) if notation is None else (notation.name, notation.read(column).to_list())


@pytest.mark.parametrize(
    ("cells", "name", "numbers"),
    [
        (["$1,200", "$ 3.50", "-$4", "($5)"], "amounts", [1200, 3.5, -4, -5]),
        (["45%", "12.5 %", "-3%"], "amounts", [45, 12.5, -3]),
        (["EUR 5", "7 USD", "1,234,567 €"], "amounts", [5, 7, 1_234_567]),
        (["1 200", "3 400 000"], "amounts", [1200, 3_400_000]),
        (["1.200,50 €", "12,50 €"], "amounts with decimal commas", [1200.5, 12.5]),
        (["2020-03-12", "1970-01-02"], "dates, in days", [DAY, 1]),
        (["12.03.2020", "12.03.2020 12:00"], "dates, in days", [DAY, DAY + 0.5]),
        (["2020-03-12T06:00:00Z"], "dates, in days", [DAY + 0.25]),
        (["12 Mar 2020", "12 March 2020"], "dates, in days", [DAY, DAY]),
        (["13/01/1970", "02/01/1970"], "dates (day/month/year), in days", [12, 1]),
        (["01/13/1970", "01/02/1970"], "dates (month/day/year), in days", [12, 1]),
        (["10:30", "23:45"], "times, in hours", [10.5, 23.75]),
    ],
)
def test_notations(cells, name, numbers):
    assert read(cells) == (name, numbers)


@pytest.mark.parametrize(
    "cells",
    [
        ["north", "south"],
        ["A12", "B7"],
        ["SEC 3", "REM 12"],  # no currencies
        ["192.168.1.1"],
        ["01/02/2020", "03/04/2020"],  # which is the day?
        ["$5", "five", "six", "seven"],
    ],
)
def test_other_text_stays_text(cells):
    assert read(cells) == (None, None)


ROWS = [(f"{1 + i % 28:02}.0{1 + i % 9}.2020", f"${i},000", f"{i / 2}%") for i in range(1, 21)]


@pytest.fixture(params=["csv", "parquet", "xlsx", "-"])
def table(request, tmp_path, monkeypatch):
    """A table of dates, money and shares: as text, with types, as a sheet, on standard input."""
    lines = ["day,price,share", *(f'{day},"{price}",{share}' for day, price, share in ROWS)]
    text = "\n".join(lines) + "\n"
    path = tmp_path / f"table.{request.param}"
    frame = pl.read_csv(io.StringIO(text))
    typed = frame.with_columns(pl.col("day").str.strptime(pl.Date, "%d.%m.%Y"))
    if request.param == "csv":
        path.write_text(text, encoding="utf-8")
    elif request.param == "parquet":
        typed.write_parquet(path)
    elif request.param == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (typed.columns, *typed.rows()):
            book.active.append(list(row))
        book.save(path)
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return open_table("-")
    return open_table(str(path))


def test_every_kind_of_file_gives_the_same_numbers(table):
    assert set(table.kinds.values()) == {"number"}
    numbers = table.read(["day", "price", "share"], []).numbers
    days = [
        (dt.datetime.strptime(day, "%d.%m.%Y").date() - dt.date(1970, 1, 1)).days
        for day, _, _ in ROWS
    ]
    np.testing.assert_array_equal(numbers[:, 0], days)
    np.testing.assert_array_equal(numbers[:, 1], 1000.0 * np.arange(1, 21))
    np.testing.assert_array_equal(numbers[:, 2], np.arange(1, 21) / 2)
    assert "Read as dates, in days: day." in table.notes
    assert any("Read as amounts: price, share." in note for note in table.notes)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_cell_that_the_notation_cannot_read_is_named(ending, tmp_path):
    prices = [f"${i}" for i in range(1, 21)]
    prices[7] = "free"
    path = tmp_path / f"table.{ending}"
    frame = pl.DataFrame({"price": prices})
    (frame.write_csv if ending == "csv" else frame.write_parquet)(path)
    with pytest.raises(CommandError, match=r"row 8.*'price'.*'free'.*--exclude"):
        open_table(str(path)).read(["price"], [])


def test_a_damaged_sheet_is_one_sentence(tmp_path, capsys):
    path = tmp_path / "table.xlsx"
    path.write_bytes(b"PK\3\4 no sheet")
    assert main(["cluster", str(path)]) == 2
    error = capsys.readouterr().err
    assert "damaged" in error
    assert error.count("\n") == 1
