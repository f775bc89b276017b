"""Tables of candidates, and the arrays that files hold."""

import numpy as np
import pytest

from hardbayes import DPMeans
from hardbayes.core.plateaus import numbers_of, table_from, table_of
from hardbayes.core.schema import check

COLUMNS = {"n_clusters": np.int64, "p_value": np.float64, "chosen": np.bool_}
ROWS = [(2, 0.25, False), (3, 0.01, True)]


def test_columns_have_their_types():
    table = table_of(ROWS, COLUMNS)
    assert list(table) == list(COLUMNS)
    assert [column.dtype.type for column in table.values()] == list(COLUMNS.values())
    assert table["n_clusters"][table["chosen"]] == [3]


@pytest.mark.parametrize("rows", [ROWS, []])
def test_a_table_survives_an_array(rows):
    table = table_of(rows, COLUMNS)
    again = table_from(numbers_of(table), COLUMNS)
    for name, column in table.items():
        np.testing.assert_array_equal(again[name], column)
        assert again[name].dtype == column.dtype


@pytest.mark.parametrize("wrong", [np.ones(7), np.ones((2, 8)), np.ones((2, 7), int), "text"])
def test_malformed_arrays(wrong):
    expected = DPMeans()._choice_schema
    check({"penalty_choice_": np.ones((2, 7))}, expected)
    with pytest.raises(ValueError, match="'penalty_choice_' is malformed"):
        check({"penalty_choice_": wrong}, expected)
