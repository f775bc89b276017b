"""Fitted clusters with covariances: prediction, and the way to arrays and back."""

import numpy as np
import pytest

from hardbayes.core import schema
from hardbayes.core.pool import Pool
from hardbayes.gaussian.fitted import FittedGaussians, schemas
from hardbayes.gaussian.problem import whitening
from tests.gaussian.test_gaussians import gaussians

RATE, PENALTY = 2.0, 0.5


@pytest.fixture(params=[False, True], ids=["full", "diag"])
def fitted(request):
    """A model of three clusters, rows in the user's units, and costs (n, 3) by definition."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(30, 2)) * [1.0, 5.0] + 7.0, np.arange(30) % 3
    rows[labels == 1] += 20.0
    diagonal, prior = request.param, np.array([[30.0, 5.0], [5.0, 40.0]])
    if diagonal:
        prior = np.diag(np.diag(prior))
    seen = whitening(rows.mean(axis=0), np.diag(prior) if diagonal else prior)
    forward = np.diag(seen.forward) if diagonal else seen.forward
    working = (rows - seen.middle) @ forward
    model = FittedGaussians(seen, gaussians(working, labels, np.ones(30), diagonal), RATE, PENALTY)
    costs = []
    for weight, mean, scatter in zip(*gaussians(rows, labels, np.ones(30)), strict=True):
        scatter = np.diag(np.diag(scatter)) if diagonal else scatter
        inverse = np.linalg.inv((scatter + prior) / RATE)
        costs.append(np.einsum("id,de,ie->i", rows - mean, inverse, rows - mean))
        assert weight == 10
    return model, rows, np.array(costs).T


def test_placement(fitted):
    model, rows, costs = fitted
    with Pool(1) as pool:
        assigned = model.assign(rows, pool)
        np.testing.assert_array_equal(assigned.labels(), costs.argmin(axis=1))
        np.testing.assert_allclose(assigned.costs(), costs.min(axis=1), rtol=1e-8)
        np.testing.assert_allclose(assigned.distances() ** 2, costs, rtol=1e-8)
        np.testing.assert_array_equal(assigned.novel(), costs.min(axis=1) > PENALTY)


def test_arrays(fitted):
    model, rows, _ = fitted
    again = FittedGaussians.from_arrays(model.whitening.diagonal, PENALTY, model.to_arrays())
    with Pool(1) as pool:
        np.testing.assert_array_equal(
            again.assign(rows, pool).distances(), model.assign(rows, pool).distances()
        )


def test_arrays_that_contradict_each_other_are_refused(fitted):
    model = fitted[0]
    for name, value in [
        ("working_rate", -1.0),
        ("working_means", np.zeros((2, 2))),
        ("working_middle", np.full(2, np.nan)),
        ("working_weights", np.ones(3, np.float32)),
        ("working_other", np.ones(3)),
    ]:
        arrays = model.to_arrays() | {name: value}
        with pytest.raises(ValueError, match="contradicts itself"):
            schema.check(arrays, schemas(model.whitening.diagonal)[1])
    with pytest.raises(ValueError, match="incomplete"):
        schema.check({}, schemas(model.whitening.diagonal)[1])
