"""The contract between fits of topics and the place where documents live."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from hardbayes.core.arrays import Floats, TopicSets


class Topics(NamedTuple):
    """Topics as documents see them."""

    costs: Floats  # (v, k): of a word at a topic, in nats
    n_free: int  # the first so many topics are open to every document, and in no set


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


class TopicDocuments(Protocol):
    """Documents, each a list of words with weights, and what it pays for a topic.

    No method changes its arguments. Totals are exact, and all results are the same for any number
    of threads.
    """

    n_documents: int
    n_words: int  # of the vocabulary
    penalties: Floats  # (n,)

    def sweep(self, topics: Topics, sets: TopicSets) -> TopicSweep:
        """Choose the topics of each document, from those it has, and give its words to them.

        Topics are added, dropped and swapped as long as the cost of the document falls. Each word
        goes to the cheapest topic of its document.
        """

    def choose(self, topics: Topics, sets: TopicSets) -> TopicSets:
        """Return the sets of such a pass, without totals."""

    def ratios(
        self, topics: Topics, sets: TopicSets, prior: Floats, n_tries: int, rng: RandomState
    ) -> Floats:
        """Return (v, k) what a word gains on the second side of a division of its topic.

        By two means in KL divergence over the documents' parts of the topic, or a sample of them;
        the best of ``n_tries`` pairs of seeds. Zero where a topic has fewer than two documents.
        """

    def divide(
        self, topics: Topics, sets: TopicSets, ratios: Floats
    ) -> tuple[NDArray[np.uint8], Floats]:
        """Divide every topic: each document's part goes to the side where its words gain.

        Returns the side (n, room) for each topic in each set, and totals (v, k) of second sides.
        """

    def pair_penalties(self, sets: TopicSets, n_topics: int) -> Floats:
        """Return (k, k) the sum of penalties of the documents that have both topics a < b."""

    def shares(self, topics: Topics, sets: TopicSets) -> tuple[Floats, Floats]:
        """Return the weight of each document in each topic (n, k), and what its words cost (n,)."""

    def cheapest_topics(self, topics: Topics) -> NDArray[np.int64]:
        """Return (n,) the topic, not a free one, at which each whole document costs least."""

    def one_cluster_each(self) -> WordLabels:
        """Return one local cluster for each document, all of topic 0."""

    def published_pass(
        self, costs: Floats, never: float, global_penalty: float, labels: WordLabels
    ) -> tuple[WordLabels, int]:
        """Return local clusters after one pass of the published algorithm, and how many topics.

        Steps 4 and 5 of Kulis & Jordan's Algorithm 2, documents and words in their order. A word
        that a topic does not have costs ``never``. Some of the topics may be empty.
        """

    def collect(self, labels: WordLabels, n_topics: int) -> Collected:
        """Add up words, and drop topics without words."""
