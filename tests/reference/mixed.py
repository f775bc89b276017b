"""The objective of mixed tables to the letter: one row and one column after the other."""

import itertools
import math

import numpy as np


def row_cost(numbers, levels, floors, weight_share, mean, covariance, log_shares):
    """What a row costs in a cluster; numbers are NaN and levels -1 where a cell is missing.

    ``log_shares``: for each category a list of logarithms of the shares of its levels.
    """
    cost = -math.log(weight_share)
    for level, own in zip(levels, log_shares, strict=True):
        if level >= 0:
            cost -= own[level]
    there = [j for j, x in enumerate(numbers) if not math.isnan(x)]
    if there:
        inverse = np.linalg.inv(covariance[np.ix_(there, there)])
        apart = np.array([numbers[j] - mean[j] for j in there])
        cost += 0.5 * apart @ inverse @ apart
        cost += 0.5 * math.log(np.linalg.det(covariance[np.ix_(there, there)]))
        cost += 0.5 * sum(inverse[a, a] * floors[j] for a, j in enumerate(there))
    return cost


def overall_shares(levels, weights, sizes):
    """The shares of the levels of each category in all rows."""
    found = []
    for j, size in enumerate(sizes):
        heaps = [sum(w for w, c in zip(weights, levels[:, j], strict=True) if c == at)
                 for at in range(size)]  # fmt: skip
        total = sum(heaps)
        found.append([heap / total if total else 0.0 for heap in heaps])
    return found


def from_labels(numbers, levels, weights, floors, sizes, labels, prior_rows, penalty):
    """The objective of labels where no number is missing, at the best parameters for them."""
    n, p = numbers.shape
    total = sum(weights)
    overall = overall_shares(levels, weights, sizes)
    clusters = sorted(set(labels))
    means = {}
    scatter = np.zeros((p, p))
    for k in clusters:
        own = [i for i in range(n) if labels[i] == k]
        weight = sum(weights[i] for i in own)
        means[k] = sum(weights[i] * numbers[i] for i in own) / weight
        for i in own:
            scatter += weights[i] * np.outer(numbers[i] - means[k], numbers[i] - means[k])
    covariance = scatter / total + np.diag(floors)
    value = 0.0
    for k in clusters:
        own = [i for i in range(n) if labels[i] == k]
        weight = sum(weights[i] for i in own)
        log_shares = []
        for j, size in enumerate(sizes):
            counts = [
                sum(weights[i] for i in own if levels[i, j] == at) + prior_rows * overall[j][at]
                for at in range(size)
            ]
            log_shares.append([math.log(max(c / sum(counts), 5e-308)) for c in counts])
        for i in own:
            value += weights[i] * row_cost(
                numbers[i], levels[i], floors, weight / total, means[k], covariance, log_shares
            )
        for j, size in enumerate(sizes):
            value -= sum(prior_rows * overall[j][at] * log_shares[j][at] for at in range(size))
        value += penalty
    return value


def partitions(n, k):
    """All ways to label n rows with k labels, each of which occurs; the first row has label 0."""
    for rest in itertools.product(range(k), repeat=n - 1):
        labels = (0, *rest)
        first = [labels.index(each) for each in range(k) if each in labels]
        if len(first) == k and first == sorted(first):
            yield labels
