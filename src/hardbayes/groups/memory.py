"""Rows in groups that pay for the clusters they use, in the memory of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardbayes.core.arrays import DirectForm, Floats, chunks
from hardbayes.core.pool import Tiling
from hardbayes.dp_means.local_rows import ENTRIES_A_CALL, LocalRows
from hardbayes.groups.compiled import change, join, mark, regroup, survey, visit

Ids = NDArray[np.intp]
Ranks = NDArray[np.int32]
Labels = NDArray[np.int32]

NO_NEAREST: Labels = np.zeros(0, np.int32)  # where rows find their nearest centre one by one
SPARE = 32  # slots kept ready for clusters that rows open
MAX_ROUNDS = 32  # changes of a group's local clusters in a row


class Groups(NamedTuple):
    """The group of each row."""

    numbers: Ids  # (n,): 0 to n_groups - 1
    n_groups: int


class Sweep(NamedTuple):
    """How rows are visited, and what they pay."""

    order: Ids  # (n,): rows as they are visited
    local_penalty: float
    opening: Floats  # (n,) or (1,): what a row pays to open a cluster, the local penalty included
    most: int  # clusters at most
    opened_by: Callable[[int], tuple[Floats, DirectForm]]  # the centre (d,) that a row opens


class Visited(NamedTuple):
    """What rows chose, one after the other."""

    labels: Labels  # (n,): slots; those from k on were opened
    ranks: Ranks  # (groups, slots): of the local clusters, -1 for none
    opened: list[Floats]  # centres (d,) of the new slots
    refused: bool  # whether rows would have opened clusters but for the cap


def visit_rows(
    local: LocalRows,
    sweep: Sweep,
    groups: Groups,
    form: DirectForm,
    labels: Labels,
    ranks: Ranks,
    nearest: Labels = NO_NEAREST,
) -> Visited:
    """Let rows choose among centres (k, d) that stand still, and clusters opened on the way.

    ``labels`` (n,) and ``ranks`` (groups, k) as they are before; ``nearest`` (n,): the cheapest of
    the centres for each row, where a pass over all rows has found it.
    """
    n_old = n_slots = len(form.exact)
    form, ranks = _with_room(form, ranks, SPARE)
    labels, opening = labels.copy(), sweep.opening
    next_rank = np.array([ranks.max(initial=-1) + 1])
    opened: list[Floats] = []
    refused = False
    position, n = 0, len(sweep.order)
    while position < n:
        centres = local.centres(form)
        compared = n_slots - n_old + 1 if len(nearest) else n_slots
        stop = min(n, position + Tiling(local.entries_per_row, local.pool).most_rows(compared))
        position = visit(
            local.rows, local.weights, local.constants, centres, n_old, n_slots, sweep.order,
            nearest, groups.numbers, ranks, sweep.local_penalty, opening, labels, next_rank,
            position, stop,
        )  # fmt: skip
        if position == stop:
            continue
        if n_slots >= sweep.most:
            refused, opening = True, np.array([np.inf])
            continue
        if n_slots == len(form.exact):
            form, ranks = _with_room(form, ranks, n_slots)
        centre, own = sweep.opened_by(int(sweep.order[position]))
        form.exact[n_slots], form.offset[n_slots] = own.exact[0], own.offset[0]
        join(sweep.order, groups.numbers, ranks, next_rank, labels, position, n_slots)
        opened.append(centre)
        n_slots += 1
        position += 1
    return Visited(labels, ranks[:, :n_slots], opened, refused)


def _with_room(form: DirectForm, ranks: Ranks, more: int) -> tuple[DirectForm, Ranks]:
    _k, d = form.exact.shape
    exact = np.append(form.exact, np.zeros((more, d)), axis=0)
    offset = np.append(form.offset, np.zeros(more))
    unused = np.full((len(ranks), more), -1, np.int32)
    return DirectForm(exact, offset, form.squared), np.append(ranks, unused, axis=1)


def regroup_rows(
    local: LocalRows,
    form: DirectForm,
    by_group: Ids,
    starts: Ids,
    labels: Labels,
    local_penalty: float,
) -> Labels:
    """Return labels (n,) after each group has opened and closed local clusters at these centres.

    ``by_group`` (n,): rows sorted by group; ``starts`` (groups + 1,): where each begins.
    """
    labels, centres = labels.copy(), local.centres(form)
    k, n_groups = len(form.exact), len(starts) - 1
    most_rows = max(64, ENTRIES_A_CALL // (k * local.entries_per_row))
    # Groups are independent. Tiles of whole groups, of about so many rows; a group that has more
    # is a tile of its own, made of several calls.
    borders = np.unique(np.searchsorted(starts, np.arange(0, starts[-1], most_rows)))
    borders = np.append(borders[borders < n_groups], n_groups)

    def task(tile: int, worker: int) -> None:
        first, last = borders[tile], borders[tile + 1]
        used, gains = np.empty(k, bool), np.empty(k)
        arrays = local.rows, local.weights, local.constants, centres, by_group
        if starts[last] - starts[first] <= 2 * most_rows:
            regroup(
                *arrays, starts, labels, local_penalty, used, gains, MAX_ROUNDS, first, last
            )  # fmt: skip
            return
        for group in range(first, last):
            begin, end = int(starts[group]), int(starts[group + 1])
            mark(local.weights, by_group, labels, used, begin, end)
            for _ in range(MAX_ROUNDS):
                gains[:] = 0.0
                parts = [
                    survey(*arrays, labels, used, gains, at, min(at + most_rows, end))
                    for at in range(begin, end, most_rows)
                ]
                if not change(used, gains, sum(parts), local_penalty):
                    break

    local.pool.run(task, len(borders) - 1)
    return labels


def cheapest(
    local: LocalRows,
    form: DirectForm,
    groups: Ids,
    in_use: NDArray[np.bool_],
    local_penalty: float,
) -> tuple[Labels, Floats, Floats]:
    """Return where each row (n,) pays least, the first of equals; cost there, local penalty.

    A row of weight one pays its cost, and ``local_penalty`` for a cluster that its group (n,) does
    not use: ``in_use`` (groups, k). A group of -1 uses none.
    """
    labels, costs = np.empty(local.n_rows, np.int32), np.empty(local.n_rows)
    none = np.zeros((1, in_use.shape[1]), bool)
    local_penalties = np.where(np.append(in_use, none, axis=0), 0.0, local_penalty)
    for part in chunks(local.n_rows, len(form.exact)):
        own = local.take(np.arange(part.start, part.stop)).costs(form)
        labels[part] = np.argmin(own + local_penalties[groups[part]], axis=1)
        costs[part] = own[np.arange(len(own)), labels[part]]
    return labels, costs, local_penalties[groups, labels]
