"""Random graphs with the degrees of a given one, for comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from hardbayes.problems.graph import GraphProblem


def rewired(problem: GraphProblem, rng: np.random.RandomState) -> GraphProblem:
    """Return a graph whose links, with their weights, join random ends.

    Each vertex has as many links as before. Both ends of a link may be at one vertex: a self-loop.
    """
    upper = sparse.triu(problem.links, 1).tocoo()
    ends = rng.permutation(np.concatenate([upper.row, upper.col]))
    lefts, rights = np.split(ends, 2)
    n = len(problem.linked)
    is_loop = lefts == rights
    loops = problem.loops + 2.0 * np.bincount(lefts[is_loop], upper.data[is_loop], n)
    one_way = (upper.data[~is_loop], (lefts[~is_loop], rights[~is_loop]))
    half = sparse.coo_array(one_way, shape=(n, n)).tocsr()
    links = sparse.csr_array(half + half.T)
    degrees = np.asarray(links.sum(axis=1)).ravel() + loops
    return replace(problem, links=links, loops=loops, degrees=degrees)
