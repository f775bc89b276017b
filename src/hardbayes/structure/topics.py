"""Topics shared by documents: what is paid for words, topics of documents, and topics."""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from hardbayes.matrices import Floats

# Stands for minus the logarithm of zero: above any penalty, yet finite when multiplied and added.
NEVER = 1e30


@dataclass(frozen=True)
class SharedTopics:
    """``sum_dw n_dw (-log mu_z[w]) + sum_d lambda_d |topics of d| + lambda_g K + priors``.

    Jiang, Kulis & Jordan 2012, eq. 4, for words: the divergence of a word from a topic is minus the
    logarithm of the word's share of the topic, in nats. Each topic carries pseudo-counts ``prior``
    = eta m at the word shares m of the corpus, and pays ``eta KL(m || mu)``; eta = 0 is the paper.
    A background, where there is one, is topic 0: it is open to every document, which pays
    ``background_share`` of its local penalty for it, and no global penalty.
    """

    prior: Floats  # (v,)
    global_penalty: float
    has_background: bool
    background_share: float = 0.0

    def costs(self, totals: Floats) -> Floats:
        """Return (v, k) the cost of each word at the topics that have these totals (v, k)."""
        shares = np.add(totals, self.prior[:, np.newaxis], order="C")
        shares /= np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
        with np.errstate(divide="ignore"):
            np.log(shares, out=shares)
        np.negative(shares, out=shares)
        return np.minimum(shares, NEVER, out=shares)

    def topic_costs(self, totals: Floats) -> Floats:
        """Return (k,) what the words of each topic cost it at its best, its prior included."""
        sizes = totals.sum(axis=0) + self.prior.sum()
        amounts = totals + self.prior[:, np.newaxis]
        return xlogy(sizes, sizes) - xlogy(amounts, amounts).sum(axis=0) - self._empty

    @property
    def _empty(self) -> float:
        """The same sum for the prior alone."""
        eta = self.prior.sum()
        return float(xlogy(eta, eta) - xlogy(self.prior, self.prior).sum())

    def objective(self, totals: Floats, penalties: Floats, sizes: np.ndarray) -> float:
        """Return what is minimised; ``penalties`` and ``sizes`` (n,) of the sets of documents."""
        fit = float(self.topic_costs(totals).sum())
        return fit + self.local_cost(penalties, sizes) + self.global_cost(totals.shape[1])

    def local_cost(self, penalties: Floats, sizes: np.ndarray) -> float:
        """Return what documents pay for their topics."""
        share = self.background_share if self.has_background else 0.0
        return float((penalties * (sizes + share)).sum())

    def global_cost(self, n_topics: int) -> float:
        """Return what topics cost, the background among their number if there is one."""
        return self.global_penalty * (n_topics - self.has_background)
