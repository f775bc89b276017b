"""Groups of rows: any labels that can be told apart."""

import numpy as np
import pytest

from hardbayes.groups.reading import check_groups, group_numbers


def test_no_groups_are_one_group():
    numbers, labels = check_groups(None, 3)
    assert numbers.tolist() == [0, 0, 0] and labels.tolist() == [0]
    assert group_numbers(None, 2, labels).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([3, 1, 3], [1, 3]),
        (["b", "a", "b"], ["a", "b"]),
        ([(2, 0), (1, 0), (2, 0)], [(1, 0), (2, 0)]),
        ([True, False, True], [False, True]),
        (np.array([2.5, 1.0, 2.5]), [1.0, 2.5]),
        (np.array(["b", "a", "b"], object), ["a", "b"]),
        (np.array(["2020-01-02", "2020-01-01", "2020-01-02"], "M8[D]"), None),
    ],
)
def test_labels_are_sorted(groups, expected):
    numbers, labels = check_groups(groups, 3)
    assert numbers.tolist() == [1, 0, 1]
    if expected is not None:
        assert labels.tolist() == expected
    assert group_numbers(groups, 3, labels).tolist() == [1, 0, 1]


def test_labels_without_an_order_are_in_order_of_appearance():
    numbers, labels = check_groups(["x", 1, "x", ("y",)], 4)
    assert numbers.tolist() == [0, 1, 0, 2] and list(labels) == ["x", 1, ("y",)]


def test_unknown_groups_have_no_number():
    labels = check_groups(["a", "b"], 2)[1]
    assert group_numbers(["b", "c", "a"], 3, labels).tolist() == [1, -1, 0]
    assert group_numbers(None, 2, labels).tolist() == [-1, -1]


@pytest.mark.parametrize("missing", [None, float("nan"), np.datetime64("NaT", "s")])
def test_missing_labels_are_named_by_row(missing):
    groups = np.array(["2020-01-01", missing], "M8[D]") if isinstance(missing, np.datetime64) else [
        "a", missing]  # fmt: skip
    with pytest.raises(ValueError, match="NaN or None at row 1"):
        check_groups(groups, 2)


def test_missing_labels_of_pandas():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="NaN or None at row 1"):
        check_groups(pd.Series(["a", None]), 2)
    with pytest.raises(ValueError, match="NaN or None at row 1"):
        check_groups(pd.array([1, None], dtype="Int64"), 2)
