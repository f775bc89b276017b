"""Whether documents have topics: words of different blocks of the vocabulary go together.

The null: all documents are drawn from one distribution of words, each on its own, whatever their
lengths and however bursty their words. The vocabulary is dealt into blocks at random. Given how
many words of a document are in each block, what these words are in one block then says nothing
about the other blocks: this holds exactly for multinomial and for Dirichlet-multinomial documents
of one mean, because a Dirichlet distribution falls into independent parts. Topics break it.

1. In block b, document i has the residual r_ib of its words from the block's mean distribution,
   scaled to length one. Counts are damped, log(1 + count times mean length / length), so that
   bursts do not drown topics; multiples of one document have no residuals.
2. ``g_b[i, j] = r_ib . r_jb`` says how alike two documents are in block b. Under the null the sign
   of g_b[i, j] has nothing to do with that of g_c[i, j], so

       z = sum of g_b[i, j] g_c[i, j] over pairs of documents and pairs of blocks / its deviation

   has mean 0 and deviation 1: products of different pairs are uncorrelated, so the variance is the
   sum of their squares. Documents that share a topic are alike in every block.
3. Where the burstiness of words is unequal, or counts are damped, the distribution of words changes
   with the length of a document, in all blocks. So documents are sorted into strata of similar
   length, and g_b is centred in each pair of strata. Within a stratum this is U-centring (Szekely
   and Rizzo 2014): it leaves no bias, though residuals of a stratum sum to zero.

What goes with length alone is thus no topic. No random signs are drawn, and no eigenvalues are
needed: a block costs the products of the documents' words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hardbayes.core.arrays import Floats, Matrix, row_sums
from hardbayes.core.pool import Pool, one_blas_thread

# Deviations from which documents have topics: fewer find weaker topics, and some where there are
# none (benchmarks.choosing_topics).
NEEDED = 3.0
# A first z above this ends the test: none without topics comes near (benchmarks.choosing_topics).
CLEAR = 6.0
# Blocks of the vocabulary, at most: more compare more pairs of words, and cost more
# (benchmarks.choosing_topics).
BLOCKS = 8
BLOCK_WORDS = 3  # in a block, at least: two have one residual (benchmarks.choosing_topics)
# The mean of so many random deals is taken; of FEW_WORDS or less, which fall into few blocks, four
# times as many. More are steadier and take longer (benchmarks.choosing_topics).
DEALS = 4
FEW_WORDS = 24
SAMPLE = 500  # documents that are compared with each other, at a time
MAX_SAMPLES = 16  # of documents, patience
# A stratum ends where it has MIN_STRATUM documents and the next is longer than LONGER times its
# first, or where it has MAX_STRATUM. Smaller ones follow length more closely, and lose evidence
# (benchmarks.choosing_topics).
MIN_STRATUM = 5
MAX_STRATUM = 32
LONGER = 2.0
ROUNDING = 1e-6  # residuals below this share of the block are rounding


def topics_z(matrix: Matrix, weights: Floats | None, pool: Pool) -> float:
    """Return z, in standard deviations, for counts (n, v) of words; 0 where nothing can be told.

    Documents are compared within samples, whose evidence adds up. Deals and samples do not depend
    on the seed of a fit. ``weights`` (n,) of zero leave documents out.
    """
    counts = sparse.csr_array(matrix).astype(np.float64)
    has_words = row_sums(counts) > 0
    if weights is not None:
        has_words = has_words & (weights > 0)
    rng = np.random.RandomState(0)
    ids = rng.permutation(np.flatnonzero(has_words))[: SAMPLE * MAX_SAMPLES]
    samples = np.array_split(ids, max(1, -(-len(ids) // SAMPLE)))
    n_deals = DEALS * (DEALS if counts.shape[1] <= FEW_WORDS else 1)
    n_deals = max(1, n_deals // len(samples))
    found: list[float] = []
    for number, sample in enumerate(samples):
        pool.report.stage(f"documents of one distribution, sample {number + 1} of {len(samples)}")
        documents = _Documents(counts[sample])
        deals: list[float] = []
        for deal in range(n_deals):
            pool.report.step("deal", deal, n_deals)
            deals.append(documents.z(rng))
            if not found and not deal and deals[0] > CLEAR:
                return deals[0]
        found.append(float(np.mean(deals)))
        if _together(found) > CLEAR:
            break
    return _together(found)


def _together(found: list[float]) -> float:
    """Return the z of samples of other documents."""
    return float(np.sum(found) / np.sqrt(len(found)))


class _Documents:
    """Damped counts of documents, sorted by length, and where strata begin."""

    def __init__(self, counts: sparse.csr_array) -> None:
        lengths = row_sums(counts)
        order = np.argsort(lengths, kind="stable")
        lengths = lengths[order]
        counts = sparse.csr_array(counts[order])
        ratios = lengths.mean() / np.maximum(lengths, np.finfo(float).tiny)
        counts.data = np.log1p(counts.data * np.repeat(ratios, np.diff(counts.indptr)))
        totals = np.asarray(counts.sum(axis=0)).ravel()
        self.used = np.flatnonzero(totals)
        self.counts = sparse.csc_array(counts[:, self.used])
        self.totals = totals[self.used]
        self.starts = strata(lengths)

    def z(self, rng: np.random.RandomState) -> float:
        """Return the sum over pairs of blocks, in deviations, for one random deal of the words."""
        n, n_words = self.counts.shape
        if n < MIN_STRATUM or n_words < 2:
            return 0.0
        n_blocks = int(np.clip(n_words // BLOCK_WORDS, 2, BLOCKS))
        blocks = rng.permutation(n_words) % n_blocks
        sums = np.zeros((n, n))
        squares, fourths = np.zeros((n, n)), np.zeros((n, n))
        with one_blas_thread():
            for block in range(n_blocks):
                g = centred(self._likeness(np.flatnonzero(blocks == block)), self.starts)
                sums += g
                g *= g
                squares += g
                fourths += g * g
        # Sums over pairs of documents, each counted twice, and over pairs of blocks, counted once.
        total = 0.5 * float((sums * sums - squares).sum())
        variance = float((squares * squares - fourths).sum())
        return total / float(np.sqrt(variance)) if variance > 0 else 0.0

    def _likeness(self, words: NDArray[np.intp]) -> Floats:
        """Return the products (n, n) of residuals of length one, of the words of a block.

        A word counts as one over the root of its total: between its share of the variance and its
        share of the text.
        """
        counts, totals = sparse.csr_array(self.counts[:, words]), self.totals[words]
        scales = totals**-0.5
        mean = totals / totals.sum()
        n = row_sums(counts)
        scaled = counts @ sparse.diags_array(scales)
        products = (scaled @ counts.T).toarray()
        beside = scaled @ mean
        products -= np.outer(beside, n)
        products -= np.outer(n, beside)
        spread = float(scales @ mean**2)
        products += spread * np.outer(n, n)
        lengths = np.sqrt(np.maximum(products.diagonal(), 0.0))
        is_none = lengths <= ROUNDING * n * np.sqrt(spread)
        inverse = np.where(is_none, 0.0, 1.0 / np.where(is_none, 1.0, lengths))
        products *= inverse
        products *= inverse[:, np.newaxis]
        return products


def strata(lengths: Floats) -> NDArray[np.intp]:
    """Return where strata of documents of rising lengths (n,) begin."""
    starts = [0]
    for at in range(MIN_STRATUM, len(lengths) - MIN_STRATUM + 1):
        size = at - starts[-1]
        is_longer = lengths[at] > LONGER * lengths[starts[-1]]
        if size >= MIN_STRATUM and (is_longer or size >= MAX_STRATUM):
            starts.append(at)
    return np.array(starts, np.intp)


def centred(products: Floats, starts: NDArray[np.intp]) -> Floats:
    """Return products (n, n) of documents, centred by strata, with a diagonal of zeros.

    Between two strata, rows and columns sum to zero. Within one they do so too, the diagonal left
    out: U-centring.
    """
    products = products.copy()
    np.fill_diagonal(products, 0.0)
    sizes = np.diff(starts, append=len(products))
    stratum = np.repeat(np.arange(len(starts)), sizes)
    sums = np.add.reduceat(products, starts, axis=1)
    means = (sums / sizes)[:, stratum]
    overall = np.add.reduceat(sums, starts, axis=0) / np.outer(sizes, sizes)
    found: Floats = products - means - means.T + overall[np.ix_(stratum, stratum)]
    for start, size in zip(starts, sizes, strict=True):
        own = slice(start, start + size)
        within = products[own, own]
        rows = within.sum(axis=1) / (size - 2)
        overall_within = within.sum() / ((size - 1) * (size - 2))
        found[own, own] = within - rows - rows[:, np.newaxis] + overall_within
    np.fill_diagonal(found, 0.0)
    return found
