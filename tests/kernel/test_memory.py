import numpy as np
import pytest
from scipy import sparse

from hardbayes.core.pool import Pool
from hardbayes.kernel import clusters as memory
from hardbayes.kernel.clusters import KernelMatrix, hold
from tests.reference.graphs import kernel_objective
from tests.reference.mercer import literal_kernel_dp_means, random_kernel


def gram(kernel, weights, threads=1, **options):
    diagonal = np.array(kernel.diagonal())
    return KernelMatrix(hold(kernel), diagonal, weights, Pool(threads), **options)


@pytest.fixture
def small_slabs(monkeypatch):
    """Several slabs of few rows."""
    monkeypatch.setattr(memory, "MAX_IN_SLAB", 4)
    monkeypatch.setattr(memory, "AHEAD", 2)


@pytest.mark.usefixtures("small_slabs")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_sums_are_those_of_the_whole_matrix(kind):
    rng = np.random.default_rng(0)
    kernel, weights = random_kernel(rng, 23), rng.uniform(size=23)
    kernel[np.abs(kernel) < 1.0] = 0.0
    rows, labels = gram(kind(kernel), weights), rng.integers(0, 3, 23)
    members = np.eye(4)[labels] * weights[:, np.newaxis]
    found = rows.statistics(labels, 4)
    np.testing.assert_allclose(found.volumes, members.sum(axis=0))
    np.testing.assert_allclose(found.links, members.T @ kernel @ members, atol=1e-12)
    vectors = rng.normal(size=(23, 2))
    np.testing.assert_allclose(rows.times(vectors), kernel @ vectors, atol=1e-12)
    np.testing.assert_array_equal(rows.whole(), kernel)
    part = rows.part(np.array([1, 5, 7]), np.ones(3))
    np.testing.assert_array_equal(part.whole(), kernel[np.ix_([1, 5, 7], [1, 5, 7])])


@pytest.mark.usefixtures("small_slabs")
def test_a_sweep_is_one_pass_of_the_algorithm():
    rng = np.random.default_rng(3)
    kernel, weights = random_kernel(rng, 19), rng.uniform(0.5, 1.5, 19)
    order = rng.permutation(19)
    labels = np.zeros(19, np.int64)
    rows = gram(kernel, weights, penalty=2.0, order=order)
    found, capped = rows.sweep(rows.statistics(labels, 1))
    expected, _ = literal_kernel_dp_means(kernel, weights, 2.0, order, max_iter=1)
    np.testing.assert_array_equal(np.unique(found, return_inverse=True)[1], expected)
    assert not capped and expected.max() > 0


@pytest.mark.usefixtures("small_slabs")
@pytest.mark.parametrize("threads", [1, 3])
def test_moves_lead_to_the_same_labels_with_any_number_of_threads(threads):
    rng = np.random.default_rng(5)
    kernel, weights = random_kernel(rng, 30), np.ones(30)
    labels = rng.integers(0, 5, 30)
    found = []
    for n in (1, threads):
        rows = gram(kernel, weights, n, penalty=1.0)
        found.append(rows.move_rows(labels, rows.statistics(labels, 5), 50))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1] > 0
    before = kernel_objective(kernel, weights, labels, 1.0)
    assert kernel_objective(kernel, weights, found[0][0], 1.0) < before


def test_of_many_rows_those_nearest_to_a_move_are_visited_again(monkeypatch):
    rng = np.random.default_rng(6)
    kernel, weights = random_kernel(rng, 60), np.ones(60)
    labels = rng.integers(0, 3, 60)
    rows, visited = gram(kernel, weights, penalty=1.0), []
    clusters = rows.statistics(labels, 3)
    assert clusters.volumes.sum() == 60  # summed before slabs are counted
    slabs = rows._slabs
    monkeypatch.setattr(rows, "_slabs", lambda order: visited.append(len(order)) or slabs(order))
    monkeypatch.setattr(memory, "ALWAYS_VISITED", 50)
    found, _ = rows.move_rows(labels, clusters, 9)
    assert visited[0] == 60 and max(visited[1:]) <= 7
    after = kernel_objective(kernel, weights, found, 1.0)
    assert after < kernel_objective(kernel, weights, labels, 1.0)


def test_no_slab_is_larger_than_it_may_be(monkeypatch):
    monkeypatch.setattr(memory, "SLAB", 64)
    sizes = []

    def values(ids, columns):
        found = np.eye(20)[ids]
        sizes.append(found.size)
        return found

    rows = KernelMatrix(values, np.ones(20), np.ones(20), Pool(1))
    assert rows.statistics(np.zeros(20, np.int64), 1).volumes[0] == 20
    assert max(sizes) <= 64 and len(sizes) == 7
