"""The benchmarks run, and their report can be read. Times are never asserted."""

import numpy as np
import pytest

from benchmarks import real, streams
from benchmarks.__main__ import SECTIONS
from benchmarks.cases import CASES, NOISE
from benchmarks.contestants import delayed_births
from benchmarks.data import plane
from benchmarks.labelled_sets import LabelledSet
from benchmarks.options import Options
from benchmarks.processes import for_each
from benchmarks.quality import IN_VAIN, Sweep
from benchmarks.recovery import centroid_index, penalty_interval
from benchmarks.report import Section, Target, to_markdown
from benchmarks.timing import Ratio, Timed, paired_ratio
from benchmarks.whole_fits import COLUMNS, run_case
from hardbayes import DPMeans, objective


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


def test_real_data_are_compared_sweep_by_sweep(monkeypatch):
    monkeypatch.setattr(real, "SETS", {"digits": real.SETS["digits"]})
    section = real.run(Options(repeats=1, quick=True))
    ((data, k, sweeps, *_),) = section.rows
    assert (data, k) == ("digits, 1,797 x 64", "40") and 1 < int(sweeps) <= real.MAX_SWEEPS
    assert abs(float(section.rows[0][7].split()[0])) < 0.1  # the objectives, in percent
    assert real.patches().shape == (160 * 106, 48)


def test_no_births_is_lloyd():
    section = Section("Whole fits", COLUMNS)
    run_case(CASES[3].tiny(), Options(repeats=1, quick=True), section)

    (row,) = (row for row in section.rows if row[1].endswith("no births"))
    ours, theirs = (cell.split(", ")[1:] for cell in row[2:4])
    assert ours == theirs, "sweeps, clusters and objective"


def test_noise_is_compared_without_births_and_marked():
    section = Section("Whole fits", COLUMNS)
    run_case(NOISE[3].tiny(), Options(repeats=1, quick=True), section)

    assert all("mostly noise" in row[0] for row in section.rows)
    assert "scikit-learn, same start, no births" in [row[1] for row in section.rows]
    assert not any("births allowed" in row[1] or "as called" in row[1] for row in section.rows)


@pytest.mark.parametrize(
    "name",
    [
        "quality",
        "exact-k",
        "recovery",
        "choosing",
        "search-cost",
        "features",
        "groups",
        "choosing-groups",
        "topics",
        "graphs",
        "communities",
    ],
)
def test_quick_sections_give_tables(name):
    section = SECTIONS[name](Options(repeats=1, quick=True))

    assert section.rows
    assert {len(row) for row in section.rows} == {len(section.columns)}


def test_streams_are_compared_in_every_order():
    X, member = plane(400, 4, gap=10.0, grid=True, seed=0)
    section = Section("Streams", streams.COLUMNS, "")
    found = streams._add_set(section, LabelledSet("plane", X, [member]), 1.0)

    assert list(found) == [row[1] for row in section.rows]
    assert [row[2] for row in section.rows] == ["4 (4)"] * 3
    # Four clusters that are told apart by any method.
    for row in section.rows:
        assert [float(cell) for cell in row[4:7]] == pytest.approx([1.0] * 3, abs=2e-3)


def test_delayed_births_end_where_no_row_is_dear():
    X, _ = plane(300, 6, gap=6.0, grid=False, seed=1)
    fit = delayed_births(X, 10.0)

    costs = ((X[:, None] - fit.centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(fit.labels, costs.argmin(axis=1))
    assert costs.min(axis=1).max() <= 10.0
    assert (
        objective(X, fit.labels, 10.0) >= DPMeans(10.0, n_init=5, random_state=0).fit(X).objective_
    )


def test_the_sweep_over_k_stops_after_so_many_in_vain():
    sweep = Sweep(
        [10.0, 5.0, *[4.0] * IN_VAIN], list(range(1, IN_VAIN + 3)), list(range(IN_VAIN + 2))
    )

    assert sweep.ends_at(2.0) == 2 + IN_VAIN
    assert sweep.seconds_until(6.0) == IN_VAIN
    assert sweep.ends_at(0.5) == 0, "the third k was not in vain"


def test_the_true_clusters_are_right_within_the_interval():
    X, member = plane(400, 4, gap=10.0, grid=True, seed=0)
    true = np.array([X[member == c].mean(axis=0) for c in range(4)])
    lowest, highest = penalty_interval(X, member, true)

    assert 0 < lowest < highest
    assert centroid_index(true, true) == 0
    assert centroid_index(true[:3], true) == centroid_index(true, true[:3]) == 1


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
        "quality",
        "exact-k",
        "recovery",
        "choosing",
        "choosing-discrete",
        "tables",
        "gaussian",
        "search-cost",
        "real",
        "whole-fits",
        "sparse",
        "sparse-sweeps",
        "text",
        "small",
        "cold",
        "threads",
        "memory",
        "divergences",
        "features",
        "choosing-features",
        "groups",
        "choosing-groups",
        "topics",
        "choosing-topics",
        "graphs",
        "communities",
        "kernels",
        "choosing-kernels",
        "mixed",
        "mixed-draws",
        "samplers",
        "streams",
        "scale",
    ]


def test_batteries_give_the_same_in_several_processes():
    names = ["wine", "iris", "digits"]
    one, two = ([*for_each(len, names, Options(jobs=jobs))] for jobs in (1, 2))
    assert one == two == [(name, len(name)) for name in names]
