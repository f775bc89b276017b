"""Collapsed DP-means (Broderick, Kulis & Jordan 2013, section 4.1, eq. 9), one row at a time.

A row leaves its cluster and goes where the objective then rises least. What that is is found by
costing the clusters concerned from scratch, once without and once with the row. The paper's text
says "the closest cluster"; its objective asks for the smallest rise, which is not the same.
"""

import numpy as np

from tests.reference.dp_means import (
    LiteralResult,
    divergence_matrix,
    initial_centers,
    overall_mean,
    prepared_rows,
    shrunk_mean,
    weights_or_ones,
)


def costs_at(X, mu, divergence):
    """D(x_i, mu) of each row."""
    if divergence == "squared_euclidean":
        return ((X - mu) ** 2).sum(axis=1)
    ratios = np.ones(X.shape)
    np.divide(X, mu, out=ratios, where=X > 0)
    return (X * np.log(ratios)).sum(axis=1)


class Costs:
    """What a cluster of these rows costs at its own centre; nothing where there are none."""

    def __init__(self, X, w, penalty, prior_weight, divergence):
        self.X, self.w, self.m = X, w, overall_mean(X, w)
        self.penalty, self.prior_weight, self.divergence = penalty, prior_weight, divergence

    def center(self, rows):
        return shrunk_mean(self.X[rows], self.w[rows], self.m, self.prior_weight)

    def __call__(self, rows):
        if not rows:
            return 0.0
        mu = self.center(rows)
        total = self.penalty + (self.w[rows] * costs_at(self.X[rows], mu, self.divergence)).sum()
        if self.prior_weight > 0:
            total += self.prior_weight * costs_at(self.m[None], mu, self.divergence)[0]
        return total


def literal_collapsed(
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

    Rows without weight are visited by nobody and get the nearest centre at the end.
    """
    X = prepared_rows(X, divergence)
    w = weights_or_ones(weights, len(X))
    order = [i for i in (range(len(X)) if order is None else order) if w[i] > 0]
    cost = Costs(X, w, penalty, prior_weight, divergence)
    start = initial_centers(X, w, penalty, cost.m, prior_weight, divergence, init, max_clusters)
    nearest = divergence_matrix(X, np.array(start), divergence).argmin(axis=1)
    # Lists of rows, in order of creation; none is ever empty.
    clusters = [[i for i in order if nearest[i] == k] for k in range(len(start))]
    clusters = [rows for rows in clusters if rows]
    history, converged = [], False
    while len(history) < max_iter and not converged:
        converged = True
        for i in order:
            home = next(rows for rows in clusters if i in rows)
            home.remove(i)
            # It stays unless something is cheaper; among equals the oldest cluster wins.
            best, best_rise = home, cost([*home, i]) - cost(home)
            for rows in clusters:
                rise = cost([*rows, i]) - cost(rows)
                if rows is not home and rows and rise < best_rise:
                    best, best_rise = rows, rise
            room = max_clusters is None or sum(map(bool, clusters)) < max_clusters
            if room and home and cost([i]) < best_rise:
                best = []
                clusters.append(best)
            best.append(i)
            converged = converged and best is home
            clusters = [rows for rows in clusters if rows]
        history.append(sum(map(cost, clusters)))
    centers = np.array([cost.center(rows) for rows in clusters])
    labels = divergence_matrix(X, centers, divergence).argmin(axis=1)
    for k, rows in enumerate(clusters):
        labels[rows] = k
    return LiteralResult(labels, centers, history, converged)
