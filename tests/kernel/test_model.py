import numpy as np
import pytest

from hardbayes.core.centre_free import labelled
from hardbayes.core.pool import Pool
from hardbayes.kernel import clusters as module
from hardbayes.kernel.clusters import KernelMatrix, hold
from tests.reference.graphs import kernel_objective
from tests.reference.mercer import random_kernel


@pytest.fixture
def case():
    rng = np.random.default_rng(2)
    kernel, weights = random_kernel(rng, 40), rng.uniform(0.5, 1.5, 40)
    matrix = KernelMatrix(hold(kernel), np.diag(kernel).copy(), weights, Pool(1), 3.0, 40)
    return kernel, weights, matrix, rng.integers(0, 4, 40)


def test_objective_and_unions_are_exact(case):
    kernel, weights, model, labels = case
    current = labelled(model, labels)
    np.testing.assert_allclose(current.objective, kernel_objective(kernel, weights, labels, 3.0))
    merges = model.merges(current.statistics)
    assert (np.diff(merges.costs) >= 0).all() and len(merges.costs) == 6
    for left, right, rise in zip(*merges, strict=True):
        merged = np.where(labels == right, left, labels)
        change = kernel_objective(kernel, weights, merged, 0.0) - current.costs.sum()
        np.testing.assert_allclose(rise, change, atol=1e-9)


def test_distances_and_the_nearest_cluster(case):
    kernel, weights, model, labels = case
    clusters = model.statistics(labels, 4)
    nearest, distances = model.nearest(clusters, np.arange(40))
    members = np.eye(4)[labels] * weights[:, np.newaxis]
    shares = members / members.sum(axis=0)
    inside = np.einsum("ic,ij,jc->c", shares, kernel, shares)
    expected = np.diag(kernel)[:, np.newaxis] - 2 * kernel @ shares + inside
    np.testing.assert_array_equal(nearest, expected.argmin(axis=1))
    np.testing.assert_allclose(distances, expected.min(axis=1), atol=1e-9)
    own = model.distances(clusters, np.arange(40))
    np.testing.assert_allclose(own, expected[np.arange(40), labels], atol=1e-9)


def test_a_division_found_on_a_sample_divides_all_rows(case, monkeypatch):
    _, _, model, _ = case
    current = labelled(model, np.zeros(40, np.int64))
    whole = model.split(current.members, current.statistics, [0], np.random.RandomState(0))[0]
    side = model.second_half(current.members[0], whole)
    monkeypatch.setattr(module, "TRIAL_ROWS", 25)
    part = model.split(current.members, current.statistics, [0], np.random.RandomState(0))[0]
    other = model.second_half(current.members[0], part)
    assert len(part.halves.ids) == 25 and abs(part.saved / whole.saved - 1) < 0.5
    assert max(np.mean(side == other), np.mean(side != other)) > 0.9
