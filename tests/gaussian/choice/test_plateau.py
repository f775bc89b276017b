"""Plateaus of penalties."""

import numpy as np
import pytest

from hardbayes.gaussian.choice.path import MIN_NATS, MIN_NATS_PER_ROW, Step, plateaus, up_to

NONE = np.zeros(0, np.int64)


def path(**evidence):
    return {int(k[1:]): Step(int(k[1:]), float(value), NONE) for k, value in evidence.items()}


def test_the_number_that_is_best_for_the_widest_range_of_penalties():
    """Three clusters gain 200 nats; six, twice as many, 30 more; others next to nothing."""
    steps = path(k1=0, k2=90, k3=200, k4=205, k5=210, k6=230, k7=230, k8=230)
    widths = {3: (200 / np.log(3)) / (30 / np.log(2)), 6: (30 / np.log(2)) / MIN_NATS}
    assert widths[6] > widths[3]
    assert [step.k for step in plateaus(steps, 1.0)] == [6, 3]
    # With many rows, 30 nats are below the least penalty.
    assert [step.k for step in plateaus(steps, 2 * 30 / np.log(2) / MIN_NATS_PER_ROW)] == [3]


@pytest.mark.parametrize("total", [1.0, 1e6])
def test_every_penalty_between_leads_there(total):
    rng = np.random.default_rng(0)
    for _ in range(50):
        evidence = 0.3 * total * np.r_[0.0, np.cumsum(rng.exponential(size=9) - 0.5)]
        steps = {k: Step(k, value, NONE) for k, value in enumerate(evidence.tolist(), start=1)}
        penalties = np.geomspace(max(MIN_NATS, MIN_NATS_PER_ROW * total), 1e3 * total, 20_000)
        numbers = np.arange(1, 11)
        best = numbers[(evidence[:, None] - penalties * np.log(numbers)[:, None]).argmax(axis=0)]
        counts = np.bincount(best[best > 1], minlength=11)
        expected = counts.argmax() if counts.any() else evidence.argmax() + 1
        found = plateaus(steps, total)[0].k
        assert found == expected or abs(counts[found] - counts.max()) <= 1


def test_the_likeliest_where_all_gain_too_little():
    assert [step.k for step in plateaus(path(k1=0, k2=1, k3=2), 1.0)] == [3]
    assert [step.k for step in plateaus(path(k1=0, k2=-1), 1.0)] == [1]
    assert [step.k for step in plateaus(path(k1=0), 1.0)] == [1]


def test_up_to():
    assert set(up_to(path(k1=0, k2=1, k3=2), 2)) == {1, 2}
