"""Topics against literal implementations, planted truth, and what must hold under any input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from hardbayes import HDPTopics
from hardbayes.core.pool import Pool
from hardbayes.datasets import make_bars
from hardbayes.topics.fitted import FittedTopics
from hardbayes.topics.problem import make_documents, no_topics
from tests.reference.topics import algorithm_2, best_objective, objective, tokens_of, word_shares
from tests.topics.estimator_cases import random_counts


def found(components, truth):
    """The smallest cosine between a true topic and the one matched with it."""
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (components, truth)]
    likeness = unit[0] @ unit[1].T
    matched = likeness[linear_sum_assignment(-likeness)]
    return matched.min() if len(matched) == len(truth) else 0.0


@pytest.mark.parametrize("seed", range(30))
def test_the_published_algorithm_to_the_letter(seed):
    rng = np.random.default_rng(seed)
    counts = random_counts(
        seed, int(rng.integers(1, 9)), int(rng.integers(2, 8)), rng.uniform(0.2, 1.5)
    )
    local, top = rng.uniform(0, 3), rng.uniform(0, 6)
    expected = algorithm_2(counts, local, top)
    model = HDPTopics(local, top, search="paper").fit(counts)

    words, topics = np.concatenate(tokens_of(counts)), np.concatenate(expected)
    shares = [word_shares(words[topics == k], counts.shape[1]).tolist() for k in np.unique(topics)]
    np.testing.assert_allclose(sorted(model.components_.tolist()), sorted(shares), rtol=1e-12)
    cost = objective(counts, expected, np.full(len(counts), local), top)
    np.testing.assert_allclose(model.objective_, cost, rtol=1e-12)
    assert (np.diff(model.objective_history_) <= 0).all()


@pytest.mark.parametrize("options", [{}, {"weighting": "counts"}])
def test_bars_are_found_where_the_published_algorithm_does_not(options):
    X, bars, _ = make_bars(300, random_state=1)
    model = HDPTopics(random_state=0, **options).fit(X)
    assert model.n_topics_ == 10 and model.background_ is None
    assert found(model.components_, bars) > 0.95

    literal = HDPTopics(10.0, 100.0, search="paper", max_iter=30).fit(X)
    assert literal.n_topics_ > 30
    assert found(literal.components_, bars) < found(model.components_, bars)


def test_the_search_ends_no_higher_than_the_true_topics():
    X, bars, counts = make_bars(200, random_state=3)
    model = HDPTopics(weighting="counts", background=False, random_state=0).fit(X)
    dense, totals = X.toarray(), np.zeros((25, 10))
    for row, own in zip(dense, counts > 0, strict=True):  # words at the likeliest true topic
        ids = np.flatnonzero(own)
        np.add.at(totals, (np.arange(25), ids[np.argmax(bars[ids], axis=0)]), row)
    penalties = model._model.penalty.of(dense.sum(axis=1))
    truth = model._model.structure.objective(totals, penalties, (counts > 0).sum(axis=1))
    assert model.objective_ <= truth


def test_no_topics_are_below_the_optimum_and_most_are_at_it():
    reached = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        counts = random_counts(seed, 3, 2, 2.0)
        local, top = 10 ** rng.uniform(-1, 0.8, 2)
        prior = 5.0 * counts.sum(axis=0) / counts.sum()
        best = best_objective(counts, [local] * 3, top, prior, 3)
        model = HDPTopics(
            local, top, weighting="counts", prior_weight=5.0, background=False, random_state=0
        ).fit(counts)
        assert model.objective_ >= best - 1e-9
        reached.append(model.objective_ <= best + 1e-9)
    assert np.mean(reached) >= 0.9


def model_of(X, **options):
    return HDPTopics(random_state=0, **options).fit(X)


def assert_same_fit(one, other):
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.objective_history_, other.objective_history_)


@pytest.fixture(scope="module")
def bars():
    return make_bars(150, random_state=0)[0]


@pytest.fixture(scope="module")
def fitted(bars):
    return model_of(bars, background=True)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_matter(bars, fitted, n_jobs, monkeypatch):
    from hardbayes.topics import memory

    monkeypatch.setattr(memory, "TILE_WORK", 1 << 12)
    assert_same_fit(model_of(bars, background=True, n_jobs=n_jobs), fitted)


@pytest.mark.parametrize(
    "kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, lambda X: X.toarray()]
)
def test_containers_do_not_matter(bars, fitted, kind):
    assert_same_fit(model_of(kind(bars), background=True), fitted)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32])
def test_types_do_not_matter(bars, fitted, dtype):
    assert_same_fit(model_of(bars.astype(dtype), background=True), fitted)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_name_the_words(bars, fitted, frame):
    library = pytest.importorskip(frame)
    names = [f"w{word}" for word in range(25)]
    columns = dict(zip(names, bars.toarray().astype(int).T, strict=True))
    model = model_of(library.DataFrame(columns), background=True)
    np.testing.assert_array_equal(model.components_, fitted.components_)
    assert model.top_words(3) == fitted.top_words(3, names)
    shares = model.set_output(transform=frame).transform(library.DataFrame(columns))
    assert list(shares.columns) == [f"hdptopics{k}" for k in range(model.n_topics_)]


def test_the_objective_does_not_depend_on_the_order_of_documents_and_words(bars):
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(150), rng.permutation(25)
    model = model_of(bars)
    inner = model._model
    names = ("working_totals", "working_prior", "working_factors")
    arrays = inner.to_arrays()
    shuffled = arrays | {name: arrays[name][columns] for name in names}
    moved = FittedTopics.from_arrays(shuffled, model.global_penalty_)
    objectives = []
    with Pool(1) as pool:
        for matrix, fit in ((bars, inner), (bars.toarray()[np.ix_(rows, columns)], moved)):
            documents = make_documents(fit.weights.weigh(matrix), fit.penalty, pool)
            sets, totals, _ = documents.sweep(fit.topics, no_topics(150))
            objectives.append(fit.structure.objective(totals, documents.penalties, sets.sizes))
    np.testing.assert_allclose(*objectives, rtol=1e-12)


def test_attributes(bars, fitted):
    k = fitted.n_topics_
    assert fitted.components_.shape == (k, 25) and (fitted.components_ >= 0).all()
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1.0)
    np.testing.assert_allclose(fitted.background_.sum(), 1.0)
    assert (np.diff(fitted.topic_weights_) <= 0).all() and (fitted.topic_weights_ > 0).all()
    assert (fitted.topic_documents_ > 0).all()
    assert fitted.objective_ == fitted.objective_history_[-1]
    assert (np.diff(fitted.objective_history_) <= 0).all()
    assert fitted.n_iter_ == len(fitted.objective_history_)
    local = fitted.objective_ - fitted.inertia_ - k * fitted.global_penalty_
    assert local > 0
    assert len(fitted.get_feature_names_out()) == k


def test_shares_of_documents(bars, fitted):
    shares = fitted.transform(bars)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(shares.argmax(axis=1), fitted.labels_)
    np.testing.assert_array_equal(fitted.transform(bars[:7]), shares[:7])
    assert fitted.score(bars) == pytest.approx(fitted.score_samples(bars).sum())
    assert (fitted.score_samples(bars) < 0).all()


def test_words_that_tell_most_come_first():
    rng = np.random.default_rng(0)
    own = np.zeros((80, 8))
    own[:40, :4], own[40:, 4:] = rng.poisson(2, (40, 4)), rng.poisson(2, (40, 4))
    X = np.hstack([own, rng.poisson(9, (80, 2)) + 1])  # two words that every document has
    model = model_of(X, n_topics=2, weighting="counts", background=False)
    assert model.n_topics_ == 2

    telling, heaviest = model.top_words(4), model.top_words(2, by="share")
    expected = [[f"x{word}" for word in words] for words in (range(4), range(4, 8))]
    assert sorted(map(sorted, telling)) == expected
    assert {*heaviest[0]} == {*heaviest[1]} == {"x8", "x9"}


def test_one_topic_is_described_by_its_heaviest_words(bars):
    model = model_of(bars, global_penalty=1e9)
    assert model.n_topics_ == 1 and not model.relevance_.any()
    assert model.top_words(6) == model.top_words(6, by="share")


def test_a_document_of_background_words_has_the_topic_that_describes_it_best():
    rng = np.random.default_rng(0)
    own = np.zeros((80, 12))
    own[:40, :6], own[40:, 6:] = rng.poisson(4, (40, 6)), rng.poisson(4, (40, 6))
    X = np.hstack([own, rng.poisson(4, (80, 8))])
    model = HDPTopics(background=True, weighting="counts", random_state=1).fit(X)
    assert model.background_ is not None and model.n_topics_ >= 2
    document = np.zeros((1, 20))
    document[0, 12:] = [9, 1, 1, 1, 1, 1, 1, 1]
    best = int(np.argmax(np.log(model.components_) @ document[0]))
    np.testing.assert_array_equal(model.transform(document)[0], np.eye(model.n_topics_)[best])


@pytest.mark.parametrize("options", [{}, {"max_topics": 6}])
@pytest.mark.parametrize("wished", [3, 5, 6])
def test_a_wished_number_of_topics(bars, wished, options):
    model = model_of(bars, n_topics=wished, **options)
    assert model.n_topics_ == wished and "Converged after" in model.status_


@pytest.mark.parametrize("wished", [10, 20])
def test_a_wished_number_is_missed_by_a_tenth_at_most(bars, wished):
    assert abs(model_of(bars, n_topics=wished).n_topics_ - wished) <= 0.1 * wished


def test_weights_of_documents_repeat_them_in_the_objective():
    counts = random_counts(0, 10, 6, 2.0)
    repeats = np.arange(10) % 3 + 1
    options = dict(local_penalty=4.0, global_penalty=1e6, weighting="counts", prior_weight=3.0)
    weighted = HDPTopics(**options, random_state=0).fit(counts, sample_weight=repeats)
    copied = HDPTopics(**options, random_state=0).fit(np.repeat(counts, repeats, axis=0))
    assert weighted.n_topics_ == copied.n_topics_ == 1
    np.testing.assert_allclose(weighted.objective_, copied.objective_)
    np.testing.assert_allclose(weighted.components_, copied.components_)
