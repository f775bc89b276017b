"""The dip by its definition: the nearest unimodal distribution function, by linear programmes."""

import numpy as np
from scipy.optimize import linprog


def literal_dip(values):
    """The least D such that some unimodal G has |F - G| <= D, over all places of the mode.

    G is given by its values at the numbers, all different: convex up to the mode, concave after it,
    and with a jump there.
    """
    x = np.sort(values)
    m = len(x)
    below, above = np.arange(m) / m, np.arange(1, m + 1) / m
    return min(_nearest(x, below, above, mode) for mode in range(m))


def _nearest(x, below, above, mode):
    # Unknown: G before the jump at the mode and left of it, G after it and right of it, and D.
    m = len(x)
    places = [*range(mode + 1), *range(mode, m)]
    last = len(places)
    rows, limits = [], []

    def at_most(terms, limit):
        row = np.zeros(last + 1)
        for column, factor in terms:
            row[column] += factor
        rows.append(row)
        limits.append(limit)

    for column, i in enumerate(places):
        left = column <= mode
        levels = {below[i], above[i]} if i != mode else {below[i] if left else above[i]}
        for level in levels:
            at_most([(column, 1.0), (last, -1.0)], level)
            at_most([(column, -1.0), (last, -1.0)], -level)
    for column in range(last - 1):  # G rises
        at_most([(column, 1.0), (column + 1, -1.0)], 0.0)
    for sign, begin, end in ((1.0, 0, mode + 1), (-1.0, mode + 1, last)):
        for a in range(begin, end - 2):  # slopes rise up to the mode and fall after it
            h1 = x[places[a + 1]] - x[places[a]]
            h2 = x[places[a + 2]] - x[places[a + 1]]
            terms = [(a, -1 / h1), (a + 1, 1 / h1 + 1 / h2), (a + 2, -1 / h2)]
            at_most([(column, sign * factor) for column, factor in terms], 0.0)
    cost = np.zeros(last + 1)
    cost[last] = 1.0
    bounds = [(0.0, 1.0)] * last + [(0.0, None)]
    return linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=bounds).fun
