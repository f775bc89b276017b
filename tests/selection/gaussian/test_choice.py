"""The automatic choice, and what is told of it."""

import numpy as np
import pytest

from hardbayes.selection.gaussian import choice as choice_module
from hardbayes.selection.gaussian.choice import Candidate, Choice, choose_number
from hardbayes.selection.gaussian.path import find_path
from tests.selection.gaussian.samples import SQUARE, blobs, sampled

MATRIX, _ = blobs(SQUARE)


def choice(matrix, max_clusters=100, prior=None):
    said = []
    with sampled(matrix) as sample:
        given = None if prior is None else sample.to_sample(prior)
        return choose_number(sample, max_clusters, given, said.append), said


def test_the_number_that_was_chosen_and_the_others():
    found, said = choice(MATRIX)
    assert found.kept.k == 4 and found.nearest is None
    numbers = [each.n_clusters for each in found.candidates]
    assert numbers == sorted(numbers) and {1, 2, 3, 4, 5} <= set(numbers)
    assert [each.n_clusters for each in found.candidates if each.chosen] == [4]
    by_number = {each.n_clusters: each for each in found.candidates}
    assert by_number[1].evidence == 0.0 and by_number[1].p_value == 1.0
    assert max(found.candidates, key=lambda each: each.evidence).n_clusters == 4
    assert by_number[2].p_value < 0.01
    assert len(said) == 3 and "4 separate clusters" in said[1]


def test_the_nearest_number_and_how_to_get_it():
    found, _ = choice(np.random.default_rng(0).normal(size=(300, 2)))
    assert found.kept.k == 1 and found.nearest.n_clusters > 1
    k = found.nearest.n_clusters
    sentence = found.sentence()
    assert sentence.startswith("One cluster: no other number stood out.")
    assert f"{k} clusters came nearest" in sentence
    assert f"GaussianDPMeans(0, max_clusters={k})" in sentence


@pytest.mark.parametrize(("evidence", "words"), [(-7.0, "less likely"), (7.0, "do not thin out")])
def test_what_spoke_against_the_nearest_number(evidence, words):
    found = Choice(None, (), Candidate(2, evidence, 0.4, False)).sentence()
    assert words in found and "7 nats" in found
    assert ("p-value 0.4" in found) == (evidence > 0)


def test_too_few_rows_to_tell():
    found, _ = choice(np.eye(3))
    assert found.kept.k == 1 and found.nearest is None
    assert "too few" in found.sentence()


def test_a_cap_and_a_given_prior():
    assert choice(MATRIX, max_clusters=3)[0].kept.k <= 3
    prior = np.diag([400.0, 300.0])
    found, _ = choice(MATRIX, prior=prior)
    assert found.kept.k == 4


def test_a_number_that_the_path_has_skipped(monkeypatch):
    def thinned(rows, *most):
        path = find_path(rows, *most)
        path.pop(4, None)
        return path

    monkeypatch.setattr(choice_module, "find_path", thinned)
    rng = np.random.default_rng(0)
    corners = 3.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[np.arange(800) % 4]
    found, _ = choice(corners + rng.uniform(size=(800, 2)))
    assert found.kept.k == 4
    assert [each.n_clusters for each in found.candidates if each.chosen] == [4]
