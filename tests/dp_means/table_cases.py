"""Tables of centres for the tests."""

import numpy as np

from hardbayes.core.arrays import Layout, no_totals
from hardbayes.core.geometry import geometry_for
from hardbayes.core.pool import Pool
from hardbayes.dp_means.centres import AffineTable, ClusterList, DistanceTable
from hardbayes.dp_means.objective import Partition

KINDS = {"squared_euclidean": DistanceTable, "poisson": AffineTable}


def new_table(
    centres,
    divergence="squared_euclidean",
    dtype=np.float64,
    sparse=False,
    anchor=None,
    prior_weight=0.0,
    pool=None,
    lazy=False,
):
    """Return a table with clusters at these centres (k, d); a lazy one has no scores yet."""
    d = centres.shape[1]
    kind = KINDS[divergence]
    costs = "distance" if kind is DistanceTable else "affine"
    partition = Partition(geometry_for(divergence), 1.0, prior_weight, np.linspace(0.5, 1, d), 99)
    layout = Layout(np.dtype(dtype), sparse, costs, anchor)
    table = kind(partition, layout, ClusterList.of(centres), pool or Pool(1))
    if not lazy:
        table.view()
    return table


def random_centres(k, d, seed=0):
    """Return centres (k, d) with positive entries."""
    return np.random.default_rng(seed).uniform(0.5, 3.0, (k, d))


def totals_at(table, centres, weights):
    """Return totals of which these are the means (k, d) in the table's slots."""
    totals = no_totals(table.n_slots, table.n_columns)
    totals.coarse[table.slots] = weights[:, np.newaxis] * centres
    totals.weight_coarse[table.slots] = weights
    totals.touched[:] = True
    return totals


def theta_of(table, view=None):
    """Return theta (slots, d) of a table or of a view of it, whatever the layout."""
    theta = (table if view is None else view).theta
    if table.layout.sparse:
        return theta[0].T
    return theta.transpose(0, 2, 1).reshape(-1, table.n_columns)
