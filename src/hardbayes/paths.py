"""A path of penalties for any estimator that has a penalty."""

from numbers import Integral
from typing import Any, TypeVar, overload

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, InvalidParameterError

from hardbayes.core.arrays import Floats
from hardbayes.core.estimator import Estimator
from hardbayes.core.penalty_path import PenaltyPath
from hardbayes.core.separate_fits import Names, trace_separate_fits
from hardbayes.core.validation import checking_parameters
from hardbayes.dp_means.estimator import DPMeans
from hardbayes.dp_means.penalty_path import trace_clusters
from hardbayes.features.estimator import BPMeans
from hardbayes.features.penalty_path import trace_features
from hardbayes.gaussian.estimator import GaussianDPMeans
from hardbayes.graph.estimator import GraphDPMeans
from hardbayes.graph.penalty_path import trace_graph
from hardbayes.groups.estimator import HDPMeans
from hardbayes.kernel.estimator import KernelDPMeans
from hardbayes.kernel.penalty_path import trace_kernel
from hardbayes.kernel.spectral import SpectralDPMeans
from hardbayes.topics.estimator import HDPTopics

#: The estimators whose paths are traced from one number of clusters to the next.
TRACED = (DPMeans, BPMeans, GraphDPMeans, KernelDPMeans, SpectralDPMeans)
#: Those that have a fit of their own at each penalty, and what they call it.
SEPARATE = {
    GaussianDPMeans: Names("cluster_penalty", "n_clusters_", "max_clusters"),
    HDPMeans: Names("global_penalty", "n_clusters_", "max_clusters"),
    HDPTopics: Names("global_penalty", "n_topics_", "max_topics"),
}
#: All that have a path of penalties.
WITH_PATHS = (*TRACED, *SEPARATE)
E = TypeVar("E", bound=Estimator)  # one of them


@overload
def penalty_path(
    X: Any,
    *,
    estimator: E,
    penalties: Any = None,
    n_penalties: int = 50,
    sample_weight: Any = None,
    groups: Any = None,
) -> PenaltyPath[E]: ...


@overload
def penalty_path(
    X: Any,
    *,
    estimator: None = None,
    penalties: Any = None,
    n_penalties: int = 50,
    sample_weight: Any = None,
    groups: Any = None,
) -> PenaltyPath[DPMeans]: ...


@checking_parameters(
    {
        "penalties": ["array-like", None],
        "n_penalties": [Interval(Integral, 1, None, closed="left")],
    }
)
def penalty_path(
    X: Any,
    *,
    estimator: Any = None,
    penalties: Any = None,
    n_penalties: int = 50,
    sample_weight: Any = None,
    groups: Any = None,
) -> PenaltyPath[Any]:
    """Solve at many penalties, from one cluster to many, and choose as ``DPMeans()`` does.

    One way down and back finds all solutions: by one cluster at a time for squared distances
    without a prior, else by fits at falling penalties, each going on from the last. A published
    search has a fit of its own at each penalty.

    ``min_z sum_i w_i D(x_i, mu_z(i)) + penalty * K`` for a range of penalties. k clusters are best
    exactly for penalties between ``fit(k) - fit(k + 1)`` and ``fit(k - 1) - fit(k)``, where these
    are in order; a number of clusters that the data really have is best over a wide range (Kulis &
    Jordan 2012, fig. 2c).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, or a graph where the estimator is a `GraphDPMeans`. More than 16,384 rows (fewer where
        there are many columns) are sampled; the sample is given the weight of all rows, so that its
        penalties are those of the whole.
    estimator : estimator or None, default=None
        What to fit: its parameters but for the penalty. A fitted `DPMeans` whose penalty was "auto"
        keeps its choice, where X is what it was fitted to. None is ``DPMeans()``; `KFeatures` is
        refused, for it has no penalty. `GaussianDPMeans`, `HDPMeans` and `HDPTopics` have a fit of
        their own at each penalty, on all rows; for the first a ``covariance_prior`` of "auto" is
        that of the automatic fit at all penalties, for the others the path is one of the global
        penalty, beside the local penalty of the estimator. With
        ``search="paper"`` or ``method="collapsed"`` each penalty has a fit of its own, for these
        end elsewhere from another start. With `BPMeans` the path is one of features, traced by
        K-features on all rows, up to its ``max_components`` or 64, with a warning where that is
        too few for the smallest penalties. With `GraphDPMeans` penalties are below zero, and
        `PenaltyPath.suggest` returns that whose clusters describe the graph best. With
        `KernelDPMeans` fits go on from one another, on all rows; `SpectralDPMeans` has a fit of its
        own at each penalty.
    penalties : array-like or None, default=None
        Penalties at which models are kept; plateaus do not depend on them. None spreads
        ``n_penalties`` evenly in the logarithm, from one cluster to 160, or one for every eight
        rows.
    n_penalties : int, default=50
        Number of penalties where none are given.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    groups : array-like of shape (n_samples,), default=None
        The group of each row, for `HDPMeans`.

    Returns
    -------
    path : PenaltyPath
        Penalties, numbers of clusters, objectives and models.

    Examples
    --------
    >>> from hardbayes import penalty_path
    >>> from hardbayes.datasets import make_three_gaussians
    >>> X, y = make_three_gaussians(random_state=0)
    >>> path = penalty_path(X)
    >>> max(path.plateaus, key=lambda plateau: plateau.width).k
    3
    """
    template: Any = DPMeans() if estimator is None else estimator
    if not isinstance(template, WITH_PATHS):
        known = ", ".join(each.__name__ for each in WITH_PATHS)
        raise InvalidParameterError(
            f"The 'estimator' parameter of penalty_path must be one of {known}, or None. "
            f"Got {template!r} instead."
        )
    if isinstance(template, DPMeans) and template._is_mixed:
        raise InvalidParameterError(
            "The 'estimator' parameter of penalty_path must be one whose divergence is not mixed. "
            f"Got {template!r} instead. Pass n_clusters to MixedDPMeans, and see penalty_choice_."
        )
    is_graph = isinstance(template, GraphDPMeans)
    if penalties is not None:
        penalties = check_penalties(penalties, -1 if is_graph else 1)
    if groups is not None and not isinstance(template, HDPMeans):
        raise ValueError(
            "The 'groups' parameter of penalty_path is for HDPMeans. Leave it out, or pass "
            "estimator=HDPMeans()."
        )
    if isinstance(template, GraphDPMeans):
        if sample_weight is not None:
            raise ValueError("Vertices of a graph have no 'sample_weight'. Pass weights of links.")
        return trace_graph(X, template, penalties, n_penalties)
    if isinstance(template, BPMeans):
        return trace_features(X, template, penalties, n_penalties, sample_weight)
    if isinstance(template, KernelDPMeans | SpectralDPMeans):
        return trace_kernel(X, template, penalties, n_penalties, sample_weight)
    for kind, names in SEPARATE.items():
        if isinstance(template, kind):
            params = {"groups": groups} if kind is HDPMeans else {}
            if kind is GaussianDPMeans and isinstance(template.covariance_prior, str):
                # One prior for all penalties: the one of the automatic fit.
                free = clone(template).set_params(cluster_penalty="auto")
                prior = free._fit_rows(X, sample_weight)[0]["covariance_prior_"]
                template = clone(template).set_params(covariance_prior=prior)
            return trace_separate_fits(
                X, template, names, penalties, n_penalties, sample_weight, params
            )
    return trace_clusters(X, template, penalties, n_penalties, sample_weight)


def check_penalties(penalties: Any, sign: int) -> Floats:
    """Return penalties as falling numbers > 0, or < 0 where ``sign`` is -1."""
    try:
        checked = np.unique(np.asarray(penalties).astype(np.float64, casting="safe"))[::-1]
    except (TypeError, ValueError):
        checked = np.empty(0)
    if not len(checked) or not (np.isfinite(checked) & (sign * checked > 0)).all():
        raise ValueError(
            f"The 'penalties' parameter of penalty_path must be numbers {'<>'[sign > 0]} 0, at "
            "least one. "
            f"Got {penalties!r} instead."
        )
    return checked
