"""Documents in memory, and the passes over them that a search for topics needs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from hardbayes.core.arrays import Corpus, Floats, Topics, TopicSets
from hardbayes.core.pool import Pool
from hardbayes.topics.compiled import (
    add_shares,
    add_up,
    assign_words,
    associate,
    cheapest_whole,
    choose,
    divide,
    gather,
    pair_penalties,
    two_means,
)

TILE_WORK = 1 << 24  # multiply-adds of a call, at most: some hundredths of a second
SAMPLE = 1 << 20  # entries of documents by which a topic is split; all of them then judge
MAX_ROUNDS = 10  # of two means
ROOM = 64  # columns for topics that a pass of the published algorithm opens, at first
MAX_SHARED = 1 << 25  # numbers of totals that threads have for themselves, in all


class TopicSweep(NamedTuple):
    """The result of one pass over all documents."""

    sets: TopicSets  # only topics that have words of the document
    totals: Floats  # (v, k): the weight of each word in each topic, exact
    losses: Floats  # (k,): by how much the documents' costs would rise without that topic, at most


class WordLabels(NamedTuple):
    """Local clusters of the words of documents, for the published algorithm."""

    labels: NDArray[np.int32]  # (entries,): the local cluster of each word
    associations: NDArray[np.int32]  # (entries,): the topic of cluster c of d at ``starts[d] + c``
    n_local: NDArray[np.int32]  # (n,)


class Collected(NamedTuple):
    """Local clusters whose topics all have words, and what follows from them."""

    labels: WordLabels
    topics: NDArray[np.int32]  # (entries,): of each word
    totals: Floats  # (v, k)
    sets: TopicSets


class TopicParts(NamedTuple):
    """The words of some documents that belong to one topic."""

    starts: NDArray[np.int64]  # (m + 1,)
    words: NDArray[np.int32]  # numbers from zero on
    weights: Floats
    vocabulary: NDArray[np.int32]  # (w,): the word of each number


class Documents:
    """The documents of a corpus, each a list of words with weights, and what it pays for a topic.

    No method changes its arguments. Totals are exact, and all results are the same for any number
    of threads.
    """

    def __init__(self, corpus: Corpus, n_words: int, pool: Pool) -> None:
        self.corpus = corpus
        self.n_documents = len(corpus.penalties)
        self.n_words = n_words  # of the vocabulary
        self.penalties = corpus.penalties  # (n,)
        self._pool = pool
        self._longest = int(np.diff(corpus.starts).max(initial=0))

    # -- sweeps -----------------------------------------------------------------------------------

    def sweep(self, topics: Topics, sets: TopicSets) -> TopicSweep:
        """Choose the topics of each document, from those it has, and give its words to them.

        Topics are added, dropped and swapped as long as the cost of the document falls. Each word
        goes to the cheapest topic of its document.
        """
        n_topics = topics.costs.shape[1]
        sets, regrets = self._choose(topics, sets)
        is_own = sets.is_own
        losses = np.bincount(sets.topics[is_own], regrets[is_own], n_topics).astype(float)
        totals = self._add_up(topics, sets)
        return TopicSweep(sets, totals, losses)

    def choose(self, topics: Topics, sets: TopicSets) -> TopicSets:
        """Return the sets of such a pass, without totals."""
        return self._choose(topics, sets)[0]

    def _choose(self, topics: Topics, sets: TopicSets) -> tuple[TopicSets, Floats]:
        """Return sets, and regrets (n, room) of their topics."""
        sets, regrets = sets.copy(), np.zeros(sets.topics.shape)
        tiles = self._choose_in(self._tiles(3 * topics.costs.shape[1]), topics, sets, regrets)
        while tiles:  # documents with more topics than there is room for
            sets = TopicSets(_twice_as_wide(sets.topics), sets.sizes)
            regrets = _twice_as_wide(regrets)
            tiles = self._choose_in(tiles, topics, sets, regrets)
        return sets, regrets

    def _choose_in(
        self, tiles: list[tuple[int, int]], topics: Topics, sets: TopicSets, regrets: Floats
    ) -> list[tuple[int, int]]:
        """Choose in place; return what is left of the tiles where room was missing."""
        size, n_threads = self._longest, self._pool.n_threads
        costs, owners = np.empty((n_threads, 2, size)), np.empty((n_threads, size), np.int64)
        sums = np.empty((n_threads, topics.costs.shape[1]))
        reached = [0] * len(tiles)

        def task(at: int, worker: int) -> None:
            scratch = *costs[worker], owners[worker], sums[worker]
            reached[at] = choose(self.corpus, *topics, sets, regrets, *tiles[at], *scratch)

        self._pool.run(task, len(tiles))
        return [(at, last) for at, (_, last) in zip(reached, tiles, strict=True) if at < last]

    def _add_up(self, topics: Topics, sets: TopicSets) -> Floats:
        """Return totals; INOUT sets: topics without words are dropped."""
        n_topics = topics.costs.shape[1]
        used = np.empty((self._pool.n_threads, n_topics), np.bool_)
        return self._sum(
            n_topics,
            lambda totals, worker, first, last: add_up(
                self.corpus, *topics, sets, totals, used[worker], first, last
            ),
        )

    def _sum(self, n_topics: int, add: Callable[[Floats, int, int, int], None]) -> Floats:
        """Return the sum (v, k) of what is added by ``add(totals, worker, first, last)``."""
        shape = (self.n_words, n_topics)
        tiles = self._tiles(8)
        if shape[0] * shape[1] * self._pool.n_threads > MAX_SHARED:
            totals = np.zeros(shape)
            for first, last in tiles:
                add(totals, 0, first, last)
            return totals
        of_workers: dict[int, Floats] = {}

        def task(at: int, worker: int) -> None:
            if worker not in of_workers:
                of_workers[worker] = np.zeros(shape)
            add(of_workers[worker], worker, *tiles[at])

        self._pool.run(task, len(tiles))
        summed, *others = of_workers.values()
        for other in others:
            summed += other
        return summed

    # -- splits ------------------------------------------------------------------------------------

    def ratios(
        self, topics: Topics, sets: TopicSets, prior: Floats, n_tries: int, rng: RandomState
    ) -> Floats:
        """Return (v, k) what a word gains on the second side of a split of its topic.

        By two means in KL divergence over the documents' parts of the topic, or a sample of them;
        the best of ``n_tries`` pairs of seeds. Zero where a topic has fewer than two documents.
        """
        n_topics = topics.costs.shape[1]
        found = np.zeros(topics.costs.shape)
        members = _members(sets, n_topics)
        splittable = [k for k in range(topics.n_free, n_topics) if len(members[k]) > 1]
        drawn = {}
        for k in splittable:
            members[k] = rng.permutation(members[k])
            drawn[k] = rng.random_sample((n_tries, 2))
        numbers = np.full((self._pool.n_threads, self.n_words), -1, np.int32)

        def task(at: int, worker: int) -> None:
            k = splittable[at]
            parts = self._gather(topics, sets, k, members[k], numbers[worker])
            self._two_means(parts, prior, drawn[k], found[:, k])

        self._pool.run(task, len(splittable))
        return found

    def _gather(
        self,
        topics: Topics,
        sets: TopicSets,
        k: int,
        documents: NDArray[np.int64],
        numbers: NDArray[np.int32],
    ) -> TopicParts:
        """Return a topic's parts of documents, or of as many of them as fit a sample."""
        starts = self.corpus.starts
        size = int((starts[documents + 1] - starts[documents]).sum())
        size = min(size, max(SAMPLE, 2 * self._longest))
        part_starts = np.empty(len(documents) + 1, np.int64)
        words, weights = np.empty(size, np.int32), np.empty(size)
        vocabulary = np.empty(self.n_words, np.int32)
        count, n_words = gather(
            self.corpus, *topics, sets, k, documents, numbers, part_starts, words, weights,
            vocabulary,
        )  # fmt: skip
        return TopicParts(part_starts[: count + 1], words, weights, vocabulary[:n_words])

    def _two_means(self, parts: TopicParts, prior: Floats, drawn: Floats, ratios: Floats) -> None:
        """OUT ratios (v,): of the best of some tries."""
        vocabulary = parts.vocabulary
        n_parts, n_words = len(parts.starts) - 1, len(vocabulary)
        own = prior[vocabulary]
        prior_total = float(prior.sum())
        sides, totals = np.empty(n_parts, np.uint8), np.empty((2, n_words))
        best, scratch = -np.inf, np.empty(n_words)
        for pair in drawn:
            self._pool.stop_if_given_up()
            seeds = (pair * (n_parts, n_parts - 1)).astype(np.int64)
            seeds[1] += seeds[1] >= seeds[0]
            value = two_means(
                *parts[:3], own, prior_total, seeds, MAX_ROUNDS, sides, totals, scratch
            )
            if value > best:
                best = value
                ratios[:] = 0.0
                sizes = totals.sum(axis=1) + prior_total
                ratios[vocabulary] = np.log((totals[1] + own) / (totals[0] + own))
                ratios[prior > 0] += np.log(sizes[0] / sizes[1])

    def split(
        self, topics: Topics, sets: TopicSets, ratios: Floats
    ) -> tuple[NDArray[np.uint8], Floats]:
        """Divide every topic: each document's part goes to the side where its words gain.

        Returns the side (n, room) for each topic in each set, and totals (v, k) of second sides.
        """
        sides = np.zeros(sets.topics.shape, np.uint8)
        gains = np.empty((self._pool.n_threads, ratios.shape[1]))
        totals = self._sum(
            ratios.shape[1],
            lambda totals, worker, first, last: divide(
                self.corpus, *topics, sets, ratios, sides, totals, gains[worker], first, last
            ),
        )
        return sides, totals

    # -- sums -------------------------------------------------------------------------------------

    def pair_penalties(self, sets: TopicSets, n_topics: int) -> Floats:
        """Return (k, k) the sum of penalties of the documents that have both topics a < b."""
        together = np.zeros((n_topics, n_topics))
        pair_penalties(self.corpus, sets, together)
        return together

    def shares(self, topics: Topics, sets: TopicSets) -> tuple[Floats, Floats]:
        """Return the weight of each document in each topic (n, k), and what its words cost (n,)."""
        shares = np.zeros((self.n_documents, topics.costs.shape[1]))
        fits, tiles = np.empty(self.n_documents), self._tiles(8)
        self._pool.run(
            lambda at, _: add_shares(self.corpus, *topics, sets, shares, fits, *tiles[at]),
            len(tiles),
        )
        return shares, fits

    def cheapest_topics(self, topics: Topics) -> NDArray[np.int64]:
        """Return (n,) the topic, not a free one, at which each whole document costs least."""
        n_topics = topics.costs.shape[1]
        found = np.empty(self.n_documents, np.int64)
        sums = np.empty((self._pool.n_threads, n_topics))
        tiles = self._tiles(n_topics)
        self._pool.run(
            lambda at, worker: cheapest_whole(
                self.corpus, *topics, found, sums[worker], *tiles[at]
            ),
            len(tiles),
        )
        return found

    # -- the published algorithm ------------------------------------------------------------------

    def one_cluster_each(self) -> WordLabels:
        """Return one local cluster for each document, all of topic 0."""
        zeros = np.zeros(len(self.corpus.words), np.int32)
        return WordLabels(
            zeros, zeros.copy(), np.diff(self.corpus.starts).clip(max=1).astype(np.int32)
        )

    def published_pass(
        self, costs: Floats, never: float, global_penalty: float, labels: WordLabels
    ) -> tuple[WordLabels, int]:
        """Return local clusters after one pass of the published algorithm, and how many topics.

        Steps 4 and 5 of Kulis & Jordan's Algorithm 2, documents and words in their order. A word
        that a topic does not have costs ``never``. Some of the topics may be empty.
        """
        labels = WordLabels(*(array.copy() for array in labels))
        tiles = self._tiles(64 + costs.shape[1])  # some topics more are opened on the way
        return labels, literal_pass(self.corpus, costs, never, global_penalty, labels, tiles)

    def collect(self, labels: WordLabels, n_topics: int) -> Collected:
        """Add up words, and drop topics without words."""
        starts, words = self.corpus.starts, self.corpus.words
        topics = labels.associations[np.repeat(starts[:-1], np.diff(starts)) + labels.labels]
        kept = np.bincount(topics, minlength=n_topics) > 0
        names = (np.cumsum(kept) - 1).astype(np.int32)
        labels = labels._replace(associations=names[labels.associations])
        topics, n_topics = names[topics], int(kept.sum())
        cells = words.astype(np.int64) * n_topics + topics
        flat = np.bincount(cells, self.corpus.weights, self.n_words * n_topics)
        totals = flat.astype(float, copy=False).reshape(self.n_words, n_topics)
        return Collected(labels, topics, totals, self._sets(topics, n_topics))

    def _sets(self, topics: NDArray[np.int32], n_topics: int) -> TopicSets:
        """Return the distinct topics of each document whose words are in topics (entries,)."""
        owner = np.repeat(np.arange(self.n_documents), np.diff(self.corpus.starts))
        documents, own = np.divmod(np.unique(owner * n_topics + topics), n_topics)
        sizes = np.bincount(documents, minlength=self.n_documents)
        places = np.arange(len(own)) - (np.cumsum(sizes) - sizes)[documents]
        sets = np.zeros((self.n_documents, max(1, int(sizes.max()))), np.int32)
        sets[documents, places] = own
        return TopicSets(sets, sizes.astype(np.int32))

    def _tiles(self, work: int) -> list[tuple[int, int]]:
        """Return where tiles of documents begin and end; ``work``: multiply-adds for an entry."""
        starts, n = self.corpus.starts, self.n_documents
        most = max(1, TILE_WORK // work)
        n_tiles = int(max(min(4 * self._pool.n_threads, n), -(-int(starts[-1]) // most)))
        cuts = np.linspace(0, starts[-1], n_tiles + 1)[1:-1]
        borders = np.unique(np.concatenate([[0], np.searchsorted(starts, cuts), [n]]))
        return list(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True))


def _twice_as_wide(array: NDArray) -> NDArray:
    return np.ascontiguousarray(np.concatenate([array, np.zeros_like(array)], axis=1))


def _members(sets: TopicSets, n_topics: int) -> list[NDArray[np.int64]]:
    """Return the documents of each topic, in order."""
    documents, _ = np.nonzero(sets.is_own)
    topics = sets.topics[sets.is_own]
    order = np.argsort(topics, kind="stable")
    counts = np.bincount(topics, minlength=n_topics)
    return np.split(documents[order], np.cumsum(counts)[:-1])


def literal_pass(
    corpus: Corpus,
    costs: Floats,
    never: float,
    global_penalty: float,
    labels: WordLabels,
    tiles: list[tuple[int, int]],
) -> int:
    """Make steps 4 and 5 of the algorithm; return the number of topics.

    Topics that the pass opens are columns beside those of ``costs`` (v, k); a word that a topic
    does not have costs ``never``. ``tiles`` are the documents of each call, in order. INOUT labels.
    """
    n_topics, longest = costs.shape[1], int(np.diff(corpus.starts).max(initial=0))
    own, counts, renumbered = (np.empty(2 * longest, np.int64) for _ in range(3))
    for step in (assign_words, associate):
        for first, last in tiles:
            while first < last:
                scratch: list[np.ndarray] = [own]
                if step is assign_words:
                    in_use = np.zeros(costs.shape[1], np.bool_)
                    scratch = [own, in_use, counts, renumbered]
                n_topics, first = step(
                    corpus, costs, n_topics, global_penalty, never, *labels, first, last, *scratch
                )
                if first < last:  # there is no room for more topics
                    more = np.empty((len(costs), max(ROOM, costs.shape[1], longest)))
                    costs = np.ascontiguousarray(np.concatenate([costs, more], axis=1))
    return n_topics
