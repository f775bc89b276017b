"""What reports gather: solutions along a path, numbers of clusters that stay, rows, levels."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hardbayes import DPMeans, penalty_path
from hardbayes.core.loop import counted
from hardbayes.reports.data import rows_of
from hardbayes.reports.features import levels
from hardbayes.reports.path import ALPHABET, encoded
from hardbayes.reports.pieces import Scale, cells, percent, short
from hardbayes.reports.plane import spaced
from hardbayes.reports.solutions import aligned, reasons_for, solutions_of
from tests.conftest import make_blobs, quiet_fit

X = make_blobs(90, 2, 3, spread=0.1)[0]
PATH = penalty_path(X, estimator=DPMeans(random_state=0), n_penalties=30)


def of(model):
    return solutions_of(
        PATH, model, "n_clusters_", "cluster_penalty_", lambda other: other.predict(X)
    )


def test_the_fitted_model_stands_in_its_range():
    found = of(DPMeans(random_state=0).fit(X))
    step = found.steps[found.fitted]
    plateau = next(p for p in PATH.plateaus if p.k == 3)
    assert (step.k, step.low, step.high) == (3, plateau.low, plateau.high)
    assert step.at == pytest.approx(plateau.middle)
    assert [s.k for s in found.steps] == sorted((s.k for s in found.steps), reverse=True)
    assert all(lower.high <= higher.low * (1 + 1e-9) for lower, higher in pairwise(found.steps))


@pytest.mark.parametrize(("penalty", "words"), [(1e9, "on."), (0.0, "another number")])
def test_a_model_beyond_the_ends_of_the_path(penalty, words):
    model = quiet_fit(DPMeans(penalty, max_clusters=3, random_state=0), X)
    found = of(model)
    assert found.steps[found.fitted].k == model.n_clusters_
    assert found.steps[found.fitted].at == penalty
    assert any(words in sentence for sentence in reasons_for(model, "cluster", found))


def test_clusters_keep_their_numbers_along_the_path():
    found = of(DPMeans(random_state=0).fit(X))
    steps = found.steps
    for first, second in pairwise(steps):
        if first.k == second.k + 1:  # one was divided: all other rows stay where they were
            kept = np.mean(first.labels == second.labels)
            assert kept > 0.5


def test_alignment():
    beside = np.array([0, 0, 0, 1, 1, 2, 2])
    assert_array_equal(aligned(np.array([5, 5, 5, 3, 3, 0, 0]), beside), beside)
    assert_array_equal(aligned(np.array([1, 1, 1, 0, 2, 3, 3]), beside), [0, 0, 0, 1, 3, 2, 2])
    assert_array_equal(aligned(np.zeros(7, int), beside), np.zeros(7, int))


def test_typical_and_doubtful_rows():
    rows = np.array([[0.0], [0.1], [4.9], [10.0], [10.1], [9.0]])
    model = DPMeans(30.0, order="given").fit(rows)
    found = rows_of(model, rows, model.labels_, [0, 1])
    assert model.n_clusters_ == 2
    assert [each.row for each in found.doubtful] == [2] and 1 < found.doubtful[0].ratio < 1.5
    for cluster, typical in found.typical.items():
        distances = model.transform(rows)[model.labels_ == cluster, cluster]
        assert model.transform(rows)[typical[0], cluster] == distances.min()


def test_labels_as_text():
    labels = np.array([0, 1, 63, 64, 200])
    text = encoded(labels, 2)
    back = [64 * ALPHABET.index(text[at]) + ALPHABET.index(text[at + 1]) for at in range(0, 10, 2)]
    assert_array_equal(back, labels)
    assert encoded(labels[:3], 1) == "01_"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (3.0, "3"), (1234.5, "1,234"), (0.012345, "0.01235"), (2.5, "2.5"),
     (-19.99999, "-20"), (1e12, "1e+12"), (1.5e-7, "1.5e-07"), (float("nan"), "nan")],
)  # fmt: skip
def test_numbers(number, text):
    assert short(number) == text


def test_shares_and_plurals():
    assert [percent(share) for share in (0, 0.0001, 0.021, 0.5)] == [
        "0 %", "< 0.1 %", "2.1 %", "50 %",
    ]  # fmt: skip
    assert counted(1, "row") == "1 row" and counted(2000, "row") == "2,000 rows"


def test_scales_have_round_ticks():
    assert Scale(0.3, 9.6, 0, 100).ticks(5) == [2, 4, 6, 8]
    assert Scale(0.5, 2e4, 0, 100, True).ticks(6) == [1, 10, 100, 1000, 10000]
    assert Scale(0.2, 0.9, 0, 100, True).ticks(6) == pytest.approx([0.2, 0.3, 0.5, 0.7])
    assert Scale(1, 100, 0, 100, True).at(10) == pytest.approx(50)
    assert Scale(3, 3, 0, 100).at(3) == 50 and Scale(0, 1, 0, 100).at(7) == 100


def test_pictures_are_strokes_of_one_level():
    image = levels(np.array([0.0, 1.0, 1.0, -1.0, 0.1, 0.0]), (2, 3))
    assert_array_equal(image, [[0, 5, 5], [-5, 0, 0]])
    assert [str(each) for each in cells(image)] == [
        '<path class="cell n5" d="M0 1.5h1"></path>', '<path class="cell p5" d="M1 0.5h2"></path>',
    ]  # fmt: skip
    assert levels(np.ones(400 * 400), (400, 400)).size <= 96 * 96
    assert not levels(np.zeros(4), (2, 2)).any()


def test_spaced_rows():
    assert_array_equal(spaced(3, 10), [0, 1, 2])
    assert len(spaced(25_000, 10_000)) == 10_000 and spaced(25_000, 10_000)[-1] == 24_999
