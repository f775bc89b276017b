"""The lower hull of fit terms, and the plateaus of penalties that follow from it."""

import numpy as np
import pytest

from hardbayes.selection.hull import Plateau, lower_hull, plateaus, widest

TABLETOP = [808.6, 615.9, 423.2, 295.3, 205.8, 161.2, 156.1, 150.9, 143.5]


def test_hull_lies_below_all_points_and_touches_its_vertices():
    rng = np.random.default_rng(0)
    fits = np.sort(rng.random(12))[::-1]
    hull = lower_hull(list(enumerate(fits)))
    k, fit = zip(*hull, strict=True)
    assert (np.interp(np.arange(12), k, fit) <= fits + 1e-12).all()
    slopes = np.diff(fit) / np.diff(k)
    assert (np.diff(slopes) > 0).all()


def test_each_plateau_is_where_its_number_is_optimal():
    points = list(enumerate(TABLETOP))
    found = [plateau for plateau in plateaus(points) if plateau.width > 1e-6]
    assert len(found) >= 4
    for plateau in found:
        for penalty in (plateau.low * 1.001, plateau.middle, plateau.high * 0.999):
            totals = [fit + penalty * k for k, fit in points]
            assert int(np.argmin(totals)) == plateau.k


def test_widest_plateau_of_the_published_objectives():
    best = widest(plateaus(list(enumerate(TABLETOP))))
    assert best.k == 5
    assert best.low < 20 < best.high
    assert best.middle == pytest.approx(np.sqrt(best.low * best.high))


def test_first_and_last_have_no_plateau_of_their_own():
    assert [each.k for each in plateaus([(0, 9.0), (1, 4.0), (2, 1.0)])] == [1]
    assert plateaus([(0, 9.0), (1, 4.0)]) == []
    assert plateaus([(0, 9.0)]) == []


def test_an_exact_fit_is_optimal_down_to_no_penalty_at_all():
    found = plateaus([(0, 9.0), (1, 4.0), (2, 0.0)])
    assert found[-1] == Plateau(2, 0.0, 4.0)
    assert found[-1].width == np.inf
    assert found[-1].middle == 2.0
    assert widest(found).k == 2


def test_points_above_the_hull_are_skipped():
    points = [(0, 10.0), (1, 9.0), (2, 2.0), (3, 1.9)]
    assert [each.k for each in plateaus(points)] == [2]
