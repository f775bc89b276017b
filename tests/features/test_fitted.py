"""A fitted model of features: memberships of new rows, and the attributes of a fit."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardbayes.core import schema
from hardbayes.core.frame import Frame
from hardbayes.core.loop import Status
from hardbayes.core.pool import Pool
from hardbayes.features.descent import FeatureSolution, Point
from hardbayes.features.fitted import MODEL, FittedFeatures, fitted_attributes
from hardbayes.features.problem import pose_features
from hardbayes.features.rows import Allocation

A = np.array([[4.0, 0.0, 1.0], [0.0, 2.0, 2.0]])
Z = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], bool)


@pytest.fixture(params=[0.0, 3.0])
def model(request):
    return FittedFeatures(Frame(np.full(3, request.param), 0.25, 2), A * 0.25)


@pytest.mark.parametrize("store", [np.asarray, csr_array])
def test_rows_are_allocated_and_rebuilt(model, store):
    X = Z @ A + np.array([0.1, 0.0, 0.0])
    with Pool(1) as pool:
        membership, costs = model.allocate(store(X), pool)
    np.testing.assert_array_equal(membership, Z)
    np.testing.assert_allclose(costs, 0.01)
    np.testing.assert_allclose(model.rebuild(membership), Z @ A)


def test_arrays_and_back(model):
    again = FittedFeatures.from_arrays(model.to_arrays())
    np.testing.assert_array_equal(again.components, model.components)
    assert again.frame.scale == model.frame.scale


@pytest.mark.parametrize(
    "spoil",
    [
        lambda arrays: arrays.pop("working_shift"),
        lambda arrays: arrays.update(working_scale=0.0),
        lambda arrays: arrays.update(working_components=np.full((2, 3), np.inf)),
        lambda arrays: arrays.update(more=1),
    ],
)
def test_arrays_that_cannot_be_are_refused(model, spoil):
    arrays = model.to_arrays()
    spoil(arrays)
    with pytest.raises(ValueError, match="saved model"):
        schema.check(arrays, MODEL)


def test_attributes_are_in_the_order_of_weight_and_the_users_units():
    X = 8.0 * (Z @ A)
    with Pool(1) as pool:
        problem = pose_features(X, np.array([1.0, 5.0, 1.0, 1.0]), pool)
    trace = [Point(30.0 * problem.unit, 1), Point(2.0 * problem.unit, 2)]
    allocation = Allocation(8.0 * A * problem.frame.scale, Z.astype(np.uint8))
    solution = FeatureSolution(allocation, trace, Status.CONVERGED, np.eye(2))
    found = fitted_attributes(solution, problem, 3.0, np.dtype(np.float32))
    np.testing.assert_array_equal(found["components_"], 8.0 * A[::-1])
    np.testing.assert_array_equal(found["membership_"], Z[:, ::-1])
    assert found["components_"].dtype == np.float32
    assert (found["inertia_"], found["objective_"]) == (2.0, 8.0)
    np.testing.assert_array_equal(found["objective_history_"], [33.0, 8.0])
    assert "2 sweeps" in found["status_"] and found["converged_"]
