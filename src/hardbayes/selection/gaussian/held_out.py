"""Whether rows that had no part in finding clusters thin out between them.

Rows whose two nearest clusters, in one metric, are the same two fill a convex cell. Within it every
log-concave density has one mode along any line. So, whatever clusters other rows have led to, rows
of one such cloud show no valley between them, but by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hardbayes.moves.gaussian.candidates import nearest_means
from hardbayes.selection.gaussian.clusters import clusters_of, common_discriminants
from hardbayes.selection.gaussian.path import Path, find_path

if TYPE_CHECKING:
    from hardbayes.executors.gaussian.mixture import MixtureRows
    from hardbayes.executors.gaussian.protocol import Ids

N_HALVINGS = 4  # of the rows, at most
MAX_ROWS = 1 << 13  # that are halved
MIN_ROWS = 5  # on either side of a border
LEVEL = 0.01  # of all borders together, for each halving; uniform rows reach it
MIN_CLUSTERS = 32  # to which the path of a half goes at least


class HeldOut(NamedTuple):
    """What rows held out say."""

    # For each number k of clusters, the p-value of its borders, times k (k - 1): so the levels of
    # all numbers add up to one.
    p_values: dict[int, float]

    @property
    def p_value(self) -> float:
        """The less, the more speaks for several clusters."""
        return min(self.p_values.values(), default=1.0)

    @property
    def is_several(self) -> bool:
        """Whether rows thin out between some clusters."""
        return self.p_value <= LEVEL


class Case(NamedTuple):
    """Rows in which clusters were found, and others that judge them."""

    rows: MixtureRows
    path: Path
    others: MixtureRows


def held_out(rows: MixtureRows, path: Path, k: int, dip_rows: MixtureRows, unseen: Ids) -> HeldOut:
    """Return what speaks most for several clusters, k having been found.

    Where there are enough rows besides, ``unseen`` of ``dip_rows``, they judge those found; else
    random halves of the rows judge each other, several times if need be.
    """
    if 2 * len(unseen) >= rows.n:
        return _heard([Case(rows, path, dip_rows.part(unseen))], k)
    rng = np.random.RandomState(0)
    rows = dip_rows
    if rows.n > MAX_ROWS:
        rows = rows.part(np.sort(rng.permutation(rows.n)[:MAX_ROWS]))
    heard: list[HeldOut] = []
    while len(heard) < N_HALVINGS and not any(each.is_several for each in heard):
        order, middle = rng.permutation(rows.n), rows.n // 2
        halves = [rows.part(np.sort(ids)) for ids in (order[:middle], order[middle:])]
        paths = [find_path(half, max(MIN_CLUSTERS, 2 * k)) for half in halves]
        cases = [Case(*case) for case in zip(halves, paths, halves[::-1], strict=True)]
        heard.append(_heard(cases, k))
    return min(heard, key=lambda each: each.p_value)


def _heard(cases: list[Case], k: int) -> HeldOut:
    """Return what the other rows of all cases say."""
    p_values: dict[int, list[float]] = {}
    for case in cases:
        for j in case.path:
            if 1 < j <= max(2 * k, k + 2):
                p_values.setdefault(j, []).extend(_borders(case, j))
    return HeldOut({j: min(1.0, j * (j - 1) * simes(ps)) for j, ps in p_values.items()})


def simes(p_values: list[float]) -> float:
    """Return the p-value of several tests together (Simes 1986)."""
    if not p_values:
        return 1.0
    ordered = np.sort(p_values)
    return float((ordered * len(ordered) / np.arange(1, len(ordered) + 1)).min())


def _borders(case: Case, k: int) -> list[float]:
    """Return p-values of dips between neighbours, along the normal of the plane between them."""
    clusters = clusters_of(case.rows, case.path[k].labels, k)
    roots, offsets = common_discriminants(case.rows, clusters)
    others = case.others
    near = nearest_means(clusters.means, roots, k)
    guess = np.zeros(others.n, np.int64)
    first, second = others.two_nearest(clusters.means, roots, offsets, near, guess)
    root, found = roots[0], []
    for a, b, ids in _between(first, second, k):
        gap = clusters.means[b] - clusters.means[a]
        normal = root[0] ** 2 * gap if others.diagonal else root.T @ (root @ gap)
        found.append(others.dip_p_value(ids, others.jittered[ids] @ normal))
    return found


def _between(first: Ids, second: Ids, k: int) -> Iterator[tuple[int, int, Ids]]:
    """Yield neighbours and the rows whose nearest two they are, with enough on either side."""
    pair = np.minimum(first, second) * k + np.maximum(first, second)
    order = np.argsort(pair, kind="stable")
    for ids in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        a, b = divmod(int(pair[ids[0]]), k)
        n_first = int(np.count_nonzero(first[ids] == a))
        if min(n_first, len(ids) - n_first) >= MIN_ROWS:
            yield a, b, ids
