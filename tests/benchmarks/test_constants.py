"""The numbers that rules depend on are said to be what they are."""

import pytest

from benchmarks import constants
from tests.conftest import ROOT

MODULE = '''"""A module."""

import numpy as np

# Of the rows; see benchmarks.choosing.
SHARE = 0.5
_DERIVED = SHARE
OTHER: float = 2.0 * SHARE
OWN = 1e-9  # rounding of sums

SILENT = (1, 2)
FLAG = True
names = 3
AT_LEAST_ONE = Interval(1, None)
'''


@pytest.fixture(scope="module")
def listed():
    return constants.constants()


def test_numbers_are_described_by_the_comment_above_or_beside_them():
    found = {one.name: one for one in constants.read(MODULE, constants.SOURCE / "x.py")}
    above = "Of the rows; see benchmarks.choosing."
    assert {name: one.comment for name, one in found.items()} == {
        "SHARE": above,
        "OTHER": above,
        "OWN": "rounding of sums",
        "SILENT": "",
    }
    assert [one.reason for one in found.values()] == [
        "`benchmarks.choosing`",
        "`benchmarks.choosing`",
        "rounding",
        "not measured",
    ]


def test_numbers_have_a_comment(listed):
    missing = [f"{one.path}:{one.line}: {one.name}" for one in listed if not one.comment]
    assert not missing


def test_benchmarks_that_comments_name_exist(listed):
    for one in listed:
        for name in one.benchmarks:
            assert (ROOT / "benchmarks" / f"{name}.py").exists(), (one.path, name)


def test_the_page_has_a_line_for_each(listed):
    page = constants.page()
    assert page.count("\n| `") == len(listed)
    assert all(f"\n## {one.path}\n" in page and f"| `{one.name}` |" in page for one in listed)
