"""Topic models of other libraries, each as a function from counts to topics."""

import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

from hardbayes import HDPTopics

ITERATIONS = 200  # of the sampler
SHARE = 1e-3  # of all words, below which a topic of a truncated model counts as unused


class Topics(NamedTuple):
    """What a model found."""

    scores: NDArray[np.float64]  # (k, v): the ten words with the highest describe the topic
    labels: NDArray[np.int64]  # (n,): the strongest topic of each document


def hard(counts: sparse.csr_array) -> tuple[Topics, Topics]:
    """Return the topics of HDPTopics as it comes; and with their heaviest words."""
    model = HDPTopics(random_state=0).fit(counts)
    labels = model.labels_.astype(np.int64)
    return Topics(model.relevance_, labels), Topics(model.components_, labels)


def nmf(counts: sparse.csr_array, k: int) -> Topics:
    """Return the factors of sublinear tf-idf."""
    tf_idf = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    model = NMF(k, init="nndsvd", random_state=0, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its topics hardly change any more
        shares = model.fit_transform(tf_idf)
    return Topics(model.components_, shares.argmax(axis=1))


def lda(counts: sparse.csr_array, k: int) -> Topics:
    """Return the topics of scikit-learn's latent Dirichlet allocation."""
    model = LatentDirichletAllocation(k, learning_method="online", random_state=0)
    shares = model.fit_transform(counts)
    return Topics(model.components_, shares.argmax(axis=1))


def tomotopy_hdp(counts: sparse.csr_array) -> Topics:
    """Return the topics of tomotopy's sampler for the hierarchical Dirichlet process."""
    import tomotopy

    model = tomotopy.HDPModel(seed=0)
    for document in _words(counts):
        model.add_doc(document or ["0"])  # it leaves out empty documents
    model.train(ITERATIONS, workers=1)
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    order = [int(word) for word in model.used_vocabs]
    components = np.zeros((len(live), counts.shape[1]))
    components[:, order] = [model.get_topic_word_dist(k) for k in live]
    shares = np.array([document.get_topic_dist() for document in model.docs])[:, live]
    return Topics(components, shares.argmax(axis=1))


def gensim_hdp(counts: sparse.csr_array) -> Topics:
    """Return the topics of gensim's variational HDP that hold at least SHARE of all words."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import HdpModel

    corpus = Sparse2Corpus(sparse.csc_matrix(counts), documents_columns=False)
    names = {word: str(word) for word in range(counts.shape[1])}
    model = HdpModel(corpus, names, random_state=0)
    shares = np.zeros((counts.shape[0], model.m_T))
    for document, topics in enumerate(model[corpus]):
        for k, share in topics:
            shares[document, k] = share
    used = np.asarray(counts.sum(axis=1)).ravel() @ shares >= SHARE * counts.sum()
    return Topics(model.get_topics()[used], shares[:, used].argmax(axis=1))


def _words(counts: sparse.csr_array) -> Sequence[list[str]]:
    rows = sparse.csr_array(counts).astype(int)
    return [
        [str(word) for word in np.repeat(rows.indices[part], rows.data[part])]
        for part in map(slice, rows.indptr[:-1], rows.indptr[1:])
    ]


#: Peers that find their number of topics, with the package that must be installed.
OPTIONAL: dict[str, tuple[str, Callable[[Any], Topics]]] = {
    "tomotopy HDP": ("tomotopy", tomotopy_hdp),
    "gensim HdpModel": ("gensim", gensim_hdp),
}


def installed(package: str) -> bool:
    """Whether a package can be imported."""
    return find_spec(package) is not None
