import numpy as np
import pytest

from hardbayes.geometry import geometry_for
from hardbayes.structure import Partition


@pytest.mark.parametrize("divergence", ["squared_euclidean", "kl"])
@pytest.mark.parametrize("eta", [0.0, 0.5, 10.0])
def test_the_opening_centre_is_the_cheapest(divergence, eta):
    """No other centre makes a one-row cluster cheaper, and the price is what it costs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1.0, (20, 4))
    X /= X.sum(axis=1, keepdims=True)
    geometry = geometry_for(divergence)
    mean = X.mean(axis=0)
    partition = Partition(geometry, 0.3, eta, mean, 100)
    weights = rng.uniform(0.5, 2.0, 20)
    prices = partition.prices(X, weights) if eta else np.full(20, 0.3)

    def cost(row, weight, centre):
        return (
            0.3
            + weight * geometry.divergence(row, centre)
            + eta * geometry.divergence(mean, centre)
        )

    centres = partition.opening_centres(X, weights)
    for row, weight, price, centre in zip(X, weights, prices, centres, strict=True):
        assert price == pytest.approx(cost(row, weight, centre), rel=1e-9)
        for _ in range(10):
            other = np.abs(centre + rng.normal(size=4) * 1e-3)
            assert cost(row, weight, other) >= price * (1 - 1e-12)


def test_a_union_at_the_border_of_the_domain_has_a_price():
    """Rounding may carry the united mean past one, where the divergence is infinite."""
    rng = np.random.default_rng(0)
    geometry = geometry_for("logistic")
    mean = np.array([0.4, 1.0])
    partition = Partition(geometry, 1.0, 0.3, mean, 100)
    weights, others = rng.uniform(0.1, 3.0, (2, 2000))
    shares = rng.uniform(0.1, 0.9, (2, 2000))
    centres = [
        partition.centres(w, np.stack([w * share, w], axis=1))
        for w, share in zip((weights, others), shares, strict=True)
    ]
    costs = partition.union_costs(weights, centres[0], others, centres[1])
    assert np.isfinite(costs).all()
    assert all((c <= 1.0).all() for c in centres)
