"""What must hold of topics when things go wrong, and scikit-learn's contract."""

import pickle
import re
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from hardbayes import HDPTopics, load, save
from hardbayes.datasets import make_bars
from tests.interrupts import watching_calls

# The published algorithm visits copies one after another; otherwise starts group documents, and
# random groups set penalties.
ORDER_AND_CHANCE = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "copies of a document need not go together as one heavy document does",
)


@pytest.mark.filterwarnings("ignore:Converged after .* Documents drawn:UserWarning")
@parametrize_with_checks(
    [HDPTopics(), HDPTopics(1.0, 2.0, search="paper")],
    expected_failed_checks=lambda _: ORDER_AND_CHANCE,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def bars():
    return make_bars(60, random_state=0)[0]


BAD = [
    ("local_penalty", -1.0),
    ("local_penalty", "rule"),
    ("global_penalty", float("nan")),
    ("global_penalty", None),
    ("n_topics", 0),
    ("n_topics", 2.5),
    ("max_topics", 0),
    ("weighting", "tf-idf"),
    ("prior_weight", -1.0),
    ("background", "always"),
    ("search", "gibbs"),
    ("max_iter", 0),
    ("n_jobs", 0),
    ("verbose", -1),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_parameters_are_checked(name, value, bars):
    model = HDPTopics(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of HDPTopics must be"):
        model.fit(bars)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_topics": 5, "global_penalty": 3.0}, "exclude each other"),
        ({"n_topics": 5, "max_topics": 4}, "must be at least n_topics=5. Got 4"),
        ({"search": "paper"}, "'local_penalty' parameter of HDPTopics must be a number with"),
        ({"search": "paper", "local_penalty": 1.0}, "'global_penalty' parameter"),
        (
            {"search": "paper", "local_penalty": 1.0, "global_penalty": 1.0, "prior_weight": 2.0},
            "'prior_weight' parameter of HDPTopics must be 0 with search='paper'",
        ),
        (
            {"search": "paper", "local_penalty": 1.0, "global_penalty": 1.0, "background": True},
            "'background' parameter",
        ),
    ],
)
def test_parameters_that_exclude_each_other(options, sentence, bars):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        HDPTopics(**options).fit(bars)


def test_bad_counts_are_named(bars):
    X = bars.toarray()
    X[3, 5] = -1
    with pytest.raises(ValueError, match=r"X must hold counts >= 0. Got -1.0 at row 3, column 5"):
        HDPTopics().fit(X)
    X[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN at row 3, column 5"):
        HDPTopics().fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="X holds no words"):
        HDPTopics().fit(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="0 feature"):
        HDPTopics().fit(np.zeros((4, 0)))
    model = HDPTopics(random_state=0).fit(bars)
    with pytest.raises(ValueError, match="25 features as input"):
        model.transform(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"counts >= 0. Got -2.0 at row 1, column 0"):
        model.transform(np.array([np.ones(25), -2.0 * np.ones(25)]))


@pytest.mark.parametrize("scale", [1e-300, 1e306])
def test_counts_out_of_range_are_refused(bars, scale):
    with pytest.raises(ValueError, match="Scale them"):
        HDPTopics().fit(bars * scale)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_fractions_may_be_tiny_or_large(bars, scale):
    model = HDPTopics(random_state=0).fit(bars * scale)
    assert np.isfinite(model.objective_) and np.isfinite(model.components_).all()


def test_empty_documents_have_no_topic(bars):
    X = bars.toarray()
    X[[0, 30]] = 0
    model = HDPTopics(random_state=0).fit(X)
    empty = model.labels_ == -1
    np.testing.assert_array_equal(np.flatnonzero(empty), [0, 30])
    shares = model.transform(X)
    assert not shares[empty].any() and (shares[~empty].sum(axis=1) > 0.99).all()
    without = HDPTopics(random_state=0).fit(np.delete(X, [0, 30], axis=0))
    np.testing.assert_array_equal(without.components_, model.components_)
    np.testing.assert_array_equal(without.labels_, model.labels_[~empty])


def test_fractions_are_weights_and_new_words_are_ignored(bars):
    whole, half = (
        HDPTopics(8.0 * s, 60.0 * s, weighting="counts", prior_weight=12.0 * s, random_state=0).fit(
            bars * s
        )
        for s in (1.0, 0.5)
    )
    assert whole.n_topics_ > 1
    np.testing.assert_array_equal(half.labels_, whole.labels_)
    np.testing.assert_allclose(half.objective_, 0.5 * whole.objective_)
    X = bars.toarray()
    X[:, 7] = 0
    model = HDPTopics(random_state=0).fit(X)
    assert not model.components_[:, 7].any()
    np.testing.assert_array_equal(model.transform(bars.toarray()), model.transform(X))
    only = np.zeros((1, 25))
    only[0, 7] = 3
    assert not model.transform(only).any()


@pytest.mark.filterwarnings("ignore:Converged after .* Documents drawn:UserWarning")
@pytest.mark.parametrize(
    "X", [np.ones((1, 1)), np.array([[3, 1]]), np.ones((5, 1)), np.eye(4), np.ones((6, 3))]
)
def test_tiny_corpora(X):
    model = HDPTopics(random_state=0).fit(X)
    assert model.n_topics_ >= 1 and np.isfinite(model.objective_)
    assert np.isfinite(model.components_).all()
    HDPTopics(1.0, 1.0, search="paper").fit(X)


def test_penalties_at_their_ends(bars):
    assert HDPTopics(5.0, 1e12, random_state=0).fit(bars).n_topics_ == 1
    with pytest.warns(ConvergenceWarning, match="the cap of 12 topics"):
        model = HDPTopics(0.5, 0.0, max_topics=12, random_state=0).fit(bars)
    assert model.n_topics_ == 12
    with pytest.warns(ConvergenceWarning, match="Stopped after 1 step"):
        HDPTopics(max_iter=1, random_state=0).fit(bars)
    with pytest.warns(ConvergenceWarning, match="where n_topics=50 was wished"):
        HDPTopics(n_topics=50, random_state=0).fit(bars[:8])


def test_a_vectorizer_goes_straight_in():
    texts = [
        "cat dog pet cat",
        "dog pet",
        "cat pet dog",
        "sun moon",
        "moon star sun",
        "star sun",
    ] * 4
    pipeline = make_pipeline(CountVectorizer(), HDPTopics(random_state=0))
    shares = pipeline.fit_transform(texts)
    assert shares.shape == (24, 2)
    words = pipeline[-1].top_words(3, pipeline[0].get_feature_names_out())
    assert sorted(map(sorted, words)) == [["cat", "dog", "pet"], ["moon", "star", "sun"]]
    heaviest = pipeline[-1].components_.argmax(axis=1)
    assert pipeline[-1].top_words(1, by="share") == [[f"x{word}"] for word in heaviest]
    with pytest.raises(ValueError, match="feature"):
        pipeline[-1].top_words(3, ["too", "few"])


def assert_same(one, other):
    assert set(vars(one)) == set(vars(other))
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.objective_history_, other.objective_history_)


@pytest.mark.parametrize("background", [True, False])
def test_files(bars, tmp_path, background):
    model = HDPTopics(background=background, random_state=0).fit(bars)
    save(model, tmp_path / "topics")
    again = load(tmp_path / "topics")
    assert_same(model, again)
    assert model.top_words(5) == again.top_words(5)
    np.testing.assert_array_equal(model.transform(bars), again.transform(bars))
    assert_same(model, pickle.loads(pickle.dumps(model)))
    for wrong in ({"n_topics_": model.n_topics_ + 1}, {"relevance_": model.relevance_[:, 1:]}):
        with pytest.raises(ValueError, match="contradicts itself"):
            HDPTopics()._set_state(model._get_state() | wrong)


def test_interrupts_leave_the_estimator_as_it_was(bars):
    def build():
        return HDPTopics(random_state=0, n_jobs=1)

    expected = build().fit(bars)
    model = build()
    with watching_calls() as count:
        model.fit(bars)
    for moment in np.unique(np.linspace(1, count[0], 20).astype(int)):
        first, second = build(), build().fit(bars[:30])
        for model in (first, second):
            before = dict(vars(model))
            with pytest.raises(KeyboardInterrupt), watching_calls(at=moment):
                model.fit(bars)
            assert vars(model).keys() == before.keys()
            assert all(value is before[name] for name, value in vars(model).items())
    assert_same(first.fit(bars), expected)


def test_several_threads_may_fit_at_once(bars):
    models = [HDPTopics(random_state=0) for _ in range(4)]
    threads = [threading.Thread(target=model.fit, args=(bars,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models[1:]:
        assert_same(models[0], model)


def test_fit_fork_fit(run_python):
    out = run_python(
        """
        import os
        from hardbayes import HDPTopics
        from hardbayes.datasets import make_bars

        def fit():
            X = make_bars(60, random_state=0)[0]
            return HDPTopics(random_state=0, n_jobs=2).fit(X).components_.tobytes()

        expected = fit()
        child = os.fork()
        if child == 0:
            os._exit(0 if fit() == expected else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), fit() == expected)
        """,
        timeout=90,
    )
    assert out.split() == ["0", "True"]


def test_inputs_and_parameters_are_not_touched(bars):
    before, model = bars.copy(), HDPTopics("auto", "auto", random_state=3)
    params = dict(model.get_params())
    model.fit(bars, sample_weight=np.ones(60)).transform(bars)
    assert (bars != before).nnz == 0 and model.get_params() == params
    clone(model)


def test_verbose_reports_on_standard_error(bars, capsys):
    HDPTopics(random_state=0).fit(bars)
    assert capsys.readouterr() == ("", "")
    HDPTopics(random_state=0, verbose=1).fit(bars)
    said = capsys.readouterr()
    assert not said.out and "[HDPTopics] step 2: " in said.err and "global penalty" in said.err
