"""Whether one more move would lower the objective, by measuring every labelling it could give."""

import numpy as np

from hardbayes import objective


def labelling_value(model, X, sample_weight=None, labels=None):
    """The objective of a labelling of X, that of the model unless another is given."""
    return objective(
        X,
        model.labels_ if labels is None else labels,
        model.cluster_penalty_,
        divergence=model.divergence,
        prior_weight=model.prior_weight_,
        sample_weight=sample_weight,
    )


def squared_fit(X, sample_weight=None):
    """A function that gives the sum of weighted squared distances of any labels (n,) to means.

    From sums alone, much faster than `objective`: ``sum w |x|^2 - sum_c |T_c|^2 / N_c``.
    """
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight)
    rows = rows - np.average(rows, axis=0, weights=weights)
    added = weights[:, np.newaxis] * rows
    whole = (added * rows).sum()

    def fit(labels):
        member = (labels == np.arange(labels.max() + 1)[:, np.newaxis]).astype(float)
        sizes, totals = member @ weights, member @ added
        return whole - ((totals**2).sum(axis=1) / np.where(sizes > 0, sizes, 1.0)).sum()

    return fit


def after_merges(labels):
    """All labellings in which two clusters have become one."""
    for a in range(labels.max() + 1):
        for b in range(a):
            yield np.where(labels == a, b, labels)


def after_single_moves(labels, max_clusters):
    """All labellings in which one row is elsewhere, or alone where the cap has room."""
    k = labels.max() + 1
    room = max_clusters is None or k < max_clusters
    for i in range(len(labels)):
        for target in range(k + room):
            if target != labels[i]:
                moved = labels.copy()
                moved[i] = target
                yield moved


def assert_none_is_lower(model, X, sample_weight, labellings, rtol=1e-9):
    for labels in labellings:
        value = labelling_value(model, X, sample_weight, labels)
        assert value >= model.objective_ * (1 - rtol)


def assert_no_merge_helps(model, X, sample_weight=None):
    assert_none_is_lower(model, X, sample_weight, after_merges(model.labels_))


def assert_no_single_move_helps(model, X, sample_weight=None):
    moves = after_single_moves(model.labels_, model.max_clusters)
    assert_none_is_lower(model, X, sample_weight, moves)


def assert_no_move_helps_by_formula(model, X, chunk=5000):
    """The same for many rows of unit weight, from squared distances, sizes and penalty alone.

    A row frees n / (n - 1) d^2 where it leaves n rows, or the penalty where it is alone; it pays
    n / (n + 1) d^2 where it joins n. Two clusters together cost n m / (n + m) d^2 more.
    """
    sizes, centers = model.cluster_weights_, model.cluster_centers_
    penalty, rtol = model.cluster_penalty_, 1e-9
    for start in range(0, len(X), chunk):
        rows = np.arange(len(X[start : start + chunk]))
        own = model.labels_[start : start + chunk]
        costs = ((X[start : start + chunk, None] - centers) ** 2).sum(axis=2)
        alone = sizes[own] == 1
        frees = sizes[own] / np.maximum(sizes[own] - 1, 1) * costs[rows, own]
        pays = costs * sizes / (sizes + 1)
        pays[rows, own] = np.where(alone, np.inf, penalty)
        frees[alone] = penalty
        assert (frees <= pays.min(axis=1) * (1 + rtol)).all(), "a row had better move"
    a, b = np.triu_indices(len(sizes), 1)
    apart = ((centers[a] - centers[b]) ** 2).sum(axis=1)
    rises = sizes[a] * sizes[b] / (sizes[a] + sizes[b]) * apart
    assert (rises >= penalty * (1 - rtol)).all(), "two clusters had better be one"
