"""Rows of continuous factors and noise have no features; those of binary ones keep theirs."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes import BPMeans, KFeatures, load, save
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_dice, make_tabletop
from hardbayes.features.null import NEEDED, HeldOut, coefficients_of, halved, two_modes
from tests.conftest import quiet_fit


def factors(rng, n, d, k, draw):
    return draw((n, k)) @ rng.standard_normal((k, d)) + 0.5 * rng.standard_normal((n, d))


NULLS = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "strong factors": lambda rng, n, d: factors(rng, n, d, 2, lambda s: 5 * rng.standard_normal(s)),
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "heavy tails": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "counts": lambda rng, n, d: rng.poisson(3.0, (n, d)).astype(float),
    "skewed factors": lambda rng, n, d: factors(rng, n, d, 2, lambda s: rng.gamma(2.0, 2.0, s)),
    "unequal scales": lambda rng, n, d: rng.standard_normal((n, d)) * np.exp(np.arange(d) / 2),
}


def planted(rng, n, d, k, distance, share=0.5):
    components = rng.standard_normal((k, d))
    components *= distance / np.linalg.norm(components, axis=1, keepdims=True)
    return (rng.random((n, k)) < share) @ components + rng.standard_normal((n, d))


def evidence_of(X, weights=None):
    with Pool(1) as pool:
        return HeldOut(np.ascontiguousarray(X), weights, 300, pool).evidence()


@pytest.mark.parametrize("kind", NULLS)
@pytest.mark.parametrize(("n", "d"), [(120, 4), (200, 8)])
def test_noise_has_at_most_a_mean(kind, n, d):
    X = NULLS[kind](np.random.default_rng([n, d]), n, d)
    assert max(each.deviations for each in evidence_of(X)) < NEEDED
    with pytest.warns(UserWarning, match="No number of features was confirmed"):
        model = BPMeans(random_state=0, n_init=2).fit(X)
    assert model.n_components_ <= 1
    choice = model.penalty_choice_
    assert not choice["chosen"].any() and choice["strength"].max() < 1
    nearest = choice["n_components"][choice["deviations"].argmax()]
    assert f"KFeatures({nearest})" in model.status_


@pytest.mark.parametrize(("k", "share"), [(2, 0.5), (4, 0.5), (3, 0.3)])
def test_binary_features_are_confirmed(k, share):
    X = planted(np.random.default_rng(1), 300, 20, k, 8.0, share)
    model = BPMeans(random_state=0, n_init=3).fit(X)
    assert model.n_components_ == k
    assert "Nothing needs doing" in model.status_
    choice = model.penalty_choice_
    assert choice["n_components"][choice["chosen"]].tolist() == [k]
    assert choice["strength"][choice["chosen"]] >= 1
    np.testing.assert_allclose(choice["penalty"][choice["chosen"]], model.component_penalty_)


def test_shuffled_columns_have_none_of_the_features():
    X = make_tabletop(80, random_state=2)[0]
    assert BPMeans(random_state=0, n_init=3).fit(X).n_components_ == 5
    shuffled = np.random.default_rng(0).permuted(X, axis=0)  # the same columns, nothing in common
    assert max(each.deviations for each in evidence_of(shuffled[:, :6])) < NEEDED


def test_given_penalties_and_numbers_are_not_questioned():
    X = NULLS["Gaussian"](np.random.default_rng(0), 60, 4)
    for model in (BPMeans(8.0, random_state=0), KFeatures(3, random_state=0)):
        assert model.fit(X).n_components_ > 1
        assert not hasattr(model, "penalty_choice_")


def test_few_rows_need_an_exact_fit():
    Z = np.array([[1, 0], [0, 1], [1, 1], [1, 1], [0, 0], [1, 0]])
    A = np.array([[4.0, 4.0, 0.0], [0.0, 1.0, 3.0]])
    assert BPMeans(random_state=0).fit(Z @ A).n_components_ == 2
    assert evidence_of(Z @ A) == []
    noise = np.random.default_rng(0).standard_normal((10, 3))
    with pytest.warns(UserWarning, match="too few rows"):
        assert BPMeans(random_state=0).fit(noise).n_components_ <= 1


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_a_cap_binds_where_there_are_features(cap):
    X = make_dice(80, random_state=1)[0]
    model = quiet_fit(BPMeans(max_components=cap, random_state=0, n_init=2), X)
    assert 1 <= model.n_components_ <= cap
    assert "confirmed" not in model.status_


def test_files_keep_the_evidence(tmp_path):
    model = BPMeans(random_state=0, n_init=2).fit(make_dice(60, random_state=0)[0])
    save(model, tmp_path / "features")
    again = load(tmp_path / "features").penalty_choice_
    for name, column in model.penalty_choice_.items():
        np.testing.assert_array_equal(again[name], column)
    state = model._get_state()
    del state["penalty_choice_"]  # in files of the first versions
    BPMeans()._set_state(state)


def test_sparse_rows_and_weights():
    X = make_dice(80, random_state=0)[0]
    dense, thin = evidence_of(X), None
    with Pool(1) as pool:
        thin = HeldOut(sparse.csr_array(X), None, 300, pool).evidence()
    np.testing.assert_allclose(thin, dense, atol=1e-9)
    weights = np.ones(80)
    weights[60:] = 0
    assert all(half.max() < 60 for half in halved(X, weights))


def test_coefficients_of_exact_rows_are_memberships():
    rng = np.random.default_rng(0)
    A, Z = rng.standard_normal((4, 9)), rng.random((30, 4)) < 0.5
    Z[:, 0] = True  # a base
    np.testing.assert_allclose(coefficients_of(Z, A, Z @ A), Z[:, 1:], atol=1e-12)
    assert coefficients_of(Z[:, :1], A[:1], Z @ A) is None  # a base alone
    assert coefficients_of(Z, A[:, :2], Z @ A[:, :2]) is None  # more features than columns
    twice = A[[0, 1, 1, 2]]
    assert coefficients_of(Z, twice, Z @ twice) is None


def test_modes_by_hand():
    coefficients = np.array([[0.0], [0.1], [-0.1], [1.0], [1.1], [0.5], [3.0]])
    deviations, worst = two_modes(coefficients, np.array([0.3]))
    np.testing.assert_allclose(deviations, (2 - 1) / np.sqrt(3))
    np.testing.assert_allclose(worst, 4 / 8)  # at most one of three in the valley
    deviations, _ = two_modes(coefficients, np.array([0.7]))  # the lower peak is at 0
    np.testing.assert_allclose(deviations, (3 - 1) / np.sqrt(4))
