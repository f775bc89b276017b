"""local_global_penalties_for: Kulis & Jordan's rule with groups in the place of rows."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hardbayes import local_global_penalties_for, penalty_for
from tests.reference.dp_means import divergence_matrix, prepared_rows


def literal_farthest_first(X, k, divergence):
    """The largest distance to T in round k; T starts with the mean, each round adds a row."""
    T = [X.mean(axis=0)]
    for _ in range(k):
        nearest = divergence_matrix(X, np.array(T), divergence).min(axis=1)
        T.append(X[nearest.argmax()])
    return nearest.max()


def literal(X, groups, n_local, n_global, divergence="squared_euclidean"):
    """The rule, literally: the distance of a group to t is the sum of its rows' distances."""
    X = prepared_rows(X, divergence)
    groups = np.asarray(groups)
    parts = [X[groups == name] for name in dict.fromkeys(groups.tolist())]
    local = [literal_farthest_first(part, min(n_local, len(part)), divergence) for part in parts]
    T = [X.mean(axis=0)]
    for _ in range(n_global):
        distances = []
        for part in parts:
            sums = [divergence_matrix(part, t[None], divergence).sum() for t in T]
            distances.append(min(sums))
        farthest = int(np.argmax(distances))
        T.append(parts[farthest].mean(axis=0))
    return sum(local) / len(local), distances[farthest]


def grouped_rows(seed, n=90, d=3, n_groups=6):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n)
    groups[:n_groups] = np.arange(n_groups)
    return rng.gamma(1.0, size=(n, d)) + rng.gamma(1.0, size=(n_groups, d))[groups] + 0.01, groups


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize(("n_local", "n_global"), [(1, 1), (2, 3), (4, 2), (5, 6), (100, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_the_papers_rule(seed, n_local, n_global, divergence):
    X, groups = grouped_rows(seed)
    found = local_global_penalties_for(X, groups, n_local, n_global, divergence=divergence)
    expected = literal(X, groups, n_local, n_global, divergence)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert all(type(value) is float for value in found)


def test_one_group_is_the_rule_for_rows():
    X, _ = grouped_rows(0)
    local, of_all = local_global_penalties_for(X, np.zeros(len(X)), 4, 1)
    assert local == pytest.approx(penalty_for(X, 4))
    assert of_all == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())


def test_every_row_a_group_is_the_rule_for_rows():
    X, _ = grouped_rows(1)
    local, of_all = local_global_penalties_for(X, np.arange(len(X)), 3, 5)
    assert local == 0.0
    assert of_all == pytest.approx(penalty_for(X, 5))


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_sparse_rows(divergence):
    X, groups = grouped_rows(2)
    X[X < 1.5] = 0.0
    X[:, 0] += 1.0
    dense, thin = (
        local_global_penalties_for(rows, groups, 3, 4, divergence=divergence)
        for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(thin, dense, rtol=1e-9)


def test_any_labels_in_any_container():
    X, groups = grouped_rows(3)
    expected = local_global_penalties_for(X, groups, 2, 3)
    names = np.array(["f", "a", "é", "d", "", "b"])[groups]
    frame = pd.DataFrame(X, columns=list("xyz"))
    for other in (names, names.tolist(), pd.Series(names), groups * -7.5, groups.astype(object)):
        np.testing.assert_allclose(
            local_global_penalties_for(frame, other, 2, 3), expected, rtol=1e-12
        )


def test_scale_and_offset():
    X, groups = grouped_rows(4)
    plain = local_global_penalties_for(X, groups, 3, 3)
    scaled = local_global_penalties_for(X * 2.0**40, groups, 3, 3)
    np.testing.assert_allclose(scaled, np.multiply(plain, 4.0**40), rtol=1e-12)
    moved = local_global_penalties_for(X + 1e6, groups, 3, 3)
    np.testing.assert_allclose(moved, plain, rtol=1e-6)


def test_inputs_are_not_modified():
    X, groups = grouped_rows(5)
    X.flags.writeable = groups.flags.writeable = False
    before = X.copy(), groups.copy()
    local_global_penalties_for(X, groups, 3, 3)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(groups, before[1])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_local": 0}, "The 'n_local' parameter of local_global_penalties_for must be"),
        ({"n_local": 2.0}, "The 'n_local' parameter of local_global_penalties_for must be"),
        ({"n_global": 0}, "The 'n_global' parameter of local_global_penalties_for must be"),
        (
            {"n_global": 7},
            "must be an int from 1 to the number of groups, 6. Got 7 instead.",
        ),
        ({"divergence": "l2"}, "The 'divergence' parameter of local_global_penalties_for must be"),
        ({"groups": np.zeros(89)}, "The 'groups' parameter must have one label for each of the 90"),
        ({"groups": np.full(90, np.nan)}, "The 'groups' parameter holds NaN at row 0"),
        ({"groups": None}, "The 'groups' parameter"),
        ({"groups": [1, "a"] * 45 + [[]]}, "The 'groups' parameter"),
    ],
)  # fmt: skip
def test_errors_name_the_parameter(changes, sentence):
    X, groups = grouped_rows(0)
    options = {"groups": groups, "n_local": 2, "n_global": 2, **changes}
    with pytest.raises(ValueError, match=re.escape(sentence)):
        local_global_penalties_for(X, **options)


def test_bad_rows_are_named():
    X, groups = grouped_rows(0)
    X[17, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN at row 17, column 2"):
        local_global_penalties_for(X, groups, 2, 2)
    X[17, 2] = -1.0
    with pytest.raises(ValueError, match=r"Negative values .* at row 17, column 2"):
        local_global_penalties_for(X, groups, 2, 2, divergence="kl")
