"""The benchmarks run, and their report can be read. Times are never asserted."""

from benchmarks.__main__ import SECTIONS
from benchmarks.cases import CASES
from benchmarks.options import Options
from benchmarks.report import Section, Target, to_markdown
from benchmarks.timing import Ratio, Timed, paired_ratio
from benchmarks.whole_fits import COLUMNS, run_case


def test_tiny_case_gives_a_table():
    section = Section("Whole fits", COLUMNS, "Notes.")
    run_case(CASES[3].tiny(), Options(repeats=1, quick=True), section)

    lines = to_markdown("# Title", [section]).splitlines()

    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(section.rows)
    assert {line.count("|") for line in table} == {len(COLUMNS) + 1}
    compared = [row[1] for row in section.rows]
    assert "scikit-learn, same start, births allowed" in compared
    assert "scikit-learn, as called" in compared


def test_no_births_is_lloyd():
    section = Section("Whole fits", COLUMNS)
    run_case(CASES[3].tiny(), Options(repeats=1, quick=True), section)

    (row,) = (row for row in section.rows if row[1].endswith("no births"))
    ours, theirs = (cell.split(", ")[1:] for cell in row[2:4])
    assert ours == theirs, "sweeps, clusters and objective"


def test_ratios_are_paired():
    above = [Timed(seconds, 2) for seconds in (1.0, 10.0, 3.0)]
    below = [Timed(seconds, 1) for seconds in (1.0, 5.0, 1.0)]

    assert paired_ratio(above, below) == Ratio(2.0, 1.0, 3.0)
    assert paired_ratio(above, below, work=float) == Ratio(1.0, 0.5, 1.5)


def test_verdicts():
    faster = Target(reach=2, moonshot=4)
    assert [faster.cells(value)[2] for value in (1.9, 2, 4)] == ["below", "reached", "moonshot"]
    smaller = Target(reach=8, lower_is_better=True, unit=" s")
    assert smaller.cells(7.5) == ["8 s", "-", "reached"]
    assert Target().cells(1.0) == ["-", "-", "-"]


def test_every_section_has_a_name():
    assert list(SECTIONS) == [
        "whole-fits",
        "sparse",
        "small",
        "cold",
        "threads",
        "memory",
        "divergences",
        "features",
    ]
