"""Clusters by their totals, made for kernels and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardbayes.kernels.partition.cluster_totals import ClusterTotals, recount

if TYPE_CHECKING:
    from hardbayes.matrices import Floats
    from hardbayes.tuples import TotalsForm


def totals_of(form: TotalsForm, sizes: Floats) -> ClusterTotals:
    """Return clusters (slots,) of these sizes, with the prior's, at the centres of a form."""
    slots, d = form.centres.shape
    totals = np.empty((d, slots))
    np.multiply(sizes, form.centres.T, out=totals)
    clusters = ClusterTotals(
        int(form.formula), totals, np.empty((d, slots)), *np.zeros((3, slots)),
        form.prior_weight * form.prior_mean, *np.zeros((2, slots)), *np.zeros((2, 2, slots)),
    )  # fmt: skip
    recount(clusters, sizes)
    return clusters


def centres_of(clusters: ClusterTotals, sizes: Floats) -> Floats:
    """Return the centres (slots, d) of clusters of these sizes; at zero where they are empty."""
    return np.ascontiguousarray((clusters.totals / np.where(sizes > 0, sizes, 1.0)).T)
