"""The collapsed sampler to the letter, with NumPy, and with the mistakes that are easily made."""

import numpy as np
from scipy.special import gammaln

OWN_COUNT = "n_c for n_-i,c"
NO_HASTINGS = "divisions accepted without the probability of their proposal"
ODDS_WITHOUT_N = "Escobar and West's odds without n"


class Literal:
    """A Dirichlet process mixture of Gaussians: X (n, d), centred; labels z are lists of rows."""

    def __init__(self, X, alpha, sigma, rho, seed=0, mistake=None, split_merge=False, prior=None):
        self.X, self.alpha, self.sigma, self.rho = X, alpha, sigma, rho
        self.rng = np.random.default_rng(seed)
        self.mistake, self.split_merge, self.prior = mistake, split_merge, prior
        self.z = np.zeros(len(X), int)

    def predictions(self, i, counts, sums):
        d = self.X.shape[1]
        share = self.rho / (self.sigma + self.rho * counts)
        variance = self.sigma + self.sigma * share
        square = ((self.X[i] - share[:, np.newaxis] * sums) ** 2).sum(axis=1)
        return -0.5 * (d * np.log(2 * np.pi * variance) + square / variance)

    def marginal(self, rows):
        n, d = len(rows), self.X.shape[1]
        total = self.X[rows].sum(axis=0)
        return -0.5 * d * np.log1p(n * self.rho / self.sigma) + 0.5 * self.rho * (
            total**2
        ).sum() / (self.sigma * (self.sigma + n * self.rho))

    def sweep(self):
        k = self.z.max() + 1
        counts = np.bincount(self.z).astype(float)
        sums = np.array([np.bincount(self.z, column, k) for column in self.X.T]).T
        for i in range(len(self.X)):
            own = self.z[i]
            counts[own] -= 1
            sums[own] -= self.X[i]
            weights = counts.copy()
            if self.mistake == OWN_COUNT and counts[own] > 0:
                weights[own] += 1
            if counts[own] == 0:
                counts, weights = np.delete(counts, own), np.delete(weights, own)
                sums = np.delete(sums, own, axis=0)
                self.z[self.z > own] -= 1
            counts = np.append(counts, 0.0)
            sums = np.vstack([sums, np.zeros(self.X.shape[1])])
            logs = np.log(np.append(weights, self.alpha)) + self.predictions(i, counts, sums)
            shares = np.exp(logs - logs.max())
            chosen = np.searchsorted(np.cumsum(shares), self.rng.random() * shares.sum())
            if chosen < len(counts) - 1:
                counts, sums = counts[:-1], sums[:-1]
            counts[chosen] += 1
            sums[chosen] += self.X[i]
            self.z[i] = chosen
        if self.split_merge:
            self.divide_or_unite()
        if self.prior is not None:
            self.alpha = self.draw_alpha(self.z.max() + 1)

    def divide_or_unite(self):
        """Sequentially allocated (Dahl 2003): the same target, by another proposal."""
        i, j = self.rng.choice(len(self.X), 2, replace=False)
        own, other = self.z[i], self.z[j]
        rest = [r for r in np.flatnonzero((self.z == own) | (self.z == other)) if r not in (i, j)]
        self.rng.shuffle(rest)
        sides, log_q = ([i], [j]), 0.0
        for r in rest:
            counts = np.array([len(side) for side in sides], float)
            sums = np.array([self.X[side].sum(axis=0) for side in sides])
            logs = np.log(counts) + self.predictions(r, counts, sums)
            logs -= np.logaddexp(*logs)
            side = (
                int(self.z[r] != own) if own != other else int(self.rng.random() > np.exp(logs[0]))
            )
            log_q += logs[side]
            sides[side].append(r)
        gain = np.log(self.alpha) + sum(gammaln(len(s)) + self.marginal(s) for s in sides)
        both = sides[0] + sides[1]
        gain -= gammaln(len(both)) + self.marginal(both)
        gain -= 0.0 if self.mistake == NO_HASTINGS else log_q
        u = np.log(self.rng.random())
        if own == other and u < gain:
            self.z[sides[1]] = self.z.max() + 1
        elif own != other and u < -gain:
            self.z[sides[1]] = own
            self.z = np.unique(self.z, return_inverse=True)[1]

    def draw_alpha(self, k):
        (a, b), n = self.prior, len(self.X)
        log_eta = np.log(self.rng.beta(self.alpha + 1, n))
        odds = (a + k - 1) / ((1 if self.mistake == ODDS_WITHOUT_N else n) * (b - log_eta))
        shape = a + k - (self.rng.random() * (1 + odds) > odds)
        return self.rng.gamma(shape, 1 / (b - log_eta))
