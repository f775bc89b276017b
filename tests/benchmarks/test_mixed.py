"""Made mixed tables are what their names say, and peers do what theirs say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from benchmarks import mixed_real
from benchmarks.mixed import DIVIDERS, n_found_in
from benchmarks.mixed_peers import (
    Parts,
    average_linkage,
    best_by_silhouette,
    k_prototypes,
    told_k_means,
)
from benchmarks.mixed_sets import KINDS, PLANTED, ROWS, draw_of, planted


def test_kinds_are_halved_and_every_draw_is_a_table():
    for kind, (half, _) in KINDS.items():
        assert half in ("tuned", "untuned")
        drawn, again = draw_of(kind, 0), draw_of(kind, 0)
        assert {len(column) for column in drawn.values()} == {ROWS[0]}
        pd.testing.assert_frame_equal(pd.DataFrame(drawn), pd.DataFrame(again))
    halves = [half for half, _ in KINDS.values()] + [half for half, *_ in PLANTED.values()]
    assert 0.4 < np.mean([half == "tuned" for half in halves]) < 0.6


def test_one_draw_is_one_call():
    found = {name: n_found_in(name, "two dummies", 0) for name in DIVIDERS}
    assert found == dict.fromkeys(DIVIDERS, 1)


def test_planted_tables_have_their_clusters():
    for each in planted(1):
        assert len(np.unique(each.member)) == PLANTED[each.name][1]
        assert {len(column) for column in each.columns.values()} == {len(each.member)}


@pytest.fixture(scope="module")
def easy():
    """Three clusters that two numbers and two categories tell, with a hole; and their labels."""
    rng = np.random.default_rng(0)
    member = np.repeat([0, 1, 2], 30)
    frame = pd.DataFrame({
        "x": 9.0 * member + rng.normal(size=90), "y": -9.0 * member + rng.normal(size=90),
        "a": np.array(["u", "v", "w"], dtype=object)[member], "b": np.array(list("pqr"))[member],
    })  # fmt: skip
    frame.loc[3, ["x", "a"]] = [np.nan, None]
    return frame, member


def test_peers_find_what_is_easy(easy):
    frame, member = easy
    parts = Parts(frame)
    assert parts.one_hot.shape == (90, 2 + 4 + 3)  # a level of its own for what is missing
    assert np.allclose(parts.standardised.std(axis=0), 1.0)
    for labels in (
        told_k_means(parts.one_hot, 3), told_k_means(parts.factors, 3), k_prototypes(parts, 3),
        average_linkage(parts.gower, 3), best_by_silhouette(parts.one_hot),
    ):  # fmt: skip
        assert adjusted_rand_score(member, labels) > 0.9


def test_gower_s_distances_are_shares_of_ranges_and_mismatches():
    parts = Parts(pd.DataFrame({"x": [0.0, 1.0, 4.0], "c": ["a", "a", "b"]}))
    assert parts.gower == pytest.approx([0.25, 2.0, 1.75])


def test_labelled_files_of_a_folder(tmp_path, easy, monkeypatch):
    frame, member = easy
    frame.assign(label=member).to_csv(tmp_path / "some.csv", index=False)
    frame.to_csv(tmp_path / "other.csv", index=False)  # without labels
    monkeypatch.setattr(mixed_real, "RDATASETS", [])
    (known,) = mixed_real.real_tables(tmp_path)
    assert known.name == "some" and list(known.frame) == ["x", "y", "a", "b"]
    assert adjusted_rand_score(known.labels, member) == 1
