"""Moves of whole topics: merges, deletions, splits, a background.

Splits are by two means in KL divergence over the documents' parts of a topic. A background is one
topic that every document may use for its common words.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, TopicSets
from hardbayes.core.loop import Proposal
from hardbayes.core.pool import one_blas_thread
from hardbayes.topics.state import TopicState, propose, rename_topics, sweep_documents

Ids = NDArray[np.intp]

NEIGHBOURS = 4  # topics with which each is compared
TRIES = 10  # pairs of seeds for each topic
ROUNDS = 2  # of two means over all documents, after those over a sample
# Topics are split with at least this share of pseudo-counts: without, a word that one side lacks
# would decide alone.
MIN_PRIOR = 0.05
SWEEPS = 4  # before the background is judged


def merge_changes(current: TopicState) -> tuple[Ids, Ids, Floats]:
    """Return pairs of topics, first < second, and the exact change of the objective by a merge.

    Those of each topic with its nearest few; the most useful first.
    """
    structure, n_topics = current.structure, current.totals.shape[1]
    one, other = neighbours(current.totals[:, current.n_free :]) + current.n_free
    costs = current.own_costs
    merges = structure.topic_costs(current.totals[:, one] + current.totals[:, other])
    together = current.documents.pair_penalties(current.sets, n_topics)
    changes = merges - costs[one] - costs[other] - structure.global_penalty - together[one, other]
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


def merge(current: TopicState) -> Proposal[TopicState] | None:
    """Propose the merges of disjoint pairs that lower the objective."""
    if current.n_topics < 2:
        return None
    n_topics = current.totals.shape[1]
    names, is_free = np.arange(n_topics), np.ones(n_topics, bool)
    for one, other, change in zip(*merge_changes(current), strict=True):
        if change < 0 and is_free[one] and is_free[other]:
            is_free[[one, other]] = False
            names[other] = one
    n_merges = int(np.count_nonzero(names != np.arange(n_topics)))
    return merge_topics(current, names, n_merges) if n_merges else None


def merge_topics(current: TopicState, names: Ids, n_merges: int) -> Proposal[TopicState] | None:
    """Propose that topic k becomes part of topic ``names[k]``."""
    kept = names == np.arange(len(names))
    totals = current.totals[:, kept].copy()
    places = (np.cumsum(kept) - 1)[names]
    for k in np.flatnonzero(~kept):
        totals[:, places[k]] += current.totals[:, k]
    return propose(current, rename_topics(current.sets, places), totals, n_merges=n_merges)


def delete(current: TopicState) -> Proposal[TopicState] | None:
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
    sets = drop_topic(current.sets, k)
    totals = np.ascontiguousarray(current.totals[:, kept])
    return propose(current, sets, totals, n_merges=1)


def drop_topic(sets: TopicSets, k: int) -> TopicSets:
    """Return sets without topic k; those after it are renamed."""
    kept = sets.is_own & (sets.topics != k)
    order = np.argsort(~kept, axis=1, kind="stable")
    topics = np.take_along_axis(sets.topics, order, axis=1)
    found = TopicSets(topics - (topics > k), kept.sum(axis=1, dtype=np.int32))
    found.topics[~found.is_own] = 0  # they are read as indices, too
    return found


class Splits(NamedTuple):
    """A split of each topic in two."""

    saved: Floats  # (k,): exact, without the global penalty; zero where there is none
    sides: NDArray[np.uint8]  # (n, room): for each topic in each set
    second: Floats  # (v, k): totals of the second sides


def find_splits(current: TopicState, rng: RandomState) -> Splits:
    """Return the best split found of each topic."""
    documents, topics, sets = current.documents, current.topics, current.sets
    prior = current.structure.prior
    words = current.totals.sum(axis=1)
    smoothing = np.maximum(prior, MIN_PRIOR / current.totals.shape[1] * words)
    ratios = documents.ratios(topics, sets, smoothing, TRIES, rng)
    sides, second = documents.split(topics, sets, ratios)
    seen = smoothing > 0
    for _ in range(ROUNDS):
        amounts = smoothing[:, np.newaxis] + second
        rest = smoothing[:, np.newaxis] + current.totals - second
        ratios[seen] = np.log(amounts[seen] / rest[seen])
        ratios[seen] += np.log(rest.sum(axis=0) / amounts.sum(axis=0))
        ratios[:, : current.n_free] = 0.0
        sides, second = documents.split(topics, sets, ratios)
    structure = current.structure
    saved = current.own_costs - structure.topic_costs(second)
    saved -= structure.topic_costs(current.totals - second)
    saved[: current.n_free] = 0.0
    return Splits(saved, sides, second)


def split(current: TopicState, most: int, rng: RandomState) -> Proposal[TopicState] | None:
    """Propose all splits that save more than the global penalty, the best ``most`` of them."""
    if most <= 0:
        return None
    found = find_splits(current, rng)
    penalty = current.structure.global_penalty
    chosen = np.argsort(-found.saved, kind="stable")[:most]
    chosen = np.sort(chosen[found.saved[chosen] > penalty])
    return split_topics(current, chosen, found) if len(chosen) else None


def split_topics(
    current: TopicState, chosen: NDArray[np.intp], found: Splits
) -> Proposal[TopicState] | None:
    """Propose that the second sides of the chosen topics become topics of their own."""
    n_before = current.totals.shape[1]
    names = np.arange(n_before)
    names[chosen] = n_before + np.arange(len(chosen))
    topics = np.where(found.sides == 1, names[current.sets.topics], current.sets.topics)
    second = found.second[:, chosen]
    totals = np.concatenate([current.totals, second], axis=1)
    totals[:, chosen] -= second
    sets = TopicSets(topics.astype(np.int32), current.sets.sizes)
    return propose(current, sets, totals, n_splits=len(chosen))


def add_background(current: TopicState) -> Proposal[TopicState] | None:
    """Propose a background that starts at the word shares of the corpus.

    Judged after a few sweeps: words move to it from all topics, one sweep after another.
    """
    if current.structure.has_background:
        return None
    structure = replace(current.structure, has_background=True)
    words = current.totals.sum(axis=1, keepdims=True)
    totals = np.concatenate([words, current.totals], axis=1)
    sets = TopicSets(current.sets.topics + np.int32(1), current.sets.sizes)
    outcome = sweep_documents(current.documents, structure, sets, totals)
    for _ in range(SWEEPS - 1):
        outcome = sweep_documents(current.documents, structure, outcome.sets, outcome.totals)
    change = outcome.objective - current.objective
    return Proposal(change, outcome) if outcome.n_topics and change < 0 else None
