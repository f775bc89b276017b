"""Kulis & Jordan's Algorithm 2 (hard Gaussian HDP), one row and one local cluster at a time.

The reading: local clusters without rows are dropped before step 5, and two local clusters of
a group that are associated with one global cluster become one, the older of them. Global clusters
without rows are dropped in step 6. Rows are visited in a given order, local clusters group by group
in order of creation. With ``prior_weight = eta`` every global cluster carries ``eta`` pseudo-rows
at the overall mean; ``eta = 0`` is the paper.
"""

from dataclasses import dataclass

import numpy as np

from tests.reference.dp_means import (
    birth,
    divergence_to,
    labelling_objective,
    overall_mean,
    prepared_rows,
    same_partition,
    shrunk_mean,
    weighted_cost,
    weights_or_ones,
)


@dataclass
class LiteralHDP:
    labels: np.ndarray  # -1 for rows without weight
    local_labels: np.ndarray
    centers: np.ndarray
    history: list
    converged: bool


def grouped_objective(X, labels, groups, local_penalty, global_penalty, *, weights=None, **options):
    """Objective (2) of any labelling, from labels and groups alone."""
    w = weights_or_ones(weights, len(labels))
    pairs = {(g, c) for g, c, wi in zip(groups, labels, w, strict=True) if wi > 0}
    fit = labelling_objective(X, labels, global_penalty, weights=weights, **options)
    return fit + local_penalty * len(pairs)


def literal_hdp(
    X,
    groups,
    local_penalty,
    global_penalty,
    *,
    divergence="squared_euclidean",
    prior_weight=0.0,
    weights=None,
    order=None,
    max_clusters=None,
    max_iter=300,
):
    X = prepared_rows(X, divergence)
    n = len(X)
    w = weights_or_ones(weights, n)
    order = range(n) if order is None else order
    names = sorted(set(groups))
    m = overall_mean(X, w)
    rows = [i for i in order if w[i] > 0]

    # Steps 1 and 2. mu: global means by number; z: local cluster of each row; v: associations.
    mu = {0: m}
    next_p = 1
    z = dict.fromkeys(rows, 0)
    v = {g: {0: 0} for g in names if any(groups[i] == g for i in rows)}
    next_c = dict.fromkeys(v, 1)

    previous, history, converged = None, [], False
    for _ in range(max_iter):
        # Step 4.
        for i in rows:
            g = groups[i]
            cost = {}
            for p in sorted(mu):
                cost[p] = weighted_cost(w[i], divergence_to(X[i], mu[p], divergence)[0])
                if p not in v[g].values():
                    cost[p] += local_penalty
            best = min(cost, key=lambda p: (cost[p], p))
            center, price = birth(X[i], w[i], global_penalty, m, prior_weight, divergence)
            if cost[best] > price + local_penalty and has_room(mu, max_clusters):
                mu[next_p] = center
                best, next_p = next_p, next_p + 1
            local = [c for c in v[g] if v[g][c] == best]
            if not local:
                local = [next_c[g]]
                v[g][next_c[g]] = best
                next_c[g] += 1
            z[i] = local[0]
        for g in v:
            members = {z[i] for i in rows if groups[i] == g}
            v[g] = {c: p for c, p in v[g].items() if c in members}
        # Step 5.
        for g in v:
            for c in sorted(v[g]):
                members = [i for i in sorted(rows) if groups[i] == g and z[i] == c]
                mean = shrunk_mean(X[members], w[members], m, prior_weight)
                sums = {p: total(X, w, members, mu[p], divergence) for p in sorted(mu)}
                best = min(sums, key=lambda p: (sums[p], p))
                price = global_penalty + total(X, w, members, mean, divergence)
                if prior_weight > 0:
                    price += prior_weight * divergence_to(m, mean, divergence)[0]
                if sums[best] > price and has_room(mu, max_clusters):
                    mu[next_p] = mean
                    best, next_p = next_p, next_p + 1
                v[g][c] = best
        for g in v:
            first = {}
            for c in sorted(v[g]):
                first.setdefault(v[g][c], c)
            for i in rows:
                if groups[i] == g:
                    z[i] = first[v[g][z[i]]]
            v[g] = {c: p for p, c in first.items()}
        # Step 6.
        label = {i: v[groups[i]][z[i]] for i in rows}
        for p in list(mu):
            members = [i for i in sorted(rows) if label[i] == p]
            if members:
                mu[p] = shrunk_mean(X[members], w[members], m, prior_weight)
            else:
                del mu[p]
        found = np.array([label[i] for i in sorted(rows)])
        history.append(
            value(X, w, label, mu, v, local_penalty, global_penalty, m, prior_weight, divergence)
        )
        if previous is not None and same_partition(found, previous):
            converged = True
            break
        previous = found
    number = {p: k for k, p in enumerate(sorted(mu))}
    labels, local_labels = np.full(n, -1), np.full(n, -1)
    for i in rows:
        labels[i] = number[label[i]]
        local_labels[i] = sorted(v[groups[i]]).index(z[i])
    centers = np.array([mu[p] for p in sorted(mu)])
    return LiteralHDP(labels, local_labels, centers, history, converged)


def has_room(mu, max_clusters):
    return max_clusters is None or len(mu) < max_clusters


def total(X, w, members, center, divergence):
    return sum(w[i] * divergence_to(X[i], center, divergence)[0] for i in members)


def value(X, w, label, mu, v, local_penalty, global_penalty, m, prior_weight, divergence):
    """Objective (2) of the state."""
    fit = sum(w[i] * divergence_to(X[i], mu[p], divergence)[0] for i, p in label.items())
    prior = 0.0
    if prior_weight > 0:
        prior = sum(prior_weight * divergence_to(m, c, divergence)[0] for c in mu.values())
    n_local = sum(len(local) for local in v.values())
    return fit + prior + local_penalty * n_local + global_penalty * len(mu)
