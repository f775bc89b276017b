"""States far from good, for moves to improve."""

from contextlib import contextmanager

import numpy as np

from hardbayes.dp_means.passes import passes_for
from tests.dp_means.partition_states import posed, state_at, value_of
from tests.test_divergences import rows_for


def random_case(seed):
    """Rows in a few heaps, some weights of zero, and labels that know nothing of the heaps."""
    rng = np.random.default_rng(seed)
    heaps = rng.uniform(1.0, 20.0, (5, 3))
    X = rng.gamma(20.0, heaps[rng.integers(5, size=80)] / 20.0)
    weights = rng.integers(0, 3, 80).astype(float)
    labels = rng.integers(6, size=80)
    weights[np.unique(labels, return_index=True)[1]] = 1.0  # every cluster has weight
    return X, weights, labels


def heaps_for(divergence, seed, n=60, k=5):
    """The same in the domain of any divergence: labels that follow heaps here and there."""
    rng = np.random.default_rng(seed)
    heaps = rows_for(divergence, rng, 6, 4, zeros=False)
    member = rng.integers(6, size=n)
    X = 0.8 * heaps[member] + 0.2 * rows_for(divergence, rng, n, 4, zeros=False)
    labels = np.where(rng.random(n) < 0.6, member % k, rng.integers(k, size=n))
    labels[:k] = np.arange(k)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    weights[:k] = 1.0
    return X, weights, labels


class Case:
    """A state at labels, and the objective of any labels in working units."""

    def __init__(self, problem, X, weights, labels, divergence, penalty, prior_weight, cap):
        self.problem, self.X, self.weights, self.divergence = problem, X, weights, divergence
        self.partition = problem.partition(penalty, prior_weight, cap)
        self.passes = passes_for(self.partition)
        self.state = state_at(problem, self.partition, labels)

    def value(self, labels=None):
        labels = self.state.numbers() if labels is None else labels
        return value_of(self.problem, self.partition, self.X, self.weights, labels, self.divergence)


@contextmanager
def labelled(
    X,
    weights,
    labels,
    divergence="squared_euclidean",
    penalty=1.0,
    max_clusters=None,
    n_threads=1,
    prior_weight=0.0,
):
    """A state that stands at these labels, and the partition to judge by."""
    with posed(X, divergence, weights, n_threads) as problem:
        yield Case(problem, X, weights, labels, divergence, penalty, prior_weight, max_clusters)
