"""Clusters by the spectral relaxation of kernel DP-means: a fit takes one step.

Eigenvectors whose eigenvalues exceed the penalty are computed, of a sample where rows are many, and
each row is given to a cluster by its entries in them.
"""

from typing import Any

import numpy as np

from hardbayes.engine.gram.features import feature_spectrum
from hardbayes.engine.gram.model import GramModel
from hardbayes.engine.gram.restarts import one_partition
from hardbayes.engine.gram.spectrum import (
    MOST_DENSE,
    Spectrum,
    cluster_qr,
    lower_bound,
    spectrum_above,
    summed_spectrum,
)
from hardbayes.matrices import Floats
from hardbayes.models.attributes import AtOnce, trace_attributes
from hardbayes.models.gram import SpectralLabels, fitted_attributes
from hardbayes.models.landmarks import FittedKernelFeatures, KernelFeatureMap, squared_distances
from hardbayes.models.spread import spread_of
from hardbayes.problems.gram import GramProblem

SLAB_ROWS = 1 << 10  # whose values with a sample are held at a time
SAMPLED = (
    " Eigenvectors are those of a sample of {} rows, extended to all; lower_bound_ is from blocks "
    "of all rows. Pass a kernel matrix to have the eigenvectors of all rows."
)
NO_BOUND = (
    " Eigenvectors are those of a sample of {} rows, extended to all, and there is no lower_bound_ "
    "for a kernel that may have negative eigenvalues. Pass a kernel matrix to have both."
)
DONE = "Solved the relaxation: {} exceed the penalty."


def relax_kernel(
    problem: GramProblem, penalty: float, most_clusters: int, rng: np.random.RandomState
) -> dict[str, Any]:
    """Return the attributes of a fit to kernel values."""
    n = problem.n
    part, ids, weights = problem.rows, np.arange(n), problem.weights
    # Only anchors are balanced exactly, and the automatic penalty is for their spectrum.
    most = len(problem.anchors) if problem.options.balance else MOST_DENSE
    is_sampled = problem.matrix is None and np.count_nonzero(weights) > most
    if is_sampled:
        ids, weights = problem.anchors, problem.anchor_weights
        part = part.part(ids, weights)
    spectrum = spectrum_above(part, penalty, rng)
    # Values of rows with those of the sample, times these, are the entries of eigenvectors.
    factors = np.sqrt(weights)[:, np.newaxis] * spectrum.vectors / spectrum.values
    found, spectral = _labelled(factors, np.zeros((1, 0)), spectrum, most_clusters, weights)
    labels = np.zeros(n, np.int64)
    labels[ids] = found
    if spectral is not None:
        rest = np.ones(n, np.bool_)
        rest[ids[weights > 0]] = False
        for some in np.array_split(np.flatnonzero(rest), 1 + n // SLAB_ROWS):
            labels[some] = spectral.labels(problem.rows.values(some, ids))
        every = np.zeros((n, spectral.factors.shape[1]))
        every[ids] = spectral.factors
        spectral = SpectralLabels(every, spectral.constants)
    model = GramModel(problem.rows, penalty, most_clusters, np.arange(n))
    labels, spectral = _without_empty(labels, problem.weights, spectral)
    fitted = fitted_attributes(one_partition(model, labels), problem, model, spectral)
    if not is_sampled:
        bound = lower_bound(spectrum, penalty, n)
        return fitted | _spectral_attributes(spectrum, bound)
    bound = -np.inf
    if problem.options.is_semidefinite:
        bound = lower_bound(summed_spectrum(problem.rows, penalty, rng), penalty, n)
    fitted |= _spectral_attributes(spectrum, bound)
    fitted["status_"] += (SAMPLED if np.isfinite(bound) else NO_BOUND).format(len(ids))
    return fitted


def relax_features(
    problem: GramProblem,
    penalty: float,
    most_clusters: int,
    map_: KernelFeatureMap,
    rng: np.random.RandomState,
) -> dict[str, Any]:
    """Return the attributes of a fit to features, centred where they are the rows."""
    assert problem.seen is not None
    weights, features = problem.weights, map_(problem.seen.rows)
    centred = map_.landmarks is None
    spectrum, factors, mean = feature_spectrum(features, weights, penalty, centred, rng)
    bound = lower_bound(spectrum, penalty, problem.n)
    constant = np.zeros((1, 0))
    if centred:  # one cluster more: that of the constant eigenvector, whose eigenvalue is zero
        none = not len(spectrum.values)
        bound += spectrum.largest - penalty if none else 0.0
        bound += penalty
        constant = np.full((1, 1), 1.0 / np.sqrt(weights.sum()))
        factors = np.concatenate([np.zeros((len(factors), 1)), factors], axis=1)
    labels, spectral = _labelled(factors, constant, spectrum, most_clusters, weights, mean)
    if spectral is not None:
        labels = spectral.labels(features)
    labels, spectral = _without_empty(labels, weights, spectral)
    k = int(labels.max()) + 1
    volumes = np.bincount(labels, weights, k)
    member = np.zeros((problem.n, k))
    member[np.arange(problem.n), labels] = weights / volumes[labels]
    centres = np.ascontiguousarray(np.asarray(features.T @ member).T)
    costs = squared_distances(features, centres, labels)
    spread = spread_of(costs, labels.astype(np.int32), k, weights)
    model = FittedKernelFeatures(map_, centres, penalty, spread, spectral).shifted(problem.shift)
    inertia = float(weights @ costs)
    return {
        "_model": model,
        "labels_": labels.astype(np.int32),
        "n_clusters_": k,
        "cluster_weights_": volumes,
        "cluster_penalty_": penalty,
        "inertia_": inertia,
        **trace_attributes(AtOnce(), np.array([inertia + penalty * k]), k),
        **_spectral_attributes(spectrum, bound),
    }


def _labelled(
    factors: Floats,
    constant: Floats,
    spectrum: Spectrum,
    most_clusters: int,
    weights: Floats,
    mean: Floats | None = None,
) -> tuple[Any, SpectralLabels | None]:
    """Return labels (n,) by the eigenvectors, and how any row is labelled.

    ``constant``: (1, 1), the entry of the constant eigenvector before all others, or (1, 0).
    """
    n = len(weights)
    k = min(constant.shape[1] + len(spectrum.values), most_clusters)
    labels = np.zeros(n, np.int64)
    if k < 2:
        return labels, None
    heavy = weights > 0
    # Without the weights: entries of equal rows are equal then.
    rows = spectrum.vectors[heavy] / np.sqrt(weights[heavy])[:, np.newaxis]
    rows = np.concatenate([np.repeat(constant, len(rows), axis=0), rows], axis=1)
    labels[heavy], rotation = cluster_qr(rows[:, :k])
    entries = np.zeros(k)
    entries[: constant.shape[1]] = constant
    if mean is not None:
        entries = entries - mean @ factors[:, :k]
    return labels, SpectralLabels(
        np.ascontiguousarray(factors[:, :k] @ rotation), entries @ rotation
    )


def _spectral_attributes(spectrum: Spectrum, bound: float) -> dict[str, Any]:
    n_above = len(spectrum.values)
    return {
        "n_eigenvectors_": n_above,
        "eigenvalues_": spectrum.values,
        "lower_bound_": bound,
        "status_": DONE.format(f"{n_above} eigenvalue{'s' * (n_above != 1)}"),
    }


def _without_empty(
    labels: Any, weights: Floats, spectral: SpectralLabels | None
) -> tuple[Any, SpectralLabels | None]:
    """Return labels 0 to k-1 of clusters with weight; rows of no weight may lose theirs."""
    if spectral is None:
        return labels, None
    k = spectral.factors.shape[1]
    used = np.bincount(labels, weights, k) > 0
    if used.all():
        return labels, spectral
    labels = np.where(used[labels], (np.cumsum(used) - 1)[labels], 0)
    factors = np.ascontiguousarray(spectral.factors[:, used])
    return labels, SpectralLabels(factors, spectral.constants[used])
