"""Which passes go with which costs."""

import numpy as np
import pytest

from hardbayes.core.geometry import GEOMETRIES, Mahalanobis, geometry_for
from hardbayes.dp_means.moves.potentials import move_rows_by_potentials
from hardbayes.dp_means.moves.single_rows import move_rows_compiled, refine_by_rows, refine_by_turns
from hardbayes.dp_means.objective import Partition
from hardbayes.dp_means.passes import MAX_COSTS, MAX_ENTRIES, passes_for, path_type
from hardbayes.dp_means.path import FallingPath
from hardbayes.dp_means.stepped_path import SteppedPath

MATRIX = np.eye(3) + 0.1
OTHERS = [*sorted(set(GEOMETRIES) - {"squared_euclidean"}), Mahalanobis(MATRIX)]
FORMULAS = ["cosine", "kl", "logistic", "poisson"]


def partition_of(divergence, prior_weight=0.0):
    return Partition(geometry_for(divergence), 1.0, prior_weight, np.ones(3), 9)


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
def test_squared_distances_have_compiled_moves(prior_weight):
    passes = passes_for(partition_of("squared_euclidean", prior_weight))
    assert passes.move_rows is move_rows_compiled and passes.refine is refine_by_rows
    assert (
        passes.are_compiled
        and passes.max_costs_all_rows == MAX_COSTS
        and passes.max_entries_all_rows == 0
    )
    assert passes.are_plain == (prior_weight == 0)  # that kernel knows no prior
    assert passes.border_slack == 0.9


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("divergence", FORMULAS)
def test_divergences_with_a_formula_have_compiled_moves(divergence, prior_weight):
    passes = passes_for(partition_of(divergence, prior_weight))
    assert passes.move_rows is move_rows_compiled and passes.refine is refine_by_rows
    assert passes.are_compiled and not passes.are_plain and passes.max_costs_all_rows == 0
    assert passes.max_entries_all_rows == MAX_ENTRIES


@pytest.mark.parametrize("prior_weight", [0.0, 2.0])
@pytest.mark.parametrize("divergence", ["itakura_saito", Mahalanobis(MATRIX)])
def test_other_divergences_have_the_general_ones(divergence, prior_weight):
    passes = passes_for(partition_of(divergence, prior_weight))
    assert passes.move_rows is move_rows_by_potentials and passes.refine is refine_by_turns
    assert not passes.are_compiled and not passes.are_plain and passes.max_costs_all_rows == 0
    assert passes.border_slack == 0.8  # the factors are right for small changes only
    assert passes.max_entries_all_rows == 0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64)])
@pytest.mark.parametrize("divergence", ["squared_euclidean", *OTHERS])
def test_scores_are_float32_where_that_tells_most_centres_apart(divergence, dtype, sparse):
    layout = geometry_for(divergence).layout(sparse, dtype)
    distances = divergence == "squared_euclidean"
    assert layout.costs == ("distance" if distances else "affine")
    assert layout.dtype == (np.float32 if distances and not sparse else dtype)
    assert layout.sparse == sparse and layout.anchor is None


@pytest.mark.parametrize("divergence", ["squared_euclidean", *OTHERS])
@pytest.mark.parametrize("prior_weight", [0.0, 1.0])
def test_paths_go_by_steps_where_single_row_moves_are_compiled(divergence, prior_weight):
    steps = divergence in FORMULAS or (divergence == "squared_euclidean" and not prior_weight)
    expected = SteppedPath if steps else FallingPath
    assert path_type(partition_of(divergence, prior_weight)) is expected
