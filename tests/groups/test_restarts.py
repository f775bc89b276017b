"""Several starts of a fit of the hard HDP."""

import numpy as np
import pytest

from hardbayes.dp_means.starts import Starts, minimise
from hardbayes.groups.descent import Found, minimise_grouped, minimise_without_groups
from tests.groups.cases import labelled, random_case


def given(case):
    whole = case.problem.whole
    opening = whole.opening_costs(case.grouped.partition)
    return case.state, case.grouped, opening, lambda: whole.mean


def starts(init="mean", number=1, search="split-merge"):
    return Starts(init, "random", number, search, 300)


@pytest.fixture
def case():
    X, groups, labels = random_case(3)
    with labelled(X, groups, labels, (2.0, 6.0)) as found:
        yield found


def test_the_best_of_several_starts_is_kept(case):
    reports = []

    def fit(number):
        rng = np.random.RandomState(5)
        return minimise_grouped(
            *given(case), starts("k-means++", number, "paper"), rng, lambda *at: reports.append(at)
        ).terms.total(case.grouped)

    one, several = fit(1), fit(6)
    assert several <= one
    assert {start for start, *_ in reports} == set(range(6))


def test_it_begins_with_a_solution_found_before(case):
    first = minimise_grouped(*given(case), starts(), np.random.RandomState(0), lambda *_: None)
    found = Found(first.centres, first.labels)
    again = minimise_grouped(
        *given(case), starts(), np.random.RandomState(1), lambda *_: None, found
    )
    np.testing.assert_array_equal(again.labels, first.labels)
    assert again.terms.total(case.grouped) == pytest.approx(first.terms.total(case.grouped))


@pytest.mark.parametrize("penalties", [(0.0, 6.0), (2.0, 6.0)])
def test_without_groups_it_is_a_partition_with_both_penalties(penalties):
    X, groups, labels = random_case(1)
    groups = groups if penalties[0] == 0 else np.zeros_like(groups)
    with labelled(X, groups, labels, penalties) as case:
        rng = np.random.RandomState(0)
        solution = minimise_without_groups(*given(case), starts(), rng, lambda *_: None)
        whole = case.problem.whole
        partition = whole.partition(sum(penalties), 0.0, None)
        flat = minimise(
            whole.state(partition), partition, whole.opening_costs(partition), lambda: whole.mean,
            starts(), np.random.RandomState(0), lambda *_: None,
        )  # fmt: skip
        np.testing.assert_array_equal(solution.labels, flat.labels)
        assert solution.terms.total(case.grouped) == pytest.approx(case.value(solution.labels))
        pairs = {*zip(groups.tolist(), solution.labels.tolist(), strict=True)}
        assert solution.terms.n_local == len(pairs) == np.count_nonzero(solution.ranks >= 0)
