"""The partition's decision without bounds: dense rows are scored against every centre.

The rule is that of `dp_means.compiled.assign`, whose passes carry bounds. Here rows come in tiles,
one row per lane, and only rows that change or that their scores leave undecided are looked at one
by one. A row takes half the time or less that it takes there.
"""

from typing import NamedTuple

import numpy as np

from hardbayes.core.arrays import Centres
from hardbayes.core.compiling import inlined, kernel, part
from hardbayes.core.rows import pick, score_error
from hardbayes.core.simd.scores import read_tile, score_tile
from hardbayes.dp_means.compiled.assign import ABOVE, FINER, cheapest
from hardbayes.dp_means.compiled.sums import move_row


class Tile(NamedTuple):
    """Room for rows in lanes."""

    x: np.ndarray  # (d, lanes), the type of scores
    squares: np.ndarray  # (lanes,), the type of scores
    least: np.ndarray  # (lanes,), the type of scores: least score
    second: np.ndarray  # (lanes,), the type of scores: next to least
    place: np.ndarray  # (lanes,) int32: the slot that has the least
    scale: np.ndarray  # (lanes,) float64, as the others below
    weight: np.ndarray
    opening: np.ndarray
    constant: np.ndarray


def new_tile(centres: Centres) -> Tile:
    """Allocate a tile for one thread."""
    lanes, dtype = centres.block, centres.theta.dtype
    squares, least, second = (np.empty(lanes, dtype) for _ in range(3))
    scale, weight, opening, constant = (np.empty(lanes) for _ in range(4))
    x, place = np.empty((centres.theta.shape[1], lanes), dtype), np.empty(lanes, np.int32)
    return Tile(x, squares, least, second, place, scale, weight, opening, constant)


@kernel
def assign_all(
    rows, weights, opening, constants, centres, labels, marks, totals, rounding, weight_rounding,
    tile, start, stop,
):  # fmt: skip
    """Give rows ``start`` to ``stop`` to their cheapest centres, and let the totals follow.

    Arguments and counts are those of `nearest.assign`; every centre is one group. SCRATCH tile.
    """
    n_above = np.int64(0)
    n_changed = np.int64(0)
    n_doubtful = np.int64(0)
    n_columns = rows.values.shape[1]
    n_lanes = tile.place.shape[0]
    for first in range(start, stop, n_lanes):
        n_rows = min(n_lanes, stop - first)
        fill(tile.scale, rows.scale, first, start, stop)
        fill(tile.weight, weights, first, start, stop)
        fill(tile.opening, opening, first, start, stop)
        fill(tile.constant, constants, first, start, stop)
        read_tile(rows.values, first, n_rows, rows.shift, tile.scale, tile.x, tile.squares)
        score_tile(
            tile.x, centres.theta, centres.used, centres.offset, tile.least, tile.second, tile.place
        )
        # One bit for each lane: without branches, so that all lanes are compared at once.
        listed = np.int64(0)
        for lane in range(n_lanes):
            _, close, above = doubts(n_columns, centres, tile, lane)
            listed |= np.int64(close | above) << lane
        for lane in range(n_rows):
            listed |= np.int64(tile.place[lane] != labels[first + lane]) << lane
        for lane in range(n_rows):
            if not (listed >> lane) & 1:
                continue
            i = first + lane
            winner = np.int64(tile.place[lane])
            doubt, close, above = doubts(n_columns, centres, tile, lane)
            if close or above:
                winner, best, next_best = least_costs(rows, i, constants, centres, winner, close)
                # Finer scores would not break ties.
                n_doubtful += close and (doubt == np.inf or next_best - best > FINER * doubt)
                if tile.weight[lane] * best > tile.opening[lane]:
                    marks[i] = ABOVE
                    n_above += 1
            if winner != labels[i]:
                n_changed += 1
                if totals.coarse.shape[0] > 0 and marks[i] != ABOVE:
                    move_row(
                        rows, i, tile.weight[lane], labels[i], winner, totals, rounding,
                        weight_rounding, 0, n_columns,
                    )  # fmt: skip
                labels[i] = winner
    return n_above, n_changed, n_doubtful, np.int64(stop - start)


@inlined
def fill(lanes, values, first, start, stop):
    """OUT lanes: the values of rows ``first`` onwards, the last one repeatedly.

    One value that stands for all rows is written at the ``start`` only.
    """
    if values.shape[0] > 1 or first == start:
        for lane in range(lanes.shape[0]):
            lanes[lane] = pick(values, min(first + lane, stop - 1))


@inlined
def doubts(n_columns, centres, tile, lane):
    """Return by how much the best cost may exceed what scores say, and what that leaves undecided.

    Whether another centre may be cheaper, and whether the row may be above its opening cost.
    """
    squares = np.float64(tile.squares[lane])
    base = squares if centres.squared else tile.constant[lane]
    least = np.float64(tile.least[lane])
    offset = centres.exact_offset[tile.place[lane]]
    error = score_error(n_columns, squares, base, centres)
    doubt = 2.0 * (error + centres.lowered * abs(offset))
    close = not tile.second[lane] > least + doubt
    above = not tile.weight[lane] * (base + least + doubt) <= tile.opening[lane]
    return doubt, close, above


@part
def least_costs(rows, i, constants, centres, winner, close):
    """Find the slot with the least cost by the direct formula, that cost and the next.

    Among all slots where scores are ``close``; else the winner by scores is the only one.
    """
    first, last = (np.int64(0), np.int64(centres.used)) if close else (winner, winner + 1)
    nothing = np.int64(-1)
    return cheapest(rows, i, constants, centres, first, last, nothing, nothing, np.inf, np.inf)
