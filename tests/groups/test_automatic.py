"""The automatic penalties of the hard HDP."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from hardbayes import DPMeans, HDPMeans
from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_shared_gaussians
from hardbayes.groups.choice import (
    RATIO,
    Described,
    GroupedPath,
    choose_penalties,
    dealt_anew,
    smallest_of_the_shortest,
)
from hardbayes.groups.problem import pose_groups
from tests.conftest import quiet_fit


def separated(k, d, sizes, used, seed, apart=10.0):
    """Rows in groups of these sizes, each from some of k Gaussians on a lattice."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(k ** (1 / d)))
    places = apart * np.stack(np.unravel_index(np.arange(k), (side,) * d), axis=1)
    y = np.concatenate([rng.choice(rng.choice(k, used, replace=False), size) for size in sizes])
    return places[y] + rng.standard_normal((len(y), d)), np.repeat(np.arange(len(sizes)), sizes), y


def test_separated_clusters_are_found_beyond_a_few():
    rng = np.random.default_rng(0)
    places = 10.0 * np.stack(np.divmod(np.arange(400) % 16, 4), axis=1)
    X = places + 0.2 * rng.standard_normal((400, 2))
    groups = np.random.default_rng(1).integers(0, 8, 400)
    model = HDPMeans(random_state=0).fit(X, groups=groups)
    assert model.n_clusters_ == 16 > np.sqrt(400) / 2


@pytest.mark.parametrize(
    ("k", "d", "sizes", "used"),
    [
        (2, 4, [40] * 5, 2),
        (3, 2, [30] * 4, 1),
        (5, 3, [4, 7, 12, 20, 33, 54], 3),
        (8, 2, [3] * 80, 2),
    ],
)
def test_separated_clusters_whoever_uses_them(k, d, sizes, used):
    X, groups, y = separated(k, d, sizes, used, seed=k)
    model = HDPMeans(random_state=0).fit(X, groups=groups)
    assert model.n_clusters_ == len(np.unique(y))
    assert len(np.unique(model.labels_ * 100 + y)) == model.n_clusters_


def test_rows_without_structure_are_one_cluster():
    rng = np.random.default_rng(0)
    for X in (rng.uniform(size=(300, 2)), rng.standard_normal((300, 3)) * [3.0, 1.0, 0.5]):
        model = quiet_fit(HDPMeans(random_state=0), X, groups=rng.integers(0, 6, 300))
        assert model.n_clusters_ == 1


def test_groups_that_show_nothing_leave_the_result_of_dp_means():
    X, groups, _ = separated(4, 2, [50] * 6, 4, seed=0, apart=5.0)
    grouped, flat = HDPMeans(random_state=0).fit(X, groups=groups), DPMeans(random_state=0).fit(X)
    assert grouped.local_penalty_ == 0 and grouped.global_penalty_ == flat.cluster_penalty_
    assert_array_equal(grouped.labels_, flat.labels_)


def test_groups_show_clusters_that_overlap():
    """Four Gaussians on a square, 2.2 deviations apart; each group has rows of one."""
    X, groups, y = separated(4, 2, [12] * 40, 1, seed=0, apart=2.2)
    model = HDPMeans(random_state=0).fit(X, groups=groups)
    assert quiet_fit(DPMeans(random_state=0), X).n_clusters_ < model.n_clusters_ == 4
    assert model.local_penalty_ > 0
    agreeing = sum(np.bincount(y[model.labels_ == c]).max() for c in range(4))
    assert agreeing > 0.95 * len(X)


@pytest.fixture
def path_of():
    with Pool(1) as pool:

        def build(X, groups, most):
            geometry, groups = geometry_for("squared_euclidean"), groups.astype(np.intp)
            problem = pose_groups(X, geometry, None, groups, int(groups.max()) + 1, pool)
            return GroupedPath(problem, 0.0, most, np.random.RandomState(0))

        yield build


def test_groups_tell_clusters_apart_that_overlap(path_of):
    X, groups, _ = separated(4, 2, [12] * 40, 1, seed=0, apart=2.2)
    path = path_of(X, groups, 12)
    assert len(path.shortest.solution.centres) == 4
    assert path.tells_groups_apart()
    # With a smaller bound it is not clear: more clusters are described more shortly.
    assert not path_of(X, groups, 2).tells_groups_apart()
    anew = np.random.default_rng(0).permutation(groups)
    assert not path_of(X, anew, 12).tells_groups_apart()


def test_groups_tell_nothing_of_clusters_that_are_apart(path_of):
    X, groups, y = separated(4, 2, [12] * 20, 2, seed=0)
    path = path_of(X, groups, 12)
    assert not path.tells_groups_apart()
    assert not path.tells_more_than(y.astype(np.int32))
    assert path.tells_more_than(np.zeros(len(X), np.int32))


def test_the_rule_for_all_rows_is_followed_only_where_groups_do_not_tell(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("hardbayes.groups.choice.choose_penalty", refuse)
    X, groups, _ = separated(4, 2, [12] * 40, 1, seed=0, apart=2.2)
    assert HDPMeans(random_state=0).fit(X, groups=groups).n_clusters_ == 4
    with pytest.raises(AssertionError):
        HDPMeans(random_state=0).fit(X, groups=np.random.default_rng(0).permutation(groups))


def test_groups_that_are_classes_are_not_divided_further():
    """No number of Gaussians describes iris best; three clusters tell all of the three groups."""
    X, y = load_iris(return_X_y=True)
    model = HDPMeans(random_state=0).fit(X, groups=y)
    assert model.n_clusters_ == 3 and model.n_local_clusters_.tolist() == [1, 1, 1]
    mixed = HDPMeans(random_state=0).fit(X, groups=np.random.default_rng(0).permutation(y))
    assert_array_equal(mixed.labels_, DPMeans(random_state=0).fit(X).labels_)


def test_groups_dealt_anew_keep_their_share_of_each_cluster():
    rng = np.random.RandomState(0)
    groups, labels = rng.randint(0, 5, 200), rng.randint(0, 3, 200)
    anew = dealt_anew(groups, labels, rng)
    assert not np.array_equal(anew, groups)
    before, after = (np.bincount(3 * of + labels, minlength=15) for of in (groups, anew))
    assert_array_equal(before, after)


def test_of_equally_short_descriptions_the_smallest_penalty():
    points = [Described(p, None, length) for p, length in ((1.0, 10.5), (2.0, 10.0), (0.5, 12.0))]
    assert smallest_of_the_shortest(points, 1.0).penalty == 1.0
    assert smallest_of_the_shortest(points, 0.1).penalty == 2.0


def test_rows_without_weight_have_no_say():
    X, groups, _ = separated(4, 2, [12] * 20, 1, seed=0, apart=2.2)
    weights = (groups != 3).astype(float)
    weights[::5] = 0.0
    kept = weights > 0
    model = HDPMeans(random_state=0).fit(X, groups=groups, sample_weight=weights)
    part = HDPMeans(random_state=0).fit(X[kept], groups=groups[kept])
    assert model.global_penalty_ == pytest.approx(part.global_penalty_)
    assert model.local_penalty_ > 0


def test_one_penalty_follows_from_the_other():
    X, groups, _ = make_shared_gaussians(10, random_state=0)
    first = HDPMeans(global_penalty=0.4, random_state=0).fit(X, groups=groups)
    assert first.local_penalty_ == RATIO * 0.4
    second = HDPMeans(local_penalty=0.1, random_state=0).fit(X, groups=groups)
    assert second.global_penalty_ == 0.1 / RATIO


def test_a_sample_of_many_rows_chooses():
    X, groups, _ = make_shared_gaussians(60, 6, 3, 100, random_state=0)
    with Pool(1) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr("hardbayes.dp_means.choice.sample.MAX_ENTRIES", 4000)
        patch.setattr("hardbayes.dp_means.choice.sample.MIN_ROWS", 2000)
        rng = np.random.RandomState(0)
        choice = choose_penalties(
            X, geometry_for("squared_euclidean"), None, groups.astype(np.intp), 0.0, None, rng, pool
        )
    assert choice.labels is None and 3 <= len(choice.centres) <= 12


def test_one_cluster_says_what_came_nearest():
    rng = np.random.default_rng(0)
    X, groups = rng.uniform(size=(120, 2)), rng.integers(0, 4, 120)
    with pytest.warns(UserWarning, match="No number of clusters stood out") as caught:
        HDPMeans(random_state=0).fit(X, groups=groups)
    sentence = str(caught[0].message)
    k = int(re.search(r"Nearest came (\d+)", sentence).group(1))
    penalty = float(re.search(r"HDPMeans\(global_penalty=([0-9.]+)", sentence).group(1))
    model = HDPMeans(0.0, penalty, random_state=0).fit(X, groups=groups)
    assert "local_penalty=0.0, random_state=0)" in sentence and model.n_clusters_ == k > 1


def test_the_published_search_has_a_penalty_of_its_own():
    X, groups, _ = separated(4, 2, [30] * 5, 3, seed=0)
    model = HDPMeans(search="paper", random_state=0).fit(X, groups=groups)
    # About four: Algorithm 1 is as coarse; with the penalty of the default search it finds one.
    assert 4 <= model.n_clusters_ <= 8 and model.local_penalty_ == 0


def test_a_few_rows_that_are_groups_of_their_own():
    """Each row may be a cluster, at no cost: nothing is divided by it (warnings are errors)."""
    X = np.column_stack([np.repeat([1.0, 0.0], 4), [10.0, 5.0, 16.0, 3.0, 5.0, 7.0, 8.0, 10.0]])
    with pytest.warns(UserWarning, match="No number of clusters"):
        HDPMeans(random_state=0).fit(X, groups=list("abcdefgh"))
