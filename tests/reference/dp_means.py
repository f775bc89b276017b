"""Kulis & Jordan's Algorithm 1, one row at a time, by the direct formula in float64.

Nothing here is clever: the sweep is the paper's loop, every divergence is summed term by term,
and every mean is a weighted average.  With ``prior_weight = eta`` each cluster carries ``eta``
pseudo-rows at the overall mean ``m``; ``eta = 0`` is the paper.
"""

from dataclasses import dataclass

import numpy as np

from hardbayes.core.arrays import VisitOrder


@dataclass
class LiteralResult:
    labels: np.ndarray
    centers: np.ndarray
    history: list
    converged: bool

    @property
    def objective(self):
        return self.history[-1]

    @property
    def n_iter(self):
        return len(self.history)


def prepared_rows(X, divergence):
    """The rows as the divergence sees them, in float64: shares for KL, directions for cosine."""
    X = np.array(X, dtype=np.float64)
    if divergence == "kl":
        X = X / X.sum(axis=1, keepdims=True)
    if divergence == "cosine":
        X = X / np.sqrt((X**2).sum(axis=1, keepdims=True))
    return X


def shown_centers(centers, divergence):
    """Centres as a fitted model shows them: for cosine their directions."""
    if divergence == "cosine":
        return centers / np.sqrt((centers**2).sum(axis=1, keepdims=True))
    return centers


def divergence_to(x, centers, divergence):
    """D(x, c) for each row c of ``centers``, row first."""
    centers = np.atleast_2d(centers)
    if divergence == "squared_euclidean":
        return ((x - centers) ** 2).sum(axis=1)
    if divergence == "kl":
        used = x > 0
        with np.errstate(divide="ignore"):
            terms = x[used] * (np.log(x[used]) - np.log(centers[:, used]))
        return terms.sum(axis=1)
    if divergence == "poisson":
        return (entropy_terms(x, centers) - x + centers).sum(axis=1)
    if divergence == "itakura_saito":
        return (x / centers - np.log(x / centers) - 1.0).sum(axis=1)
    if divergence == "logistic":
        return (entropy_terms(x, centers) + entropy_terms(1.0 - x, 1.0 - centers)).sum(axis=1)
    if divergence == "cosine":
        return np.sqrt((x**2).sum()) - centers @ x / np.sqrt((centers**2).sum(axis=1))
    matrix = np.asarray(divergence.matrix)  # Mahalanobis
    return np.array([(x - c) @ matrix @ (x - c) for c in centers])


def entropy_terms(x, centers):
    """x_j log(x_j / c_j), nothing where x_j is zero."""
    terms = np.zeros(np.broadcast(x, centers).shape)
    used = np.broadcast_to(x > 0, terms.shape)
    with np.errstate(divide="ignore"):
        ratios = np.broadcast_to(x, terms.shape)[used] / centers[used]
    terms[used] = np.broadcast_to(x, terms.shape)[used] * np.log(ratios)
    return terms


def divergence_matrix(X, centers, divergence):
    """D(x_i, c_k) for all rows and centres."""
    return np.array([divergence_to(x, centers, divergence) for x in X]).reshape(len(X), -1)


def shrunk_mean(X, w, prior_mean, prior_weight):
    """(sum w x + eta m) / (sum w + eta)."""
    total = (w[:, None] * X).sum(axis=0)
    if prior_weight > 0:
        total = total + prior_weight * prior_mean
    return total / (w.sum() + prior_weight)


def overall_mean(X, w):
    return (w[:, None] * X).sum(axis=0) / w.sum()


def weights_or_ones(weights, n):
    return np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)


def birth(x, w, penalty, prior_mean, prior_weight, divergence):
    """Where the row would open a cluster, and what that costs altogether."""
    if w == 0 and prior_weight == 0:
        return x, penalty
    center = shrunk_mean(x[None, :], np.array([w]), prior_mean, prior_weight)
    price = penalty
    if prior_weight > 0:
        price += w * divergence_to(x, center, divergence)[0] if w > 0 else 0.0
        price += prior_weight * divergence_to(prior_mean, center, divergence)[0]
    return center, price


def weighted_cost(w, value):
    """w * D with nothing owed by a row without weight, even where D is infinite."""
    return w * value if w > 0 else 0.0


def labelling_objective(
    X, labels, penalty, *, divergence="squared_euclidean", prior_weight=0.0, weights=None
):
    """The objective of any labelling, from the labels alone.  Clusters without weight are free."""
    X = prepared_rows(X, divergence)
    w = weights_or_ones(weights, len(X))
    labels = np.asarray(labels)
    m = overall_mean(X, w)
    total = 0.0
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        if w[rows].sum() == 0:
            continue
        mu = shrunk_mean(X[rows], w[rows], m, prior_weight)
        total += penalty
        if prior_weight > 0:
            total += prior_weight * divergence_to(m, mu, divergence)[0]
        for i in rows:
            total += weighted_cost(w[i], divergence_to(X[i], mu, divergence)[0])
    return total


def value(X, w, labels, centers, penalty, m, prior_weight, divergence):
    """The objective of these labels at these centres; -1 marks rows of clusters without weight."""
    total = 0.0
    for i, label in enumerate(labels):
        if label >= 0:
            total += weighted_cost(w[i], divergence_to(X[i], centers[label], divergence)[0])
    for c in centers:
        total += penalty
        if prior_weight > 0:
            total += prior_weight * divergence_to(m, c, divergence)[0]
    return total


def initial_centers(X, w, penalty, m, prior_weight, divergence, init, max_clusters):
    if not isinstance(init, str):
        return [np.array(c, dtype=np.float64) for c in np.asarray(init)]
    if init == "mean":
        return [m]
    if init != "farthest-first":
        raise ValueError(init)
    centers = [m]
    births = [birth(X[i], w[i], penalty, m, prior_weight, divergence) for i in range(len(X))]
    prices = np.array([price for _, price in births])
    nearest = np.full(len(X), np.inf)
    while max_clusters is None or len(centers) < max_clusters:
        newest = [divergence_to(x, centers[-1], divergence)[0] for x in X]
        nearest = np.minimum(nearest, newest)
        excess = np.array([weighted_cost(w[i], nearest[i]) for i in range(len(X))]) - prices
        worst = int(np.argmax(excess))  # the lowest row on ties
        if not excess[worst] > 0:
            break
        centers.append(births[worst][0])
    return centers


def same_partition(a, b):
    """Whether two labellings are one set partition, whatever their numbers."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def literal_dp_means(
    X,
    penalty,
    *,
    divergence="squared_euclidean",
    prior_weight=0.0,
    weights=None,
    init="mean",
    order=None,
    max_clusters=None,
    max_iter=300,
):
    """One run.  ``order`` is the visiting order of the rows; None visits 0..n-1.

    Or a function that returns the order of the next sweep.
    """
    X = prepared_rows(X, divergence)
    n = len(X)
    w = weights_or_ones(weights, n)
    order = np.arange(n) if order is None else order
    m = overall_mean(X, w)
    start = initial_centers(X, w, penalty, m, prior_weight, divergence, init, max_clusters)
    # A centre and the number it got when it was created; lists stay in order of creation.
    centers, names = list(start), list(range(len(start)))
    next_name = len(names)
    births = [birth(X[i], w[i], penalty, m, prior_weight, divergence) for i in range(n)]
    previous = None
    history = []
    converged = False
    for _ in range(max_iter):
        labels = np.full(n, -1)
        stack = np.array(centers)
        for i in order() if callable(order) else order:
            costs = divergence_to(X[i], stack, divergence)
            nearest = int(np.argmin(costs))  # the earliest created on ties
            center, price = births[i]
            room = max_clusters is None or len(centers) < max_clusters
            if room and weighted_cost(w[i], costs[nearest]) > price:
                centers.append(center)
                names.append(next_name)
                stack = np.array(centers)
                nearest = len(centers) - 1
                next_name += 1
            labels[i] = names[nearest]
        kept, kept_names = [], []
        for name in names:
            rows = np.flatnonzero(labels == name)
            if w[rows].sum() > 0:
                kept.append(shrunk_mean(X[rows], w[rows], m, prior_weight))
                kept_names.append(name)
        centers, names = kept, kept_names
        number = {name: k for k, name in enumerate(names)}
        numbers = [number.get(label, -1) for label in labels]
        history.append(value(X, w, numbers, centers, penalty, m, prior_weight, divergence))
        if previous is not None and same_partition(labels, previous):
            converged = True
            break
        previous = labels
    centers = np.array(centers)
    if converged:
        labels = np.array([names.index(label) for label in labels])
    else:  # a closing assignment, so that the labels are the nearest centres
        labels = divergence_matrix(X, centers, divergence).argmin(axis=1)
        used = np.unique(labels)
        centers, labels = centers[used], np.searchsorted(used, labels)
        history[-1] = value(X, w, labels, centers, penalty, m, prior_weight, divergence)
    return LiteralResult(labels, centers, history, converged)


def literal_restarts(X, penalty, *, random_state, n_init=1, **options):
    """Random visiting orders, one after another on one stream; the first best objective wins."""
    rng = np.random.RandomState(random_state)
    best = None
    for _ in range(n_init):
        result = literal_dp_means(
            X, penalty, order=VisitOrder.draw("random", rng).rows(len(X)), **options
        )
        if best is None or result.objective < best.objective:
            best = result
    return best


def literal_penalty_for(X, n_clusters, *, divergence="squared_euclidean"):
    """Farthest-first: the largest divergence to T in round k, before the k-th row joins."""
    X = prepared_rows(X, divergence)
    chosen = [overall_mean(X, np.ones(len(X)))]
    for _ in range(n_clusters):
        nearest = divergence_matrix(X, np.array(chosen), divergence).min(axis=1)
        farthest = int(np.argmax(nearest))
        chosen.append(X[farthest])
    return nearest[farthest]
