"""The penalty for a number of clusters, and sentences about it."""

import numpy as np
import pytest

from hardbayes.core.exact_number import add_told, told_penalty, told_sentence, unjudged
from hardbayes.core.loop import Status
from hardbayes.core.plateaus import plateaus

POINTS = [(1, 100.0), (2, 40.0), (3, 30.0), (4, 12.0), (5, 9.0), (6, 8.0)]


def test_on_the_hull_it_is_the_middle_of_the_plateau():
    for plateau in plateaus(POINTS):
        told = told_penalty(POINTS, plateau.k)
        assert (told.low, told.high) == (plateau.low, plateau.high) and told.is_best
        assert told.penalty == plateau.middle


def test_off_the_hull_least_is_lost():
    """At the slope of the edge above which it lies: elsewhere the best is lower by more."""
    told = told_penalty(POINTS, 3)
    costs = dict(POINTS)

    def lost(penalty):
        return costs[3] + 3 * penalty - min(cost + k * penalty for k, cost in POINTS)

    assert not told.is_best and told.penalty == 14.0
    assert lost(told.penalty) < min(lost(told.penalty * 0.99), lost(told.penalty * 1.01))


def test_the_ends():
    assert told_penalty(POINTS, 1) == (120.0, 60.0, np.inf)
    assert told_penalty(POINTS, 6) == (0.5, 0.0, 1.0)
    assert told_penalty([(1, 5.0)], 1, unit=4.0).penalty == 4.0
    assert told_penalty(POINTS, 9).penalty == 0.0  # nothing is known of so many


def test_more_clusters_of_a_worse_fit_have_no_penalty():
    assert told_penalty([(1, 5.0), (2, 1.0), (3, 2.0)], 3) == (0.0, 0.0, 0.0)


def test_sentences():
    head = "Converged after 2 steps with the 3 clusters asked for"
    assert told_sentence(2, 3, told_penalty(POINTS, 4)).endswith("from 3 to 14.")
    assert told_sentence(2, 3, unjudged(1.0)) == f"{head}."
    assert told_sentence(2, 3, told_penalty(POINTS, 3)) == (
        f"{head}: best at no penalty, and nearest to it at 14."
    )
    assert told_sentence(2, 3, told_penalty(POINTS, 1)) == f"{head}: best for penalties above 60."


@pytest.mark.parametrize(
    ("found", "status", "after", "sentence"),
    [
        (3, Status.CAPPED, Status.CONVERGED, "with the 3 clusters asked for."),
        (3, Status.OUT_OF_STEPS, Status.OUT_OF_STEPS, "as it was"),
        (
            2,
            Status.CONVERGED,
            Status.REMARKED,
            "Converged after 1 step. Found 2 clusters, not 3: x.",
        ),
        (2, Status.OUT_OF_STEPS, Status.OUT_OF_STEPS, "Found 2 clusters, not 3: x."),
    ],
)
def test_the_status_of_a_fit(found, status, after, sentence):
    fitted = {"n_clusters_": found, "n_iter_": 1, "status_": "as it was"}
    assert add_told(fitted, status, 3, unjudged(1.0), "x") is after
    assert fitted["status_"].endswith(sentence)
