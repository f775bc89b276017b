"""Columns of repeated values are found, and made continuous without what they say alone."""

import numpy as np
import pytest
from scipy.stats import kstest, spearmanr

from hardbayes.core.discrete import (
    Chosen,
    categories_of,
    choose_beside_discrete,
    codes_of,
    determine,
    smooth_columns,
)


def dummies(codes):
    return np.eye(codes.max() + 1)[codes]


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.mark.parametrize("scale", [1.0, -3.0])
def test_dummies_are_one_category_scaled_or_not(rng, scale):
    codes = rng.randint(4, size=300)
    numbers = rng.normal(size=(300, 2))
    rows = np.column_stack([numbers[:, 0], 5.0 + scale * dummies(codes), numbers[:, 1]])
    if scale < 0:  # then it is down that tells the level
        rows[:, 1:5] *= -1
    (found,) = categories_of(rows)
    assert found.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(codes_of(rows, found), codes)


def test_a_level_that_was_dropped_is_one_more_level(rng):
    codes = rng.randint(4, size=300)
    rows = np.column_stack([rng.normal(size=300), dummies(codes)[:, 1:]])
    (found,) = categories_of(rows)
    assert found.tolist() == [1, 2, 3]
    assert len(np.unique(codes_of(rows, found))) == 4
    assert determine(codes_of(rows, found), codes)


def test_neighbouring_categories_stay_apart(rng):
    one, other = rng.randint(3, size=400), rng.randint(5, size=400)
    found = categories_of(np.column_stack([dummies(one), dummies(other)]))
    assert [each.tolist() for each in found] == [[0, 1, 2], [3, 4, 5, 6, 7]]


def test_independent_and_rare_columns_are_no_category(rng):
    assert not categories_of((rng.random_sample((300, 5)) < 0.4).astype(float))
    rare = np.zeros((300, 3))
    rare[[0, 1, 2], [0, 1, 2]] = 1.0  # never up together, but that is chance
    assert not categories_of(rare)
    assert not categories_of(np.column_stack([rng.normal(size=300), rng.random_sample(300) < 0.5]))


def test_categories_become_noise_of_the_same_moments(rng):
    codes = rng.randint(3, size=20_000)
    rows = np.column_stack([rng.normal(size=20_000), dummies(codes)])
    smooth = smooth_columns(rows, categories_of(rows), rng)
    np.testing.assert_array_equal(smooth[:, 0], rows[:, 0])
    np.testing.assert_allclose(smooth.mean(axis=0), rows.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(smooth.std(axis=0), rows.std(axis=0), atol=0.02)
    assert abs(np.corrcoef(smooth[:, 1], codes == 0)[0, 1]) < 0.03


def test_a_spike_becomes_a_normal_tail_and_others_keep_their_order(rng):
    amounts = np.where(rng.random_sample(2000) < 0.5, 0.0, rng.lognormal(3.0, 1.0, 2000))
    rows = np.column_stack([rng.normal(size=2000), amounts])
    smooth = smooth_columns(rows, [], rng)[:, 1]
    scores = (smooth - smooth.mean()) / smooth.std()
    assert kstest(scores, "norm").pvalue > 0.1
    paid = amounts > 0
    assert spearmanr(smooth[paid], amounts[paid])[0] == pytest.approx(1.0)
    assert smooth[paid].min() > smooth[~paid].max()


def test_uneven_lattices_are_filled_and_keep_their_gaps(rng):
    counts = np.log1p(rng.poisson(3.0, 2000))
    rows = np.column_stack([rng.normal(size=2000), counts])
    smooth = smooth_columns(rows, [], rng)[:, 1]
    values = np.unique(counts)
    nearest = np.searchsorted((values[1:] + values[:-1]) / 2, smooth)
    np.testing.assert_array_equal(values[nearest], counts)  # within the cell of its value
    assert len(np.unique(smooth)) == 2000
    apart = rows.copy()
    apart[1000:, 1] += 50.0
    filled = smooth_columns(apart, [], rng)[:, 1]
    assert filled[1000:].min() - filled[:1000].max() > 40.0


def test_continuous_columns_grades_and_single_dummies_are_left_alone(rng):
    columns = [
        rng.normal(size=500), rng.binomial(4, 0.6, 500), np.round(rng.normal(0, 3, 500)),
        rng.random_sample(500) < 0.3, np.ones(500),
    ]  # fmt: skip
    rows = np.column_stack(columns).astype(float)
    assert smooth_columns(rows, categories_of(rows), rng) is rows


def test_a_category_determines_what_follows_from_it(rng):
    codes = rng.randint(6, size=1000)
    assert determine(codes, codes % 2)
    assert not determine(codes % 2, codes)
    assert not determine(codes, rng.randint(3, size=1000))
    assert not determine(codes, np.zeros(1000, int))
    nearly = np.where(rng.random_sample(1000) < 0.005, rng.randint(2, size=1000), codes % 2)
    assert determine(codes, nearly)


def test_rare_levels_belong_to_a_category_and_levels_that_never_occur_do_not_cut_it(rng):
    codes = rng.choice(8, size=300, p=[0.4, 0.3, 0.2, 0.06, 0.01, 0.01, 0.01, 0.01])
    rows = np.column_stack([rng.normal(size=300), dummies(codes)])
    rows = np.insert(rows, 4, 0.0, axis=1)
    (found,) = categories_of(rows)
    assert found.tolist() == [1, 2, 3, *range(5, 10)][: len(found)]
    np.testing.assert_array_equal(codes_of(rows, found), np.unique(codes, return_inverse=True)[1])


def beside(rows, labels_without):
    """Return how often clusters were chosen, and the last choice."""
    asked = []

    def choose(left_out):
        asked.append([each.tolist() for each in left_out])
        labels = np.asarray(labels_without[len(left_out)])
        return Chosen(len(left_out), rows, labels, list(left_out))

    return choose_beside_discrete(choose), asked


def test_a_choice_that_a_discrete_column_explains_is_made_without_it(rng):
    codes = rng.randint(2, size=200)
    rows = np.column_stack([rng.normal(size=200), codes])
    one = np.zeros(200, int)
    assert beside(rows, [codes, one]) == (1, [[], [[1]]])
    assert beside(rows, [rng.randint(2, size=200)]) == (0, [[]])
    assert beside(codes[:, np.newaxis], [codes]) == (0, [[]])  # the only column


def test_a_choice_stands_that_divides_what_there_is_without_the_column(rng):
    codes = rng.randint(4, size=200)
    rows = np.column_stack([rng.normal(size=200), codes])
    assert beside(rows, [codes, codes // 2, codes // 2])[0] == 0
    both = np.column_stack([codes, codes, rng.normal(size=200)])
    assert beside(both, [codes, codes]) == (0, [[], [[0]]])  # the other column shows them too
    assert beside(rows, [codes, rng.randint(2, size=200)])[0] == 1


def test_groups_of_values_with_a_gap_between_them_may_be_clusters(rng):
    ages = np.where(rng.random_sample(300) < 0.5, 20, 60) + rng.randint(10, size=300)
    rows = np.column_stack([rng.normal(size=300), ages])
    assert beside(rows, [ages // 50]) == (0, [[]])


def two_spikes(rng, n=400):
    """Counts that are often zero, twice, beside two groups of rows, and on which side each is."""
    counts = np.where(rng.random_sample((n, 2)) < 0.5, 0, 8 + rng.poisson(8, (n, 2)))
    groups = rng.randint(2, size=n)
    return np.column_stack([groups + rng.normal(size=n), counts]), (counts > 0).astype(int), groups


def test_borders_at_spikes_are_told_by_no_other_column(rng):
    """Neither column explains all clusters; without either the groups are left."""
    rows, up, groups = two_spikes(rng)
    corners = 2 * up[:, 0] + up[:, 1]
    labels = [4 * groups + corners, 2 * groups + up[:, 1], groups]
    assert beside(rows, labels) == (2, [[], [[1]], [[1], [2]]])


def test_a_border_at_a_spike_stays_where_other_columns_show_it(rng):
    rows, up, groups = two_spikes(rng)
    labels = 2 * groups + up[:, 0]
    assert beside(rows, [labels, labels]) == (0, [[], [[1]]])
    few = rows.copy()
    few[:, 1] = np.minimum(few[:, 1], 9)  # three values, which may be clusters
    assert beside(few, [labels]) == (0, [[]])


@pytest.mark.parametrize("n", range(290, 310))
def test_where_all_clusters_are_at_a_spike_it_tells_of_none(n):
    """One side of a border is no border, whatever the rounding of its entropy."""
    rng = np.random.RandomState(n)
    counts = np.where(rng.random_sample(n) < 0.7, 0, 8 + rng.poisson(8, n))
    groups = rng.randint(2, size=n)
    rows = np.column_stack([groups + rng.normal(size=n), counts])
    assert not determine((counts > 0).astype(int), np.ones(n, int))
    assert beside(rows, [groups]) == (0, [[]])
