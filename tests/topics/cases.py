"""States of fits of topics on small corpora."""

import numpy as np

from hardbayes.topics.state import sweep_documents
from tests.topics.estimator_cases import documents_of, sets_of, structure_of, totals_of


def planted(n=30, seed=0):
    """Counts of n documents over nine words; each document has the words of one third of them."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((n, 9))
    for d in range(n):
        counts[d, 3 * (d % 3) : 3 * (d % 3) + 3] = rng.multinomial(20, [0.5, 0.3, 0.2])
    return counts


def state_of(counts, labels, *, penalty=5.0, global_penalty=3.0, prior_weight=2.0, n_threads=1):
    """The state after a sweep from one topic for each document."""
    documents = documents_of(counts, penalty, n_threads)
    structure = structure_of(counts, prior_weight, global_penalty)
    k = int(np.max(labels)) + 1
    totals = np.stack([counts[labels == c].sum(axis=0) for c in range(k)], axis=1)
    return sweep_documents(documents, structure, sets_of([[label] for label in labels]), totals)


def assert_consistent(state):
    """Totals and objective are those of the words, as the state's topics give them to documents."""
    words = totals_of(state.documents, state.topics, state.sets)
    np.testing.assert_array_equal(state.totals, words)
    expected = state.structure.objective(state.totals, state.documents.penalties, state.sets.sizes)
    assert state.objective == expected
    assert state.totals[:, state.n_free :].any(axis=0).all(), "no empty topics"
