"""One pass of the published algorithm over documents in memory."""

from collections.abc import Callable

import numpy as np

from hardbayes.executors.topics.protocol import WordLabels
from hardbayes.kernels.topics.literal import assign_words, associate
from hardbayes.matrices import Floats
from hardbayes.tuples import Corpus

ROOM = 64  # columns for topics that a pass opens, at first


class LiteralPass:
    """A pass on its way; topics that it opens are columns beside those there were.

    Parameters
    ----------
    corpus : Corpus
    costs : array (v, k)
    never : float
        The cost of a word that a topic does not have.
    global_penalty : float
    labels : WordLabels
        Changed in place.
    tiles : list of (first, last)
        Documents of one call, in order.
    """

    def __init__(
        self,
        corpus: Corpus,
        costs: Floats,
        never: float,
        global_penalty: float,
        labels: WordLabels,
        tiles: list[tuple[int, int]],
    ) -> None:
        self.corpus = corpus
        self.n_topics = costs.shape[1]
        self.costs = costs
        self.never = never
        self.global_penalty = global_penalty
        self.labels = labels
        self.tiles = tiles
        self.longest = int(np.diff(corpus.starts).max(initial=0))

    def run(self) -> None:
        """Make steps 4 and 5."""
        scratch = [np.empty(2 * self.longest, np.int64) for _ in range(3)]

        def words(first: int, last: int) -> tuple[int, int]:
            in_use = np.zeros(self.costs.shape[1], np.bool_)
            return self._call(assign_words, first, last, scratch[0], in_use, *scratch[1:])

        self._visit(words)
        self._visit(lambda first, last: self._call(associate, first, last, scratch[0]))

    def _call(
        self, kernel: Callable[..., tuple[int, int]], first: int, last: int, *scratch: np.ndarray
    ) -> tuple[int, int]:
        return kernel(
            self.corpus, self.costs, self.n_topics, self.global_penalty, self.never, *self.labels,
            first, last, *scratch,
        )  # fmt: skip

    def _visit(self, call: Callable[[int, int], tuple[int, int]]) -> None:
        for first, last in self.tiles:
            while first < last:
                self.n_topics, first = call(first, last)
                if first < last:
                    self._make_room()

    def _make_room(self) -> None:
        more = max(ROOM, self.costs.shape[1], self.longest)
        empty = np.empty((len(self.costs), more))
        self.costs = np.ascontiguousarray(np.concatenate([self.costs, empty], axis=1))
