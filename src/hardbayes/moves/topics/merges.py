"""Merges of two topics, and deletions of one."""

import numpy as np
from numpy.typing import NDArray

from hardbayes.blas import one_blas_thread
from hardbayes.matrices import Floats
from hardbayes.moves.topics.state import Proposal, TopicState, propose, renamed
from hardbayes.tuples import TopicSets

Ids = NDArray[np.intp]

NEIGHBOURS = 4  # topics with which each is compared


def union_changes(current: TopicState) -> tuple[Ids, Ids, Floats]:
    """Return pairs of topics, first < second, and the exact change of the objective by a merge.

    Those of each topic with its nearest few; the most useful first.
    """
    structure, n_topics = current.structure, current.totals.shape[1]
    one, other = neighbours(current.totals[:, current.n_free :]) + current.n_free
    costs = current.own_costs
    unions = structure.topic_costs(current.totals[:, one] + current.totals[:, other])
    together = current.documents.pair_penalties(current.sets, n_topics)
    changes = unions - costs[one] - costs[other] - structure.global_penalty - together[one, other]
    order = np.argsort(changes, kind="stable")
    return one[order], other[order], changes[order]


def neighbours(totals: Floats) -> Ids:
    """Return (2, pairs) each topic with its NEIGHBOURS nearest in Hellinger distance."""
    roots = np.sqrt(totals / totals.sum(axis=0))
    with one_blas_thread():
        likeness = roots.T @ roots
    np.fill_diagonal(likeness, -np.inf)
    nearest = np.argsort(-likeness, axis=1, kind="stable")[:, : min(NEIGHBOURS, len(likeness) - 1)]
    pairs = np.stack([np.repeat(np.arange(len(nearest)), nearest.shape[1]), nearest.ravel()])
    return np.unique(np.sort(pairs, axis=0), axis=1)


def merge(current: TopicState) -> Proposal | None:
    """Propose the merges of disjoint pairs that lower the objective."""
    if current.n_topics < 2:
        return None
    n_topics = current.totals.shape[1]
    names, is_free = np.arange(n_topics), np.ones(n_topics, bool)
    for one, other, change in zip(*union_changes(current), strict=True):
        if change < 0 and is_free[one] and is_free[other]:
            is_free[[one, other]] = False
            names[other] = one
    n_merges = int(np.count_nonzero(names != np.arange(n_topics)))
    return united(current, names, n_merges) if n_merges else None


def united(current: TopicState, names: Ids, n_merges: int) -> Proposal | None:
    """Propose that topic k becomes part of topic ``names[k]``."""
    kept = names == np.arange(len(names))
    totals = current.totals[:, kept].copy()
    places = (np.cumsum(kept) - 1)[names]
    for k in np.flatnonzero(~kept):
        totals[:, places[k]] += current.totals[:, k]
    return propose(current, renamed(current.sets, places), totals, n_merges=n_merges)


def delete(current: TopicState) -> Proposal | None:
    """Propose to delete the topic that its documents miss least, if that lowers the objective."""
    if current.n_topics < 2:
        return None
    structure, first = current.structure, current.n_free
    # What a topic pays besides the costs of its words: its prior's divergence.
    words = (current.totals * structure.costs(current.totals)).sum(axis=0)
    changes = current.losses - structure.global_penalty - (current.own_costs - words)
    k = first + int(np.argmin(changes[first:]))
    if not changes[k] < 0:
        return None
    kept = np.arange(current.totals.shape[1]) != k
    sets = without(current.sets, k)
    totals = np.ascontiguousarray(current.totals[:, kept])
    return propose(current, sets, totals, n_merges=1)


def without(sets: TopicSets, k: int) -> TopicSets:
    """Return sets without topic k; those after it are renamed."""
    kept = sets.is_own & (sets.topics != k)
    order = np.argsort(~kept, axis=1, kind="stable")
    topics = np.take_along_axis(sets.topics, order, axis=1)
    found = TopicSets(topics - (topics > k), kept.sum(axis=1, dtype=np.int32))
    found.topics[~found.is_own] = 0  # they are read as indices, too
    return found
