import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from hardbayes import DPMeans
from hardbayes.datasets import make_word_histograms


@pytest.fixture
def words():
    return make_word_histograms(300, 40, random_state=0)[0].astype(float)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
def test_one_model_serves_all_kinds_of_rows_again_and_again(words, divergence):
    model = DPMeans(2.0, divergence=divergence, random_state=0).fit(words)
    fresh = pickle.dumps(model)
    kinds = [words, words.astype(np.float32), sparse.csr_array(words), words[:7], words[:1]]
    kinds.append(sparse.csr_array(words.astype(np.float32)))
    for _ in range(2):
        for rows in kinds:
            n = rows.shape[0]
            np.testing.assert_array_equal(model.predict(rows), model.labels_[:n])
            np.testing.assert_allclose(
                model.score_samples(rows), pickle.loads(fresh).score_samples(rows), rtol=1e-12
            )


def test_what_predict_has_laid_out_is_not_kept_in_files(words):
    model = DPMeans(2.0, random_state=0).fit(words)
    size = len(pickle.dumps(model))
    model.predict(words)
    assert len(pickle.dumps(model)) == size
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(words), model.labels_)


def test_many_threads_place_rows_with_one_model(words):
    model = DPMeans(2.0, random_state=0, n_jobs=2).fit(words)
    parts = [words[start::5] for start in range(5)] * 8
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(model.predict, parts))
    for start, labels in zip(list(range(5)) * 8, found, strict=True):
        np.testing.assert_array_equal(labels, model.labels_[start::5])


def test_a_second_fit_forgets_the_first(words):
    model = DPMeans(2.0, random_state=0).fit(words)
    model.predict(words)
    model.fit(words[:150])
    np.testing.assert_array_equal(model.predict(words[:150]), model.labels_)
