"""The automatic choice, and what is told of it."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hardbayes.gaussian.choice import rule as choice_module
from hardbayes.gaussian.choice.path import find_path
from hardbayes.gaussian.choice.rule import FEW, Candidate, Choice, choose_number, separate
from tests.gaussian.choice.samples import SQUARE, blobs, sampled

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
    assert len(said) == 2 and "plateau has 4 clusters" in said[0] and "4 clusters" in said[1]


def test_gaussians_that_overlap_are_found():
    matrix, true = blobs([[0.0, 0.0], [0.0, 3.2], [9.0, 0.0], [9.0, 9.0]], n=400)
    with sampled(matrix) as sample:
        kept = choose_number(sample, 100, None, print).kept
        assert kept.k == 4 and adjusted_rand_score(true[sample.ids], kept.labels) > 0.7


def test_many_gaussians_with_few_valleys_are_found():
    """Three T shapes of two bars each: merging what has no valley leaves half of the clusters."""
    rng = np.random.default_rng(0)
    middles = np.repeat(24.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), 2, axis=0)
    middles[1::2, 1] += 5.0
    widths = np.array([[4.0, 0.5, 0.5], [0.5, 4.0, 0.5]] * 3)
    true = np.repeat(np.arange(6), 400)
    matrix = middles[true] + widths[true] * rng.normal(size=(2400, 3))
    with sampled(matrix) as sample:
        assert separate(sample.rows, find_path(sample.rows), sample.dip_rows).k == 3
        kept = choose_number(sample, 100, None, print).kept
        assert kept.k == 6 and adjusted_rand_score(true[sample.ids], kept.labels) > 0.6


def test_parts_of_clusters_that_are_far_apart():
    """Random walks have valleys inside, on all scales; those between them are much deeper."""
    rng = np.random.default_rng(0)
    walks = np.cumsum(rng.normal(size=(3, 600, 2)), axis=1)
    walks -= walks.mean(axis=1, keepdims=True)
    walks /= walks.std(axis=(1, 2), keepdims=True)
    walks += 6.0 * np.array([[[0, 0]], [[1, 0]], [[0, 1]]])
    with sampled(walks.reshape(-1, 2)) as sample:
        kept = choose_number(sample, 100, None, print).kept
        assert kept.k == 3 and adjusted_rand_score(sample.ids // 600, kept.labels) > 0.99


def test_a_grid_is_not_taken_for_its_blocks():
    matrix, true = blobs([[5.5 * i, 5.5 * j] for i in range(8) for j in range(8)], n=60)
    with sampled(matrix) as sample:
        kept = choose_number(sample, 100, None, print).kept
        assert kept.k == 64 and adjusted_rand_score(true[sample.ids], kept.labels) > 0.95


def test_one_cluster_inside_another_is_seen():
    """A ring of Gaussian noise around a core, and a core in a wide cloud."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2 * np.pi, 600)
    ring = 6.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(600, 2))
    assert choice(np.vstack([ring, 0.3 * rng.normal(size=(200, 2))]))[0].kept.k > 1


def test_clusters_without_valleys_are_few():
    """Bars that cross are two; rows do not thin out between them."""
    rng = np.random.default_rng(0)
    bars = rng.normal(size=(400, 3)) * [6.0, 0.3, 1.0]
    bars[200:] = bars[200:, [1, 0, 2]]
    found, said = choice(bars)
    assert 1 < found.kept.k <= FEW and "likelier than rows without clusters" in said[1]


def test_the_nearest_number_and_how_to_get_it():
    found, _ = choice(np.random.default_rng(0).normal(size=(300, 2)))
    assert found.kept.k == 1 and found.nearest.n_clusters > 1
    k = found.nearest.n_clusters
    sentence = found.sentence()
    assert sentence.startswith("No other number of clusters stood out, so there is one cluster.")
    assert f"Nearest came {k} clusters" in sentence
    assert f"GaussianDPMeans(n_clusters={k})" in sentence


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
        return {k: step for k, step in find_path(rows, *most).items() if not 4 <= k <= 9}

    monkeypatch.setattr(choice_module, "find_path", thinned)
    rng = np.random.default_rng(0)
    corners = 3.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[np.arange(800) % 4]
    found, _ = choice(corners + rng.uniform(size=(800, 2)))
    assert found.kept.k == 4
    assert [each.n_clusters for each in found.candidates if each.chosen] == [4]
