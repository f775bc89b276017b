"""The fit of a graph at a given penalty."""

from collections.abc import Callable, Sequence

import numpy as np

from hardbayes.engine.graph.restarts import GraphSolution, Search, minimise
from hardbayes.engine.status import say_nothing
from hardbayes.executors.graph.protocol import Ids
from hardbayes.problems.graph import GraphProblem

# Shares of the penalty at which starts form their first clusters, zero for one that divides the
# whole graph; after the last one, again.
SHARES = (0.6, 0.0, 1.0, 0.3)
# Those of graphs with more links than this, each counted from both ends: divisions of the whole
# graph take too long, and so do those of the few clusters that a share of one begins with.
LARGE = 1 << 22
SHARES_OF_LARGE = (0.6, 0.3)


def best_fit(
    problem: GraphProblem,
    penalty: float,
    max_clusters: int,
    n_init: int,
    max_steps: int,
    rng: np.random.RandomState,
    given: Sequence[Ids] = (),
    report: Callable[[int, int, int], None] = say_nothing,
) -> GraphSolution:
    """Return the best of several starts, at a penalty in the user's units.

    ``given``: labels (m,) of linked vertices, each of which takes the place of one start.
    """
    working = penalty / problem.cost_unit
    usual = SHARES if problem.links.nnz <= LARGE else SHARES_OF_LARGE
    shares = [usual[number % len(usual)] for number in range(n_init)][len(given) :]
    starts = tuple(problem.penalties(working, share) if share else () for share in shares)
    search = Search(problem.penalties(working), starts, max_clusters, max_steps)
    return minimise(problem.graph(working), search, given, rng, problem.pool, report)
