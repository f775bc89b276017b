"""Splits of topics: two means in KL divergence over the documents' parts of a topic."""

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from hardbayes.matrices import Floats
from hardbayes.moves.topics.state import Proposal, TopicState, propose
from hardbayes.tuples import TopicSets

TRIES = 10  # pairs of seeds for each topic
ROUNDS = 2  # of two means over all documents, after those over a sample
# Topics are divided with at least this share of pseudo-counts: without, a word that one side lacks
# would decide alone.
LEAST_PRIOR = 0.05


class Divisions(NamedTuple):
    """A division of each topic in two."""

    saved: Floats  # (k,): exact, without the global penalty; zero where there is none
    sides: NDArray[np.uint8]  # (n, room): for each topic in each set
    second: Floats  # (v, k): totals of the second sides


def divisions(current: TopicState, rng: RandomState) -> Divisions:
    """Return the best division found of each topic."""
    documents, topics, sets = current.documents, current.topics, current.sets
    prior = current.structure.prior
    words = current.totals.sum(axis=1)
    smoothing = np.maximum(prior, LEAST_PRIOR / current.totals.shape[1] * words)
    ratios = documents.ratios(topics, sets, smoothing, TRIES, rng)
    sides, second = documents.divide(topics, sets, ratios)
    seen = smoothing > 0
    for _ in range(ROUNDS):
        amounts = smoothing[:, np.newaxis] + second
        rest = smoothing[:, np.newaxis] + current.totals - second
        ratios[seen] = np.log(amounts[seen] / rest[seen])
        ratios[seen] += np.log(rest.sum(axis=0) / amounts.sum(axis=0))
        ratios[:, : current.n_free] = 0.0
        sides, second = documents.divide(topics, sets, ratios)
    structure = current.structure
    saved = current.own_costs - structure.topic_costs(second)
    saved -= structure.topic_costs(current.totals - second)
    saved[: current.n_free] = 0.0
    return Divisions(saved, sides, second)


def split(current: TopicState, most: int, rng: RandomState) -> Proposal | None:
    """Propose all divisions that save more than the global penalty, the best ``most`` of them."""
    if most <= 0:
        return None
    found = divisions(current, rng)
    penalty = current.structure.global_penalty
    chosen = np.argsort(-found.saved, kind="stable")[:most]
    chosen = np.sort(chosen[found.saved[chosen] > penalty])
    return divided(current, chosen, found) if len(chosen) else None


def divided(current: TopicState, chosen: NDArray[np.intp], found: Divisions) -> Proposal | None:
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
