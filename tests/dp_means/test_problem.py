"""From a matrix to rows that a fit can run on, and back to the user's units."""

import numpy as np
import pytest
from scipy import sparse

from hardbayes.core import arrays
from hardbayes.core.arrays import row_lengths
from hardbayes.core.frame import Frame, check_size, cluster_bound
from hardbayes.core.geometry import GEOMETRIES, geometry_for
from hardbayes.core.pool import Pool
from hardbayes.dp_means.problem import opening_costs, overall_mean, pose, rows_in_memory
from tests.dp_means.partition_states import pose_here
from tests.reference.dp_means import prepared_rows
from tests.test_divergences import rows_for

WEIGHTS = np.random.default_rng(5).choice([3.0, 5.0, 11.0], 40)


def example(divergence="squared_euclidean", container=np.asarray, weights=WEIGHTS):
    X = rows_for(divergence, np.random.default_rng(0), 40, 4, zeros=False)
    return X, pose_here(container(X), divergence, weights)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", sorted(GEOMETRIES))
def test_rows_are_those_of_the_matrix_in_working_coordinates(divergence, container):
    if divergence == "itakura_saito":
        container = np.asarray  # zeros are outside the domain
    X, problem = example(divergence, container)
    rows, geometry = problem.rows, problem.geometry
    expected = prepared_rows(X, divergence)
    if geometry.row_unit is None:
        expected = (X - problem.frame.shift) * problem.frame.scale
    np.testing.assert_allclose(rows.take().dense(), expected, rtol=1e-14)
    assert (rows.n_rows, rows.n_columns) == X.shape
    assert rows.layout.sparse == (container is sparse.csr_array)
    np.testing.assert_array_equal(rows.labels(), np.full(40, -1))
    constants = geometry.potential(rows.take().dense())
    if geometry.distance_costs:
        np.testing.assert_array_equal(rows.constants, [0.0])
    else:
        np.testing.assert_allclose(rows.constants, constants, rtol=1e-12)
    mean = np.average(rows.take().dense(), axis=0, weights=WEIGHTS)
    np.testing.assert_allclose(problem.mean, mean, rtol=1e-12)
    anchor = rows.layout.anchor
    if geometry.needs_mean and not rows.layout.sparse:
        np.testing.assert_array_equal(anchor, problem.mean)
    else:
        assert anchor is None


def test_weights_are_divided_by_a_power_of_two():
    _, problem = example()
    assert problem.weight_unit == 1 / 16  # the heaviest weighs 11
    np.testing.assert_array_equal(problem.rows.weights, WEIGHTS / 16)
    _, alike = example(weights=None)
    assert alike.weight_unit == 0.5 and alike.rows.weights.tolist() == [0.5]


def test_units():
    X = np.array([[1.0, 200.0], [3.0, -100.0]])
    problem = pose_here(X, weights=np.array([1.0, 2.0]))
    assert problem.frame.scale == 1 / 256 and problem.largest == 200.0
    assert problem.unit == 2.0**-16 / 4
    partition = problem.partition(10.0, 3.0, 7)
    assert partition.penalty == 10.0 * problem.unit
    assert partition.prior_weight == 3.0 * problem.weight_unit
    assert partition.max_clusters == 7
    np.testing.assert_array_equal(partition.prior_mean, problem.mean)


def test_the_mean_is_computed_only_where_it_is_needed():
    _, problem = example()
    assert not problem.partition(1.0, 0.0, None).prior_mean.any()
    assert "mean" not in vars(problem)
    assert problem.partition(1.0, 0.5, None).prior_mean.any()
    _, other = example("poisson")
    np.testing.assert_array_equal(other.partition(1.0, 0.0, None).prior_mean, other.mean)


def test_the_overall_mean_leaves_labels_alone():
    _, problem = example()
    labels = (np.arange(40) % 3).astype(np.int32)
    problem.rows.set_labels(np.arange(40), labels)
    mean = overall_mean(problem.rows)
    np.testing.assert_allclose(
        mean, np.average(problem.rows.take().dense(), axis=0, weights=WEIGHTS)
    )
    np.testing.assert_array_equal(problem.rows.labels(), labels)


@pytest.mark.parametrize(("n_columns", "bound"), [(1, 1 << 25), (1 << 10, 1 << 15), (1 << 22, 64)])
def test_fits_without_a_cap_stop_somewhere(n_columns, bound):
    assert cluster_bound(n_columns) == bound


def test_without_a_cap_there_is_a_bound():
    assert example()[1].partition(1.0, 0.0, None).max_clusters == cluster_bound(4)


@pytest.mark.parametrize("chunk", [1, 1 << 21])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson", "cosine"])
def test_opening_costs(divergence, container, chunk, monkeypatch):
    monkeypatch.setattr(arrays, "CHUNK_BYTES", chunk)  # also a row at a time
    _, problem = example(divergence, container)
    partition = problem.partition(0.5, 2.0, None)
    found = problem.opening_costs(partition)
    local = problem.rows.take()
    weights, dense = local.weights_at(), local.dense()
    centres = partition.opening_centres(dense, weights)
    expected = partition.penalty + weights * problem.geometry.divergence(dense, centres)
    expected += partition.prior_costs(centres)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    plain = problem.partition(0.5, 0.0, None)
    np.testing.assert_array_equal(problem.opening_costs(plain), [plain.penalty])
    one = opening_costs(problem.rows, partition, np.array([0.25]))
    centres = partition.opening_centres(dense, np.full(40, 0.25))
    expected = partition.penalty + 0.25 * problem.geometry.divergence(dense, centres)
    np.testing.assert_allclose(one, expected + partition.prior_costs(centres), rtol=1e-9)


def test_equal_rows_never_pay_less_than_rounding():
    """Even at a penalty of zero: or equal rows might part."""
    X = np.ones((6, 3))
    problem = pose_here(X)
    costs = problem.opening_costs(problem.partition(0.0, 1.0, None))
    assert (costs > 0).all()


def test_given_centres_in_working_coordinates():
    X, problem = example()
    found = problem.centres_in_frame(X[:3])
    np.testing.assert_allclose(found, problem.rows.take(np.arange(3)).dense())
    X, problem = example("cosine")
    found = problem.centres_in_frame(5.0 * X[:3])
    np.testing.assert_allclose(row_lengths(found), 1.0)
    with pytest.raises(ValueError, match="'init' parameter holds centres so far"):
        problem.centres_in_frame(np.full((1, 4), 1e200))
    with pytest.raises(ValueError, match="'init' parameter holds centres so far"):
        problem.centres_in_frame(np.full((1, 4), np.nan))


def test_weights_of_clusters_in_the_users_units():
    labels = (np.arange(40) % 3).astype(np.int32)
    for weights in (WEIGHTS, None):
        found = example(weights=weights)[1].weights_of(labels, 5)
        full = np.ones(40) if weights is None else weights
        np.testing.assert_array_equal(found, np.bincount(labels, full, 5))


def test_a_penalty_that_is_lost_beside_the_data_is_refused():
    _, problem = example()
    problem.check_penalty(0.0)
    problem.check_penalty(1e-200)
    huge = pose_here(np.array([[0.0], [1e150]]))
    with pytest.raises(ValueError, match="'cluster_penalty' parameter, 1e-05, is too small"):
        huge.check_penalty(1e-5)
    check_size("x", 0.0, 1e-300, "distances between", 1.0)
    check_size("x", 1e-290, 1.0, "distances between", 1.0)
    with pytest.raises(ValueError, match="'x' parameter, 9e-291, is too small"):
        check_size("x", 9e-291, 1.0, "distances between", 1.0)


@pytest.mark.parametrize("divergence", ["squared_euclidean", "poisson"])
def test_rounding_of_the_objective_in_the_users_units(divergence):
    _, problem = example(divergence)
    rows = problem.rows
    size = problem.geometry.objective_rounding(rows.total_weight, rows.constants_size, problem.mean)
    assert problem.rounding == size / problem.unit > 0


def test_rows_of_a_given_frame():
    X, problem = example()
    frame = Frame(np.array([1.0, 2.0, 3.0, 4.0]), 0.5, 2)
    largest = np.abs(X - frame.shift).max(axis=0)
    rows = rows_in_memory(X, problem.geometry, frame, np.ones(1), largest, Pool(1))
    np.testing.assert_array_equal(rows.take().dense(), (X - frame.shift) * 0.5)
    constants = rows.rounding.rows[0]
    # Sums of all rows are exact in the units that the largest values allow.
    assert (constants > 40 * largest * 0.5).all()


def test_a_problem_knows_its_pool():
    with Pool(3) as pool:
        problem = pose(np.ones((3, 2)), geometry_for("squared_euclidean"), None, pool)
        assert problem.rows.pool is pool
