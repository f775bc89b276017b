"""Half-lives: weights that fade exactly, without end, and clusters that come and go."""

import numpy as np
import pytest

from hardbayes import MiniBatchDPMeans
from tests.mini_batch.streams import WINDOW, assert_same_stream, cloud, taken_up


def around(rng, n, *centres, spread=0.3):
    """Rows around centres of the plane, in random order."""
    return np.array(centres)[rng.integers(0, len(centres), n)] + spread * rng.standard_normal(
        (n, 2)
    )


def test_weights_are_halved_after_a_half_life():
    X, half_life = cloud(5000), 600.0
    model = taken_up(X, [1200], 20.0, half_life=half_life)
    ages = 4999 - np.arange(5000)
    weights = np.exp2(-ages / half_life)
    assert model.cluster_weights_.sum() == pytest.approx(weights.sum(), rel=1e-12)
    # The same rows with these weights have the same objective.
    weighted = taken_up(X, [1200], 20.0, weights=weights)
    assert weighted.objective_ == pytest.approx(model.objective_, rel=0.02)
    assert model.micro_weights_ @ model.micro_centers_ == pytest.approx(weights @ X, rel=1e-11)


@pytest.mark.parametrize("half_life", [1e-3, 0.5, 1.0, 30.0, 1e9])
def test_no_half_life_is_too_short_or_too_long(half_life):
    X = cloud(4000)
    model = taken_up(X, [1500], 1.0, half_life=half_life)
    weights = np.exp2(-np.arange(4000)[::-1] / half_life)
    assert model.micro_weights_.sum() == pytest.approx(weights.sum(), rel=1e-9)
    assert np.isfinite(model.objective_) and np.isfinite(model.cluster_centers_).all()


def test_a_million_half_lives_overflow_nothing():
    # Rows in pairs, with thousands of half-lives between pairs, a million in all.
    rng = np.random.default_rng(0)
    n = 4 * WINDOW
    times = 1e6 * np.arange(n) / n
    X = rng.standard_normal((n, 2))
    model = taken_up(X, [], 1.0, times=times, half_life=1.0)
    # Each row outweighs all before it, many times over.
    assert model.micro_weights_.sum() == pytest.approx(1.0)
    assert model.cluster_weights_.max() == pytest.approx(1.0)
    heaviest = model.cluster_centers_[model.cluster_weights_.argmax()]
    np.testing.assert_allclose(heaviest, X[-1], atol=1e-12)
    assert len(model.micro_weights_) <= 2000


def test_one_gap_of_a_million_half_lives_leaves_what_is_new():
    X = cloud(3000)
    times = np.arange(3000.0)
    times[2000:] += 1e9
    model = taken_up(X, [], 5.0, times=times, half_life=500.0)
    new = taken_up(X[2000:], [], 5.0, times=times[2000:], half_life=500.0)
    assert model.cluster_weights_.sum() == pytest.approx(new.cluster_weights_.sum(), rel=1e-9)
    # Rows from before count, if anything, for nothing.
    assert model.objective_ == pytest.approx(new.objective_, rel=0.01)


def test_numbered_rows_have_their_number_for_a_time():
    X = cloud(2500)
    numbered = taken_up(X, [700], half_life=300.0)
    timed = taken_up(X, [700], half_life=300.0, times=np.arange(2500.0))
    assert_same_stream(numbered, timed)


def test_the_unit_of_time_is_free():
    X, times = cloud(2500), np.sort(np.random.default_rng(0).uniform(0, 2500, 2500))
    seconds = taken_up(X, [], half_life=512.0, times=times)
    other = taken_up(X, [], half_life=2.0, times=times / 256)
    assert_same_stream(seconds, other)


def test_times_may_come_in_any_order_and_one_may_be_for_all_rows():
    X = cloud(900)
    late_first = np.repeat([100.0, 0.0, 50.0], 300)
    model = taken_up(X, [], half_life=50.0, times=late_first)
    assert model.cluster_weights_.sum() == pytest.approx(300 * (1 + 0.25 + 0.5))
    each = MiniBatchDPMeans(5.0, half_life=50.0, random_state=0)
    for start, time in zip((0, 300, 600), (100.0, 0.0, 50.0), strict=True):
        each.partial_fit(X[start : start + 300], time=time)
    assert each.cluster_weights_.sum() == pytest.approx(300 * (1 + 0.25 + 0.5))


def test_times_are_checked():
    X = cloud(20)
    with pytest.raises(ValueError, match="must be None where half_life is"):
        MiniBatchDPMeans(1.0).partial_fit(X, time=0.0)
    model = MiniBatchDPMeans(1.0, half_life=5.0)
    with pytest.raises(ValueError, match=r"Got nan at row 7\."):
        model.partial_fit(X, time=np.where(np.arange(20) == 7, np.nan, 0.0))
    with pytest.raises(ValueError, match="one for each of the 20 rows"):
        model.partial_fit(X, time=np.zeros(3))
    with pytest.raises(ValueError, match="one number, or one for each"):
        model.partial_fit(X, time="2024-05-01")
    model.partial_fit(X, time=3.0)
    with pytest.raises(ValueError, match="must come with every call"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="inf at row 20"):
        model.partial_fit(X, time=np.inf)
    untimed = MiniBatchDPMeans(1.0, half_life=5.0).partial_fit(X)
    with pytest.raises(ValueError, match="be None, as in earlier calls"):
        untimed.partial_fit(X, time=1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_that_appears_is_told_within_two_windows(seed):
    rng = np.random.default_rng(seed)
    model = MiniBatchDPMeans(200.0, half_life=2000.0, random_state=seed)
    model.partial_fit(around(rng, 6000, (0, 0), (5, 0)))
    before = model.cluster_ids_.tolist()
    model.partial_fit(around(rng, 2 * WINDOW, (0, 0), (5, 0), (0, 7)))
    model.partial_fit(around(rng, 2 * WINDOW, (0, 0), (5, 0), (0, 7)))
    born = [event for event in model.events_ if event[0] == "born" and event[1] not in before]
    assert len(born) == 1
    assert 6000 < born[0][2] <= 6000 + 2 * WINDOW
    assert set(before) < set(model.cluster_ids_.tolist()) and model.n_clusters_ == 3
    place = model.cluster_ids_.tolist().index(born[0][1])
    np.testing.assert_allclose(model.cluster_centers_[place], [0, 7], atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_that_fades_dies_within_two_windows(seed):
    rng = np.random.default_rng(seed)
    half_life, penalty, distance = 400.0, 80.0, 25.0
    model = MiniBatchDPMeans(penalty, half_life=half_life, random_state=seed)
    model.partial_fit(around(rng, 6000, (0, 0), (5, 0)))
    assert model.n_clusters_ == 2
    ids, centres = model.cluster_ids_, model.cluster_centers_
    left = ids[centres[:, 0].argmax()]
    for _ in range(8):
        model.partial_fit(around(rng, WINDOW, (0, 0)))
    died = [event for event in model.events_ if event[0] == "died"]
    assert [event[:2] for event in died] == [("died", left)]
    # It no longer pays where w_a w_b / (w_a + w_b) times the squared distance is the penalty.
    whole = half_life / np.log(2)
    rows = np.arange(1, 20_000)
    gone = whole / 2 * np.exp2(-rows / half_life)
    due = 6000 + rows[gone * (whole - gone) / whole * distance < penalty][0]
    assert due - WINDOW <= died[0][2] <= due + 2 * WINDOW
    assert model.cluster_ids_.tolist() == [ids[centres[:, 0].argmin()]]


def test_a_cluster_that_drifts_keeps_its_name():
    rng = np.random.default_rng(0)
    model = MiniBatchDPMeans(400.0, half_life=1000.0, random_state=0)
    for step in range(40):
        model.partial_fit(around(rng, 500, (0, 0.2 * step), (6, 3 - 0.2 * step)))
    assert sorted(model.cluster_ids_.tolist()) == [0, 1]
    assert {event[0] for event in model.events_} <= {"born", "split"}
    assert len(model.events_) == 2
    # A half-life is as long as two steps: centres follow.
    by_column = model.cluster_centers_[model.cluster_centers_[:, 0].argsort()]
    np.testing.assert_allclose(by_column, [[0, 7.8], [6, -4.8]], atol=0.8)


def test_names_are_never_given_again():
    rng = np.random.default_rng(0)
    model = MiniBatchDPMeans(40.0, half_life=300.0, random_state=0)
    for step in range(6):
        model.partial_fit(around(rng, 5000, (0, 0), (6 * (-1) ** step, 6)))
    begun = [event[1] for event in model.events_ if event[0] in ("born", "split")]
    ended = [event[1] for event in model.events_ if event[0] in ("died", "merged")]
    assert sorted(begun) == list(range(len(begun)))
    assert len(set(ended)) == len(ended) == 5
    assert sorted(set(begun) - set(ended)) == sorted(model.cluster_ids_.tolist())
    assert [event[2] for event in model.events_] == sorted(event[2] for event in model.events_)
