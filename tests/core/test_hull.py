"""The lower hull: vertices, plateaus and optima against exhaustive search, in fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from hardbayes.core.plateaus import Plateau, lower_hull, plateaus, widest


def random_points(seed, whole):
    """Numbers of clusters with fit terms; integers have many ties and collinear points."""
    rng = np.random.default_rng(seed)
    ks = rng.choice(30, int(rng.integers(1, 20)), replace=bool(rng.integers(2))) + 1
    if whole:
        return [(int(k), float(f)) for k, f in zip(ks, rng.integers(0, 12, len(ks)), strict=True)]
    fits = 100.0 / ks ** rng.uniform(0.3, 2.0) * rng.uniform(0.8, 1.2, len(ks))
    return [(int(k), float(f)) for k, f in zip(ks, fits, strict=True)]


def best_fits(points):
    """The least fit term of each k, exactly."""
    return {k: min(Fraction(f) for j, f in points if j == k) for k, _ in points}


def interval(best, k):
    """Penalties between which k is optimal: neither less nor more clusters cost less."""
    gains = [(best[k] - best[j]) / (j - k) for j in best if j > k]
    losses = [(best[j] - best[k]) / (k - j) for j in best if j < k]
    return max(gains, default=None), min(losses, default=None)


def is_vertex(best, k):
    low, high = interval(best, k)
    return low is None or high is None or low < high


def expected_plateaus(points, floor=None):
    best = best_fits(points)
    found = []
    for k in sorted(best):
        low, high = interval(best, k)
        if high is None:  # the fewest: best up to any penalty
            continue
        if low is None:  # the most: best down to what is known
            if floor is None and best[k] > 0:
                continue
            low = 0 if floor is None else Fraction(floor)
        low = max(low, Fraction(0))
        if low < high:
            found.append((k, float(low), float(high)))
    return found


CASES = [(seed, whole) for seed in range(30) for whole in (True, False)]


@pytest.mark.parametrize(("seed", "whole"), CASES)
def test_vertices(seed, whole):
    points = random_points(seed, whole)
    best = best_fits(points)
    hull = lower_hull(points)
    assert [k for k, _ in hull] == [k for k in sorted(best) if is_vertex(best, k)]
    assert all(Fraction(fit) == best[k] for k, fit in hull)


@pytest.mark.parametrize("floor", [None, 0.25])
@pytest.mark.parametrize(("seed", "whole"), CASES)
def test_plateaus(seed, whole, floor):
    points = random_points(seed, whole)
    expected = expected_plateaus(points, floor)
    found = plateaus(points, floor)
    assert [p.k for p in found] == [k for k, _, _ in expected]
    np.testing.assert_allclose([p.low for p in found], [low for _, low, _ in expected], rtol=1e-9)
    np.testing.assert_allclose([p.high for p in found], [high for _, _, high in expected])


@pytest.mark.parametrize(("seed", "whole"), CASES)
def test_the_optimum_at_any_penalty_lies_in_the_plateau_that_contains_it(seed, whole):
    points = random_points(seed, whole)
    best = best_fits(points)
    hull = lower_hull(points)
    found = plateaus(points)
    for penalty in np.random.default_rng(seed).lognormal(0.0, 2.0, 40):
        totals = {k: fit + Fraction(float(penalty)) * k for k, fit in best.items()}
        optimum = min(totals, key=lambda k: (totals[k], k))
        holding = [p.k for p in found if p.low < penalty < p.high]
        # Outside every plateau the optimum is the least k or the largest.
        assert holding == [optimum] if holding else optimum in (hull[0][0], hull[-1][0])


def test_plateaus_are_ordered_by_k_and_adjacent():
    found = plateaus([(k, 100.0 / k) for k in range(1, 12)])
    assert [p.k for p in found] == list(range(2, 11))
    assert all(a.low == b.high for a, b in pairwise(found))


def test_only_the_best_fit_of_a_number_counts():
    points = [(1, 10.0), (2, 9.0), (2, 3.0), (3, 1.0), (2, 5.0), (3, 8.0)]
    assert lower_hull(points) == [(1, 10.0), (2, 3.0), (3, 1.0)]


def test_collinear_points_are_no_vertices():
    assert lower_hull([(1, 9.0), (2, 8.0), (4, 6.0), (7, 3.0)]) == [(1, 9.0), (7, 3.0)]
    assert plateaus([(1, 9.0), (2, 8.0), (4, 6.0), (7, 3.0)]) == []


def test_the_lower_end_of_the_last_plateau_is_unknown():
    points = [(1, 10.0), (2, 4.0), (3, 1.0)]
    assert plateaus(points) == [Plateau(2, 3.0, 6.0)]
    assert plateaus(points, floor=0.5) == [Plateau(2, 3.0, 6.0), Plateau(3, 0.5, 3.0)]
    assert plateaus(points, floor=3.0) == [Plateau(2, 3.0, 6.0)]


def test_a_fit_of_zero_is_optimal_down_to_zero():
    found = plateaus([(1, 10.0), (2, 4.0), (3, 0.0)])
    assert found[-1] == Plateau(3, 0.0, 4.0)
    assert found[-1].width == np.inf
    assert found[-1].low < found[-1].middle < found[-1].high


def test_a_larger_k_without_a_better_fit_is_no_plateau():
    assert plateaus([(1, 5.0), (2, 5.0), (3, 6.0)]) == []
    assert plateaus([(1, 5.0), (2, 4.0), (3, 4.0), (4, 7.0)]) == [Plateau(2, 0.0, 1.0)]


def test_one_point():
    assert lower_hull([(3, 2.0)]) == [(3, 2.0)]
    assert plateaus([(3, 2.0)]) == plateaus([(3, 0.0)], floor=0.1) == []


def test_width_and_middle_are_those_of_the_logarithm():
    plateau = Plateau(4, 2.0, 32.0)
    assert plateau.width == pytest.approx(np.log(16.0))
    assert plateau.middle == pytest.approx(8.0)
    assert Plateau(4, 1e-300, 1e-290).middle == pytest.approx(1e-295)
    assert Plateau(4, 1e290, 1e300).middle == pytest.approx(1e295)


def test_the_widest_has_the_least_k_among_equals():
    narrow, wide, same = Plateau(5, 1.0, 3.0), Plateau(3, 4.0, 64.0), Plateau(7, 0.5, 8.0)
    assert widest([narrow, wide, same]) == widest([same, wide, narrow]) == wide


def test_with_a_prior_opening_costs_give_the_width():
    """The penalty begins at zero, the opening cost does not."""
    plateau = Plateau(4, 0.0, 6.0, (1.0, 8.0))
    assert plateau.width == pytest.approx(np.log(8.0))
    assert plateau.middle == pytest.approx(np.sqrt(2.0 * 8.0) - 2.0)  # the prior costs two
    assert Plateau(4, 0.0, 6.0, (6.0, 6.0)).width == 0.0


@pytest.mark.parametrize("prices", [None, (1.0, 8.0)])
def test_other_units(prices):
    plateau = Plateau(4, 2.0, 6.0, prices)
    scaled = plateau.with_prices(3.0)
    assert scaled[:3] == (4, 6.0, 18.0)
    assert scaled.width == pytest.approx(plateau.width)
    assert scaled.middle == pytest.approx(3.0 * plateau.middle)
    raised = plateau.with_prices(1.0, 10.0)
    assert raised[:3] == (4, 12.0, 16.0)
    assert raised.width == pytest.approx(np.log(16.0 / 12.0) if prices is None else np.log(18 / 11))
