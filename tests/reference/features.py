"""Slow feature allocations: loops over rows and bits, least squares by the whole matrix."""

from itertools import combinations, product

import numpy as np


def rank(matrix):
    """Return the rank of a matrix; NumPy before 2.3 has none for those without entries."""
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0


def least_squares(X, Z, weights=None):
    """Components (k, d) and the weighted sum of squared residuals."""
    root = np.sqrt(np.ones(len(X)) if weights is None else np.asarray(weights, np.float64))
    A = np.linalg.lstsq(root[:, np.newaxis] * Z, root[:, np.newaxis] * X, rcond=None)[0]
    return A, float(((root[:, np.newaxis] * (X - Z @ A)) ** 2).sum())


def feature_objective(X, membership, penalty, weights=None):
    """The objective of memberships alone, with the best components."""
    Z = np.asarray(membership, np.float64)
    return least_squares(np.asarray(X, np.float64), Z, weights)[1] + penalty * Z.shape[1]


def brute_force_features(X, max_components, penalty=0.0, base=False):
    """The least objective of any allocation with at most this many features; for n <= 6.

    With a base, one of the columns is of ones.
    """
    columns = np.array(list(product([0.0, 1.0], repeat=len(X)))[1:])
    best = np.inf if base else float((X**2).sum())
    for k in range(1, max_components + 1):
        chosen = np.array(list(combinations(range(len(columns)), k)))
        Z = columns[chosen].transpose(0, 2, 1)  # (cases, n, k)
        if base:
            Z = Z[Z.all(axis=1).any(axis=1)]
        left = X - Z @ (np.linalg.pinv(Z) @ X)
        best = min(best, float((left**2).sum(axis=(1, 2)).min()) + penalty * k)
    return best


def independent(Z):
    """Which columns are outside the span of those before them."""
    kept = []
    for k in range(Z.shape[1]):
        if rank(Z[:, [*kept, k]]) == len(kept) + 1:
            kept.append(k)
    return kept


def literal_bp_means(X, A, Z, penalty, max_components, max_sweeps=100, n_fixed=0):
    """Broderick, Kulis & Jordan 2013, section 3, from components and memberships; also K-features.

    No row leaves the first ``n_fixed`` features. The only row of a feature leaves it, after all
    rows have chosen, where that costs less than the penalty.
    Returns memberships, components and the objective after each sweep, components as they were.
    """
    A, Z = A.copy(), Z.astype(np.float64)
    history = []
    is_refitted = False
    for _ in range(max_sweeps):
        before = Z.copy()
        for n in range(len(X)):
            for k in range(n_fixed, len(A)):
                costs = []
                for bit in (0.0, 1.0):
                    Z[n, k] = bit
                    costs.append(((X[n] - Z[n] @ A) ** 2).sum())
                Z[n, k] = float(costs[1] < costs[0])
            residual = X[n] - Z[n] @ A
            if len(A) < max_components and (residual**2).sum() > max(penalty, 1e-20):
                A = np.vstack([A, residual])
                Z = np.column_stack([Z, np.zeros(len(X))])
                Z[n, -1] = 1.0
        for k in range(n_fixed, len(A)):
            members = np.flatnonzero(Z[:, k])
            if len(members) == 1:  # without its row the feature does not count
                residual = X[members[0]] - Z[members[0]] @ A
                if ((residual + A[k]) ** 2).sum() - (residual**2).sum() < penalty:
                    Z[members[0], k] = 0.0
        fit = ((X - Z @ A) ** 2).sum()
        same = np.array_equal(before, Z)
        kept = independent(Z)
        history.append(fit + penalty * len(kept))
        if same and is_refitted and len(kept) == len(A):
            break
        Z = Z[:, kept]
        A = least_squares(X, Z)[0]
        is_refitted = True
    return Z.astype(bool), A, np.array(history)


def literal_collapsed(X, Z, penalty, max_components, max_sweeps=100):
    """Broderick, Kulis & Jordan 2013, section 4.1, until no row changes."""
    Z, changed = Z.astype(np.float64), 1
    while changed and max_sweeps:
        Z, changed = literal_collapsed_sweep(X, Z, penalty, max_components)
        max_sweeps -= 1
    return Z.astype(bool)


def literal_collapsed_sweep(X, Z, penalty, max_components, weights=None):
    """One sweep: every subset of every row, by the whole Z; and the number of rows changed."""

    def objective(Z):
        return least_squares(X, Z, weights)[1] + penalty * rank(Z)

    n_changed = 0
    for n in range(len(X)):
        best, chosen = objective(Z), Z
        for bits in product([0.0, 1.0], repeat=Z.shape[1]):
            trial = Z.copy()
            trial[n] = bits
            value = objective(trial)
            if value < best - 1e-9:
                best, chosen = value, trial
        alone = np.column_stack([chosen, np.arange(len(X)) == n])
        if Z.shape[1] < max_components and objective(alone) < best - 1e-9:
            chosen = alone
        chosen = chosen[:, independent(chosen)]
        n_changed += chosen.shape != Z.shape or (chosen != Z).any()
        Z = chosen
    return Z, n_changed


def assert_feature_certificate(model, X, weights=None, flips=True):
    """Check from the memberships what must hold of a converged fit."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    Z = model.membership_.astype(np.float64)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, np.float64)
    size = float(w @ (X**2).sum(axis=1)) + 1e-300
    loose = 1e-9 if model.components_.dtype == np.float64 else 1e-5
    assert model.converged_
    assert Z.shape == (len(X), model.n_components_)
    assert model.components_.shape == (model.n_components_, X.shape[1])
    fit = model.objective_ - model.component_penalty_ * model.n_components_
    assert abs(feature_objective(X, Z, 0.0, w) - fit) <= loose * size
    assert abs(model.inertia_ - fit) <= 1e-12 * max(size, model.objective_)
    residual = X - Z @ model.components_.astype(np.float64)
    assert abs(w @ (residual**2).sum(axis=1) - fit) <= loose * size
    assert (np.diff(model.objective_history_) <= 1e-9 * model.objective_history_[0]).all()
    assert model.objective_history_[-1] == model.objective_
    assert rank(Z[w > 0]) == model.n_components_
    if flips:
        for k in range(model.n_components_):
            sign = 1.0 - 2.0 * Z[:, [k]]
            flipped = ((residual - sign * model.components_[k]) ** 2).sum(axis=1)
            better = w * ((residual**2).sum(axis=1) - flipped)
            assert (better <= loose * size).all()


def same_up_to_sign(membership, truth):
    """Whether every true feature is a column found, or its complement."""
    found = {tuple(column) for column in membership.T}
    found |= {tuple(~column) for column in membership.T}
    return all(tuple(column) in found for column in truth.T)
