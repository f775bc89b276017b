"""Corpora without topics, and the evidence that there are any."""

import re
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

from hardbayes import HDPTopics, load, save
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_bars
from hardbayes.topics import null
from hardbayes.topics.null import NEEDED, centred, strata, topics_z
from tests.topics.cases import planted


def zipf(v):
    return 1.0 / np.arange(1, v + 1) / (1.0 / np.arange(1, v + 1)).sum()


def lengths_of(rng, n, mean, spread):
    return np.maximum(1, mean * np.exp(spread * rng.standard_normal(n))).astype(int)


def bursty(rng, n, v, mean, spread, concentration):
    """Dirichlet-multinomial documents of one mean."""
    shares = rng.dirichlet(concentration * zipf(v) + 1e-9, n)
    lengths = lengths_of(rng, n, mean, spread)
    return np.array([rng.multinomial(m, q) for m, q in zip(lengths, shares, strict=True)])


def unequally_bursty(rng, n, v, mean, spread):
    """Negative binomial words, each of its own burstiness: long documents have other words."""
    shapes = 0.3 * np.exp(1.5 * rng.standard_normal(v))
    rates = np.outer(lengths_of(rng, n, mean, spread), zipf(v))
    return rng.poisson(rng.gamma(shapes, 1.0, (n, v)) / shapes * rates)


NULLS = {
    "multinomial": lambda rng: rng.multinomial(40, np.full(30, 1 / 30), 80),
    "Zipf, many lengths": lambda rng: bursty(rng, 100, 200, 60, 1.0, 1e6),
    "bursty": lambda rng: bursty(rng, 100, 300, 80, 0.5, 50),
    "bursty, few words": lambda rng: bursty(rng, 60, 8, 30, 0.5, 20),
    "unequally bursty": lambda rng: unequally_bursty(rng, 120, 200, 80, 1.0),
    "long documents": lambda rng: bursty(rng, 40, 100, 5000, 1.0, 1e6),
}


def z_of(counts, weights=None):
    with Pool(1) as pool:
        return topics_z(sparse.csr_array(np.asarray(counts, float)), weights, pool)


@pytest.mark.parametrize("kind", NULLS)
def test_documents_of_one_distribution_have_one_topic(kind):
    found = np.array([z_of(NULLS[kind](np.random.default_rng([seed, 3]))) for seed in range(12)])
    assert found.max() < NEEDED
    assert abs(found.mean()) < 1.0
    X = NULLS[kind](np.random.default_rng([0, 3]))
    with pytest.warns(UserWarning, match="so there is one topic"):
        model = HDPTopics(random_state=0).fit(X)
    assert model.n_topics_ == 1 and model.background_ is None
    assert model.penalty_choice_["n_topics"] > 1
    assert not model.penalty_choice_["chosen"] and model.penalty_choice_["strength"] < 1
    np.testing.assert_allclose(model.transform(X), 1.0)


@pytest.mark.parametrize("factors", [np.ones(30), np.arange(1, 31)])
def test_multiples_of_one_document_have_one_topic(factors):
    X = np.outer(factors, np.arange(1, 13))
    with pytest.warns(UserWarning, match="0 standard deviations"):
        assert HDPTopics(random_state=0).fit(X).n_topics_ == 1
    half = np.outer(factors, np.arange(12, 0, -1))
    assert HDPTopics(random_state=0).fit(np.vstack([X, half])).n_topics_ > 1


@pytest.mark.parametrize("n", [30, 150])
def test_topics_are_found_as_before(n):
    for X in (planted(n), make_bars(n, random_state=0)[0]):
        assert z_of(X.toarray() if sparse.issparse(X) else X) > 2 * NEEDED
        model = HDPTopics(random_state=0).fit(X)
        assert model.n_topics_ > 1 and "Nothing needs doing" in model.status_
        assert model.penalty_choice_["n_topics"] == model.n_topics_
        assert model.penalty_choice_["penalty"] == model.global_penalty_
        assert model.penalty_choice_["chosen"] and model.penalty_choice_["strength"] > 1


def test_the_sentence_says_how_to_get_topics():
    X = NULLS["bursty"](np.random.default_rng(0))
    with pytest.warns(UserWarning, match=r"To use \d+ topics: HDPTopics") as told:
        one = HDPTopics(random_state=0).fit(X)
    assert one.status_ == str(told[0].message)
    call = re.search(r"HDPTopics\(global_penalty=(.*), random_state=0\)\.$", one.status_)
    model = HDPTopics(global_penalty=float(call[1]), random_state=0).fit(X)
    wanted = one.penalty_choice_["n_topics"][0]
    assert abs(model.n_topics_ - wanted) <= 0.3 * wanted
    assert one.global_penalty_ > 2 * float(call[1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"n_topics": 6},
        {"global_penalty": 20.0},
        {"local_penalty": 1.0},
        {"local_penalty": 1.0, "global_penalty": 5.0, "search": "paper"},
    ],
)
def test_what_was_asked_for_is_not_questioned(options, monkeypatch):
    def fail(*_):
        raise AssertionError("compared")

    monkeypatch.setattr("hardbayes.topics.estimator.topics_z", fail)
    X = NULLS["multinomial"](np.random.default_rng(0))
    model = HDPTopics(random_state=0, **options).fit(X)
    assert model.n_topics_ > 1 and not hasattr(model, "penalty_choice_")


def test_files_keep_the_evidence(tmp_path):
    X = planted(40)
    model = HDPTopics(random_state=0).fit(X)
    save(model, tmp_path / "topics")
    again = load(tmp_path / "topics").penalty_choice_
    assert again.keys() == model.penalty_choice_.keys()
    for name, column in model.penalty_choice_.items():
        np.testing.assert_array_equal(again[name], column)
        assert again[name].dtype == column.dtype
    state = model._get_state()
    del state["penalty_choice_"]  # in files of the first versions
    older = HDPTopics()
    older._set_state(state)
    np.testing.assert_array_equal(older.transform(X), model.transform(X))


def test_documents_without_words_or_weight_do_not_count():
    X = planted(60)
    X[40:] = np.random.default_rng(0).poisson(2, (20, 9))
    weights = np.ones(60)
    weights[40:] = 0
    assert z_of(X, weights) == z_of(X[:40])
    assert z_of(np.vstack([X[:40], np.zeros((5, 9))]), None) > NEEDED
    for tiny in (np.eye(4), np.ones((1, 3)), np.ones((9, 1))):
        assert z_of(tiny) == 0.0


def test_samples_of_documents_add_up(monkeypatch):
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(300, 0.4), 2)
    X = np.array([rng.multinomial(20, shares[d % 2]) for d in range(240)])
    monkeypatch.setattr(null, "CLEAR", np.inf)
    monkeypatch.setattr(null, "SAMPLE", 60)
    monkeypatch.setattr(null, "MAX_SAMPLES", 1)
    first = z_of(X)
    monkeypatch.setattr(null, "MAX_SAMPLES", 4)
    assert z_of(X) > 1.3 * first > 0


def test_strata_are_of_similar_length():
    lengths = np.array([1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5, 9, 9, 9, 30, 30.0])
    assert strata(lengths).tolist() == [0, 6, 11]
    assert strata(np.ones(9)).tolist() == [0]
    sizes = np.diff(strata(np.ones(200)), append=200)
    assert sizes.min() >= null.MIN_STRATUM and sizes.max() <= null.MAX_STRATUM + null.MIN_STRATUM
    wide = np.exp(np.arange(50.0))
    assert np.diff(strata(wide), append=50).tolist() == [5] * 10


def test_centring_by_strata():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((16, 3))
    given, starts = rows @ rows.T, np.array([0, 5, 11])
    found = centred(given, starts)
    borders = [*starts, 16]
    for (a, b), (c, d) in product(pairwise(borders), repeat=2):
        np.testing.assert_allclose(found[a:b, c:d].sum(axis=0), 0.0, atol=1e-12)
        if a != c:
            block = given[a:b, c:d]
            by_hand = block - block.mean(0) - block.mean(1, keepdims=True) + block.mean()
            np.testing.assert_allclose(found[a:b, c:d], by_hand, atol=1e-12)
    assert not found.diagonal().any()
    np.testing.assert_allclose(found, found.T)


def test_centring_leaves_no_bias():
    rng = np.random.default_rng(0)
    sums = []
    for _ in range(400):  # independent rows: products of two blocks sum to nothing on average
        one, other = (rng.standard_normal((12, 40)) for _ in range(2))
        starts = np.array([0, 6])
        sums.append((centred(one @ one.T, starts) * centred(other @ other.T, starts)).sum())
    assert abs(np.mean(sums)) < 3 * np.std(sums) / np.sqrt(len(sums))


def test_z_by_loops(monkeypatch):
    """Residuals, products and sums, one after the other."""
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (12, 9)) + 1.0
    monkeypatch.setattr(null, "DEALS", 1)
    stream = np.random.RandomState(0)
    X = X[stream.permutation(12)]  # the sample
    X = X[np.argsort(X.sum(axis=1), kind="stable")]
    lengths = X.sum(axis=1)
    damped = np.log1p(X * (lengths.mean() / lengths)[:, np.newaxis])
    blocks = stream.permutation(9) % 3
    products = []
    for block in range(3):
        own = damped[:, blocks == block]
        mean = own.sum(axis=0) / own.sum()
        residuals = (own - own.sum(axis=1, keepdims=True) * mean) * own.sum(axis=0) ** -0.25
        residuals /= np.linalg.norm(residuals, axis=1, keepdims=True)
        products.append(centred(residuals @ residuals.T, strata(lengths)))
    total = squares = 0.0
    for b in range(3):
        for c in range(b):
            for i in range(12):
                for j in range(i):
                    term = products[b][i, j] * products[c][i, j]
                    total, squares = total + term, squares + term**2
    np.testing.assert_allclose(z_of(X), total / np.sqrt(squares))
