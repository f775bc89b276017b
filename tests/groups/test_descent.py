"""The stages of a fit of the hard HDP, and where it ends."""

import numpy as np
import pytest

from hardbayes.core.loop import Status
from hardbayes.groups.descent import STAGES, GroupedDescent
from tests.groups.cases import labelled, random_case


def descent_of(case, report=lambda *_: None):
    opening = case.problem.whole.opening_costs(case.grouped.partition)
    order = np.arange(len(case.groups))
    rng = np.random.RandomState(0)
    return GroupedDescent(case.state, case.grouped, opening, order, rng, report)


def fit(seed, search, max_steps=300, cap=None):
    """A solution, the problem, and the objective of its labels by brute force; from one cluster."""
    X, groups, _ = random_case(seed)
    with labelled(X, groups, np.zeros(len(X), int), (2.0, 6.0), cap=cap) as case:
        reports = []
        solution = descent_of(case, lambda *at: reports.append(at)).run(search, max_steps)
        assert [k for _, k, _ in reports] == solution.cluster_counts.tolist()
        return solution, case.grouped, case.value(solution.labels)


@pytest.mark.parametrize("search", ["paper", "split-merge"])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_falls_to_that_of_the_labels(seed, search):
    solution, grouped, value = fit(seed, search)
    assert solution.status is Status.CONVERGED
    assert solution.terms.total(grouped) == pytest.approx(value)
    steps = zip(solution.trace, solution.local_counts, solution.cluster_counts, strict=True)
    history = [cost + grouped.total_penalty(n_local, k) for cost, n_local, k in steps]
    assert history[-1] == pytest.approx(value)
    assert (np.diff(history) <= 1e-9 * value).all()


@pytest.mark.parametrize("seed", range(3))
def test_more_stages_never_end_higher(seed):
    published, better = (fit(seed, search)[2] for search in ("paper", "split-merge"))
    assert better <= published * (1 + 1e-9)


def test_a_converged_fit_stays_where_it_is():
    X, groups, labels = random_case(0)
    with labelled(X, groups, labels, (2.0, 6.0)) as case:
        descent_of(case).run("split-merge", 300)
        again = descent_of(case)
        stages = STAGES["split-merge"]
        assert not any(getattr(again, name)() for name in stages)


def test_a_cap_is_said():
    assert len(fit(0, "split-merge")[0].centres) > 2
    capped, *_ = fit(0, "split-merge", cap=2)
    assert capped.status is Status.CAPPED and len(capped.centres) == 2


def test_out_of_steps_rows_are_where_a_prediction_puts_them():
    solution, grouped, value = fit(0, "split-merge", max_steps=1)
    assert solution.status is Status.OUT_OF_STEPS
    # Centres are those of the rows before.
    assert solution.terms.total(grouped) >= value * (1 - 1e-12)
